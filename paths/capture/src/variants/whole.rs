//! The whole path in one process, in the designs that the study compares.

use tollway_core::{
    Actor, Address, Axis, Crossing, Error, Forecast, Gate, Params, Place, Plan, Recorder, Result, Role,
    Tally, TollKey, TollSource, Variant, Visits, Window,
};
use tollway_host::clock::RunClock;
use tollway_host::profiler::{self, PARTS, Profiler};
use tollway_load::{Work, delay, repeat, ticks_per_step};

use super::gates::{RING, SEED, machine_for};
use crate::engine::bpf::Filter;
use crate::engine::in_process::{ClockKind, Driver, InProcess, Interrupt, Locking, Part, TransferBy};
use crate::params::{
    self, BUFFERS, CLOCKS, GateDesign, LOCKS, MACHINES, Machine, Setting, TRAFFICS, TRANSFERS, word,
};
use tollway_model::scaling::sum_of_gates;

/// A design of the whole path.
struct Whole {
    name: &'static str,
    about: &'static str,
    machine: Machine,
    gates: GateDesign,
}

/// The variant that the others are changes of.
const ORIGINAL: &str = "before";

const BEFORE: GateDesign = GateDesign {
    clock: ClockKind::SystemCall,
    transfer: TransferBy::Driver,
    locking: Locking::PerFrame,
    batched: true,
};

const AFTER: GateDesign =
    GateDesign { clock: ClockKind::Tsc, transfer: TransferBy::Copy, locking: Locking::None, batched: true };

pub(super) fn variants() -> Vec<Box<dyn Variant>> {
    let of =
        |name, about, machine, gates| Box::new(Whole { name, about, machine, gates }) as Box<dyn Variant>;
    let interpreted = Machine::Interpreter;
    vec![
        of(
            ORIGINAL,
            "the study's original: interpreter, clock by system call, copy by the driver, a lock per frame",
            interpreted,
            BEFORE,
        ),
        of(
            "after",
            "all its improvements: JIT, time-stamp counter, plain copy, no lock",
            Machine::Jit,
            AFTER,
        ),
        of("jit", "the original, but the filter is machine code", Machine::Jit, BEFORE),
        of(
            "vdso",
            "the original, but the kernel's clock is read in user space",
            interpreted,
            GateDesign { clock: ClockKind::Vdso, ..BEFORE },
        ),
        of(
            "tsc",
            "the original, but packets are stamped by the time-stamp counter",
            interpreted,
            GateDesign { clock: ClockKind::Tsc, ..BEFORE },
        ),
        of(
            "plain-copy",
            "the original, but the tap copies the frame itself",
            interpreted,
            GateDesign { transfer: TransferBy::Copy, ..BEFORE },
        ),
        of(
            "plain-tap",
            "the original, but the tap takes no lock",
            interpreted,
            GateDesign { locking: Locking::None, ..BEFORE },
        ),
        of(
            "unbatched",
            "the original, but every packet is read on its own",
            interpreted,
            GateDesign { batched: false, ..BEFORE },
        ),
    ]
}

impl Whole {
    fn setting(&self, params: &Params) -> Result<Setting> {
        Setting::of(params, self.machine, self.gates)
    }
}

/// What a packet passes, in order.
fn gates(setting: &Setting) -> Vec<Gate> {
    let role = "path";
    let design = &setting.design;
    let (kept, record) = (u64::from(setting.kept()), setting.record());
    let buffer = word(BUFFERS, &design.buffer);
    let packets = setting.packets_a_read();
    let of = TollKey::of;
    let place = of(Crossing::BufferPlace);
    let locked = place.clone().kind(format!("{}-{buffer}", word(LOCKS, &design.locking))).size(kept);
    let alone = place.kind(format!("{}-{buffer}", word(LOCKS, &Locking::None))).size(kept);
    let copied =
        of(Crossing::BufferCopy).kind(format!("{}-{buffer}", word(TRANSFERS, &design.transfer))).size(kept);
    let read = |packets: u64| {
        of(Crossing::BufferRead).kind(buffer).size(packets * record as u64).depth(packets as u32)
    };
    let filter = format!(
        "{}-{}-{}",
        word(MACHINES, &setting.machine),
        setting.filter.name,
        word(TRAFFICS, &setting.traffic)
    );
    let a_read = Visits::Fixed(1.0 / packets as f64);
    let mut gates = vec![
        Gate::new("driver hands over", role, of(Crossing::FrameHandOver)),
        Gate::new("filter", role, of(Crossing::PacketFilter).kind(filter).size(setting.size as u64)),
        Gate::new("timestamp", role, of(Crossing::PacketStamp).kind(word(CLOCKS, &design.clock))),
        Gate::new("place and header", role, locked),
        Gate::new("copy 1", role, copied).less(alone),
        Gate::new("read: the call", role, read(1)).visits(a_read),
    ];
    if packets > 1 {
        gates.push(Gate::new("copy 2", role, read(packets)).less(read(1)).visits(a_read));
    }
    if setting.interrupted {
        let interrupt = Gate::new("interrupt", role, of(Crossing::Signal));
        gates.insert(0, interrupt.visits(Visits::Fixed(1.0 / f64::from(design.group))));
    }
    gates.push(Gate::new("application", role, of(Crossing::PacketLook).size(kept).depth(packets as u32)));
    gates
}

impl Variant for Whole {
    fn name(&self) -> &str {
        self.name
    }

    fn about(&self) -> &str {
        self.about
    }

    fn caveats(&self) -> &str {
        "One process, one thread: driver, tap, reader and application take turns. Frames lie ready in the driver's ring; \
         there is no adapter, and an interrupt is a signal, where one is asked for. Each gate is passed by a group of frames before the next gate is; with \
         `group=1`, the study's order, the processor overlaps the gates of neighbouring frames, and the sum of the gates \
         is more than the whole."
    }

    fn changes(&self) -> Option<&str> {
        (self.name != ORIGINAL).then_some(ORIGINAL)
    }

    fn axes(&self) -> Vec<Axis> {
        let mut axes = vec![
            params::filter(),
            params::traffic(),
            params::size(),
            params::snapshot(),
            params::group(),
            params::buffer(),
            params::interrupt(),
            params::planted(),
            params::profile(),
        ];
        if self.gates.batched {
            axes.push(params::batch());
        }
        axes
    }

    fn plan(&self, params: &Params) -> Result<Plan> {
        let gates = gates(&self.setting(params)?);
        let mut needs: Vec<TollKey> =
            gates.iter().flat_map(|g| g.toll.iter().chain(&g.less)).cloned().collect();
        needs.sort();
        needs.dedup();
        Ok(Plan {
            operation: "packet".into(),
            roles: vec![Role::measured("path")],
            gates,
            provides: None,
            needs,
            requires: Vec::new(),
            guests: Vec::new(),
        })
    }

    fn actor(&self, _: &str, params: &Params) -> Result<Box<dyn Actor>> {
        Ok(Box::new(WholeActor { setting: self.setting(params)?, path: None, done: 0, samples: [0; PARTS] }))
    }

    fn predict(&self, params: &Params, tolls: &dyn TollSource) -> Option<Result<Forecast>> {
        Some(self.setting(params).and_then(|setting| sum_of_gates(&gates(&setting), tolls)))
    }
}

/// The filter as a function.
struct Run(Filter);

impl Run {
    #[inline(always)]
    fn filter(&self) -> impl FnMut(&[u8], u32) -> u32 + '_ {
        |bytes, length| self.0.run(bytes, length)
    }
}

/// Parts of the work, as the profiler counts them: what is no gate's, the interrupt, and those of the path from there on.
const ELSEWHERE: u8 = 0;
const INTERRUPT: u8 = 1;
const FIRST: u8 = 2;

/// The gates of the parts from the first on. The profiler cannot tell a read's call from its copy.
const OF_PARTS: [(Part, &[&str]); 7] = [
    (Part::Driver, &["driver hands over"]),
    (Part::Filter, &["filter"]),
    (Part::Timestamp, &["timestamp"]),
    (Part::Place, &["place and header"]),
    (Part::Copy, &["copy 1"]),
    (Part::Read, &["read: the call", "copy 2"]),
    (Part::Application, &["application"]),
];

struct WholeActor {
    setting: Setting,
    path: Option<Passing>,
    done: u64,
    samples: [u64; PARTS],
}

/// The path at work: one call brings as many packets as a read.
struct Passing {
    path: InProcess,
    filter: Run,
    interrupt: Option<Interrupt>,
    groups: u32,
    group: u32,
    /// Steps of the delay per group that no gate owns.
    planted: u32,
    /// Whether a profiler is told where the path is.
    profiled: bool,
    failed: Option<Error>,
}

impl Work for Passing {
    #[inline]
    fn once(&mut self) {
        for _ in 0..self.groups {
            if let Some(interrupt) = &mut self.interrupt {
                if self.profiled {
                    profiler::at(INTERRUPT);
                }
                interrupt.raise();
            }
            let filter = &mut self.filter.filter();
            let stepped = if self.profiled {
                let stepped = self.path.step_watched(filter, &mut |part| profiler::at(FIRST + part as u8));
                profiler::at(ELSEWHERE);
                stepped
            } else {
                self.path.step(filter)
            };
            if let Err(error) = stepped {
                self.failed = Some(error);
            }
            if self.planted > 0 {
                // One delay a group: several short ones would run in each other's shadow.
                delay(self.planted);
            }
        }
    }

    fn operations(&self) -> u32 {
        self.groups * self.group
    }
}

/// Groups of a call where each packet is read on its own.
const UNBATCHED_GROUPS: u32 = 4;

impl Actor for WholeActor {
    fn ready(&mut self, _: &Place) -> Result<Address> {
        let Setting { filter, traffic, machine, design, size, interrupted, planted, profile } = &self.setting;
        let frames = filter.frames(*traffic, RING, *size, SEED);
        let driver = Driver::new(frames.iter().map(|f| &f[..]))?;
        let groups = match self.setting.packets_a_read() as u32 / design.group {
            0 => UNBATCHED_GROUPS,
            groups => groups,
        };
        self.path = Some(Passing {
            path: InProcess::new(driver, *design)?,
            filter: Run(machine_for(*machine, filter)?),
            interrupt: interrupted.then(Interrupt::new).transpose()?,
            groups,
            group: design.group,
            planted: match planted {
                0 => 0,
                cycles => {
                    let ticks = f64::from(*cycles) * f64::from(design.group);
                    (ticks / ticks_per_step(RunClock::chosen())).round().max(1.0) as u32
                }
            },
            profiled: *profile > 0,
            failed: None,
        });
        Ok(Address::none())
    }

    fn run(&mut self, window: &Window, recorder: &mut Recorder) -> Result<()> {
        if let Some(path) = &mut self.path {
            let profiler = match self.setting.profile {
                0 => None,
                often => Some(Profiler::begin(often, window.open)?),
            };
            self.done = repeat(RunClock::chosen(), window, recorder, path);
            if let Some(profiler) = profiler {
                self.samples = profiler.end();
            }
        }
        Ok(())
    }

    fn verify(&mut self) -> Result<()> {
        let Some(Passing { path, interrupt, failed, .. }) = &mut self.path else {
            return Err(Error::Wrong("the path was never walked".into()));
        };
        if let Some(error) = failed.take() {
            return Err(error);
        }
        if let Some(interrupt) = interrupt {
            interrupt.verify()?;
        }
        path.drain()?;
        let account = path.accounting();
        let all = account.offered == Some(self.done) && account.delivered == self.done;
        match account.balances() {
            Some(true) if all && self.done > 0 => Ok(()),
            _ => Err(Error::Wrong(format!("of {} packets these became: {account:?}", self.done))),
        }
    }

    fn tally(&mut self) -> Tally {
        let reads = self.path.as_ref().map_or(0, |p| p.path.reads());
        let tally = Tally::default().counter("operations", self.done).counter("reads", reads);
        if self.setting.profile == 0 {
            return tally;
        }
        let gates = gates(&self.setting);
        let samples = |part: u8| self.samples[usize::from(part)];
        let tally = tally.sampled("", samples(ELSEWHERE));
        let tally =
            if self.setting.interrupted { tally.sampled("interrupt", samples(INTERRUPT)) } else { tally };
        OF_PARTS.iter().fold(tally, |tally, (part, names)| {
            let passed = |name: &&&str| gates.iter().any(|gate| gate.name == **name);
            let names: Vec<&str> = names.iter().filter(passed).copied().collect();
            tally.sampled(names.join(Tally::AND), samples(FIRST + *part as u8))
        })
    }
}
