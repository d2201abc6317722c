//! Memory taken and given back by calls that are asked of io_uring, so many on their way.

use std::time::Duration;

use tollway_channel::linux::kernel::{Offer, Options, Ring};
use tollway_core::{
    Actor, Address, Axis, Crossing, Error, Forecast, Gate, Params, Place, Placement, Plan, Recorder,
    Requirement, Result, Role, Spread, Tally, TollKey, TollSource, Variant, Window,
};
use tollway_host::clock::RunClock;
use tollway_host::cpu::current_cpu;
use tollway_load::wait_until;

use super::{CALLER, ENTRIES};
use crate::engine::memory::{Memory, lasted, tasks};
use crate::engine::ping_pong::Outcome;
use crate::tolls;
use crate::variants::client::verified;
use crate::variants::counted::{self, Before};
use crate::variants::course::{Course, timed};
use crate::variants::ping_pong::placed;
use crate::{params, predict};

/// How long the kernel's thread looks for entries in vain before it sleeps, where there is one.
const LOOKS: Duration = Duration::from_millis(1);

/// The role that has the other core.
const KERNEL: &str = "kernel";

/// Through io_uring: with so many on their way as an application would, or alone, as a toll.
pub(super) enum Asynchronous {
    Whole,
    Alone,
}

#[derive(Clone, Copy)]
struct Asked {
    requests: usize,
    bytes: usize,
    placement: Placement,
    is_polled: bool,
}

impl Asked {
    fn alone(params: &Params) -> Result<Asked> {
        Ok(Asked {
            requests: params.int("depth")? as usize,
            bytes: params.int("size")? as usize,
            placement: params.placement()?,
            is_polled: false,
        })
    }

    fn key(&self) -> TollKey {
        TollKey::of(Crossing::KernelCall).placement(self.placement).size(self.bytes as u64)
    }

    fn of(params: &Params) -> Result<Asked> {
        let (placement, is_polled) = (placed(params)?, params.word("submission")? == "polled");
        if placement == Placement::Same && is_polled {
            return Err(Error::Input {
                place: "axis `submission`, value `polled`".into(),
                reason:
                    "a thread of the kernel that looks for entries takes the only core from who writes them"
                        .into(),
                remedy: "take cores=two, or submission=entered".into(),
            });
        }
        Ok(Asked {
            requests: params.int("concurrency")? as usize,
            bytes: params::bytes(params)?,
            placement,
            is_polled,
        })
    }
}

impl Asynchronous {
    fn asked(&self, params: &Params) -> Result<Asked> {
        match self {
            Asynchronous::Whole => Asked::of(params),
            Asynchronous::Alone => Asked::alone(params),
        }
    }

    /// Whether that point is foretold by others: not those by which it would be.
    fn is_foretold(&self, asked: &Asked) -> bool {
        matches!(self, Asynchronous::Whole) && !asked.is_polled && ![1, 64].contains(&asked.requests)
    }
}

impl Variant for Asynchronous {
    fn name(&self) -> &str {
        match self {
            Asynchronous::Whole => "memory-async",
            Asynchronous::Alone => Crossing::KernelCall.name(),
        }
    }

    fn about(&self) -> &str {
        match self {
            Asynchronous::Whole => {
                "memory taken and given back by calls asked of io_uring, each a future; threads of the kernel do them"
            }
            Asynchronous::Alone => Crossing::KernelCall.title(),
        }
    }

    fn caveats(&self) -> &str {
        "The same calls as `memory-sync`. Linux has each madvise of io_uring done by a thread of its own (io-wq), to which it is handed over: that costs more \
         than the entry that it saves. With cores=one those threads have the caller's core, with cores=two another. \
         A thread that looks for entries (submission=polled) is in no figure but that of its core."
    }

    fn axes(&self) -> Vec<Axis> {
        if let Asynchronous::Alone = self {
            return vec![params::placement(), params::bytes_of_a_call(), params::depth()];
        }
        vec![
            params::concurrency(),
            params::cores(),
            params::pages(),
            params::words(
                "submission",
                "who has the kernel see what was asked for: the caller enters it, or a thread of the kernel looks (SQPOLL)",
                &["entered", "polled"],
            ),
        ]
    }

    fn plan(&self, params: &Params) -> Result<Plan> {
        let asked = self.asked(params)?;
        let (mut roles, mut requires) = (vec![Role::measured(CALLER)], vec![Requirement::IoUring]);
        if asked.placement == Placement::Across {
            roles.insert(0, Role::serving(KERNEL).core(1));
            requires.push(Requirement::Cores(2));
        }
        let toll = asked.key().depth(asked.requests as u32);
        let (gates, provides) = match self {
            Asynchronous::Alone => (vec![Gate::new(self.name(), CALLER, toll.clone())], Some(toll)),
            Asynchronous::Whole => {
                let entries = Gate::counted(ENTRIES, CALLER).toll(TollKey::of(Crossing::Getppid));
                (vec![Gate::new("call", CALLER, tolls::pages(asked.bytes)), entries], None)
            }
        };
        Ok(Plan {
            operation: "call".into(),
            roles,
            gates,
            provides,
            needs: if self.is_foretold(&asked) { predict::kernel_needs(&asked.key()) } else { Vec::new() },
            requires,
            guests: Vec::new(),
        })
    }

    fn predict(&self, params: &Params, tolls: &dyn TollSource) -> Option<Result<Forecast>> {
        match self.asked(params) {
            Ok(asked) if self.is_foretold(&asked) => {
                Some(predict::of_the_kernel(&asked.key(), asked.requests, tolls))
            }
            Ok(_) => None,
            Err(error) => Some(Err(error)),
        }
    }

    fn actor(&self, role: &str, params: &Params) -> Result<Box<dyn Actor>> {
        if role == KERNEL {
            return Ok(Box::new(Elsewhere));
        }
        let asked = self.asked(params)?;
        let memory = Memory::new(asked.requests, asked.bytes)?;
        Ok(Box::new(Caller {
            asked,
            memory,
            processor: None,
            outcome: Outcome::default(),
            latencies: Spread::default(),
            tally: Tally::default(),
        }))
    }
}

struct Caller {
    asked: Asked,
    memory: Memory,
    /// The other one, where there is one.
    processor: Option<u32>,
    outcome: Outcome,
    latencies: Spread,
    tally: Tally,
}

impl Caller {
    fn ring(&self) -> Result<Ring> {
        let ring = Ring::open(&Options {
            operations: self.asked.requests,
            buffers: 0,
            polled: self.asked.is_polled.then_some(LOOKS),
            polled_on: self.processor,
            ..Options::default()
        })?;
        ring.offers(Offer::Memory).map_err(Error::Missing)?;
        Ok(ring)
    }
}

/// Has the other core, and says which that is: the kernel's threads run there.
struct Elsewhere;

impl Actor for Elsewhere {
    fn ready(&mut self, _: &Place) -> Result<Address> {
        Ok(Address(current_cpu().to_string()))
    }

    fn run(&mut self, _: &Window, _: &mut Recorder) -> Result<()> {
        Ok(())
    }

    fn verify(&mut self) -> Result<()> {
        Ok(())
    }
}

impl Actor for Caller {
    fn ready(&mut self, place: &Place) -> Result<Address> {
        self.processor = place.peers.first().and_then(|peer| peer.0.parse().ok());
        tasks::proves(&mut self.ring()?, &self.memory)?;
        Ok(Address::none())
    }

    fn run(&mut self, window: &Window, recorder: &mut Recorder) -> Result<()> {
        // A ring is its thread's own.
        let mut ring = self.ring()?;
        ring.works_on(self.processor.unwrap_or_else(current_cpu))?;
        let clock = RunClock::chosen();
        wait_until(clock, window.warm);
        let before = Before::now();
        let requests = self.asked.requests;
        let mut course = Course::new(clock, window, recorder, requests, 1);
        self.outcome = tasks::ask(&mut ring, &self.memory, requests, &mut course);
        self.latencies = course.latencies().spread();
        let counts = ring.counts();
        let tally = Tally::default().visited(ENTRIES, counts.entries).counter(ENTRIES, counts.entries);
        let tally = counted::waits(tally, CALLER, &counts.waits);
        self.tally = before.since().counted(tally, CALLER);
        lasted(&self.outcome)
    }

    fn verify(&mut self) -> Result<()> {
        verified(&self.outcome, self.outcome.asked)?;
        tasks::proves(&mut self.ring()?, &self.memory)
    }

    fn tally(&mut self) -> Tally {
        let tally = self.tally.clone().counter("operations", self.outcome.done);
        timed(tally, "call to result", &self.latencies)
    }
}
