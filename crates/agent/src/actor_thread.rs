//! The life of one actor in its own thread: made, ready, run, finished.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

use tollway_core::{Actor, Clock, Error, Place, Recorder, Registry, Result, TenantKind, Window};
use tollway_host::clock::RunClock;
use tollway_host::cpu::pace;
use tollway_host::samplers::{thread_time, usage};
use tollway_host::{cpu, gap, requirement};
use tollway_tenant::protocol::{Answer, Command, Make, Paced, Ran};

use crate::micro::Surroundings;
use crate::serve::Coordinator;

/// How long before the warm-up the watching for gaps ends, in ticks.
const BEFORE_WARM: u64 = 20_000;

/// How long before the warm-up there still is time to see how fast the processor runs, in ticks: that takes about a third.
const TIME_FOR_PACE: u64 = 100_000;

/// Lives until the actor is finished or has failed; every command is answered once.
pub(crate) fn live(
    number: u32,
    make: &Make,
    registry: &Registry,
    commands: &Receiver<Command>,
    coordinator: &Coordinator,
) {
    let mut life = match guarded(make, || Life::begin(make, registry)) {
        Ok(life) => life,
        Err(error) => return coordinator.answer(number, Answer::Failed(error)),
    };
    coordinator.answer(number, Answer::Made);
    while let Ok(command) = commands.recv() {
        let last = command == Command::Finish;
        match guarded(make, || life.obey(command)) {
            Ok(answer) => coordinator.answer(number, answer),
            Err(error) => return coordinator.answer(number, Answer::Failed(error)),
        }
        if last {
            return;
        }
    }
}

struct Life<'a> {
    make: &'a Make,
    actor: Box<dyn Actor>,
    recorder: Recorder,
    surroundings: Surroundings,
}

impl<'a> Life<'a> {
    fn begin(make: &'a Make, registry: &Registry) -> Result<Self> {
        make.requires.iter().try_for_each(requirement::check).map_err(Error::Missing)?;
        make.cpu.map_or(Ok(()), cpu::pin_current_thread)?;
        let actor = registry.path(&make.path)?.variant(&make.variant)?.actor(&make.role, &make.params)?;
        let surroundings = Surroundings::of(make)?;
        Ok(Life { make, actor, recorder: Recorder::new(), surroundings })
    }

    fn obey(&mut self, command: Command) -> Result<Answer> {
        match command {
            Command::Ready(peers) => {
                let place = Place {
                    tenant: self.make.tenant,
                    peers,
                    doorbells: self.surroundings.doorbells(),
                    exits: self.surroundings.exits(),
                    lot: self.make.lot,
                };
                let address = self.actor.ready(&place)?;
                self.surroundings.settle()?;
                Ok(Answer::Ready(address))
            }
            Command::Run(window) => self.run(&window).map(|ran| Answer::Ran(Box::new(ran))),
            Command::Finish => {
                // Before the answer: the next trial shall not pay for the end of a machine.
                self.surroundings.clear();
                self.actor.park();
                self.actor.verify()?;
                Ok(Answer::Finished(self.actor.tally()))
            }
            Command::Make(_) => Err(self.unfit("it was made twice")),
            Command::Clock | Command::Probe(_) | Command::End => {
                Err(self.unfit("it was told what is for its agent"))
            }
        }
    }

    fn unfit(&self, reason: &str) -> Error {
        Error::Tenant { tenant: self.make.role.clone(), reason: reason.into() }
    }

    fn run(&mut self, window: &Window) -> Result<Ran> {
        let clock = RunClock::chosen();
        // In a guest the processor is QEMU's, whose steps tell nothing of this one.
        let paces = self.make.measured && self.make.tenant != TenantKind::LinuxGuest;
        let in_time = clock.now() + TIME_FOR_PACE < window.warm;
        let before_warm = (paces && in_time).then(|| pace::ticks_per_step(clock));
        // Only the measured actor watches; a server on the same core must be asleep in its call by then.
        let gaps = if self.make.measured && self.make.tenant != TenantKind::MicroGuest {
            gap::watch_until(clock, window.warm.saturating_sub(BEFORE_WARM), gap::threshold(self.make.hz))
        } else {
            gap::Gaps::default()
        };
        // After the watching: whoever loses its processor there begins as late as one that was told late.
        let late = clock.now().saturating_sub(window.warm);
        let (begun, time, before) = (Instant::now(), thread_time::thread(), usage::Usage::read());
        self.surroundings.run(&mut *self.actor, window, &mut self.recorder)?;
        // One that got no processor when it should have begun was kept from it all the same.
        let waited = Duration::try_from_secs_f64(late as f64 / self.make.hz).unwrap_or_default();
        let (time, span) = (thread_time::thread().saturating_sub(time), begun.elapsed() + waited);
        let paced = self.make.cpu.filter(|_| paces).map(|cpu| Paced {
            cpu,
            before: before_warm,
            after: pace::ticks_per_step(clock),
        });
        let used =
            before.and_then(|before| Ok(usage::delta(&before, &usage::Usage::read()?))).unwrap_or_default();
        Ok(Ran {
            spread: self.make.measured.then(|| self.recorder.spread()),
            stretch: self.recorder.stretch(),
            cpu_ns: u64::try_from(time.as_nanos()).unwrap_or(u64::MAX),
            span_ns: u64::try_from(span.as_nanos()).unwrap_or(u64::MAX),
            voluntary: used.voluntary,
            involuntary: used.involuntary,
            minor_faults: used.minor_faults,
            major_faults: used.major_faults,
            late,
            gaps,
            pace: paced,
        })
    }
}

/// Runs `work` and makes an error of a panic.
fn guarded<T>(make: &Make, work: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
        let message = panic
            .downcast_ref::<&str>()
            .map(|s| s.to_string())
            .or_else(|| panic.downcast_ref::<String>().cloned())
            .unwrap_or_else(|| "no message".into());
        Err(Error::Tenant { tenant: make.role.clone(), reason: format!("it panicked: {message}") })
    })
}
