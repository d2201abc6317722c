//! What the whole machine does during a trial, as vmstat counts it: interrupts, context switches, run queue, processor time.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use tollway_core::Tally;
use tollway_host::samplers::proc_stat::{self, ProcStat};

/// How often the run queue is looked at. A look takes some 60 µs, on the core of whoever watches.
const PERIOD: Duration = Duration::from_millis(20);

/// Watches until it is ended.
pub(super) struct Watch {
    begun: Instant,
    before: Option<ProcStat>,
    over: Arc<AtomicBool>,
    looker: Option<JoinHandle<Looks>>,
}

/// Tasks that ran or wanted to, the looking one not counted, summed over looks.
#[derive(Clone, Copy, Debug, Default)]
struct Looks {
    runnable: u64,
    looks: u64,
}

/// What was seen.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Machine {
    micros: u64,
    interrupts: u64,
    switches: u64,
    /// Processor time in microseconds: in programs, and in the kernel.
    user: u64,
    system: u64,
    looks: Looks,
}

impl Watch {
    pub(super) fn begin() -> Watch {
        let over = Arc::new(AtomicBool::new(false));
        let until = over.clone();
        let looker = thread::Builder::new().name("vmstat".into()).spawn(move || look(&until)).ok();
        Watch { begun: Instant::now(), before: ProcStat::read().ok(), over, looker }
    }

    pub(super) fn end(self) -> Machine {
        let after = ProcStat::read().ok();
        let micros = self.begun.elapsed().as_micros() as u64;
        self.over.store(true, Ordering::Release);
        let looker = self.looker.inspect(|looker| looker.thread().unpark());
        let looks = looker.and_then(|looker| looker.join().ok()).unwrap_or_default();
        let mut machine = Machine { micros, looks, ..Machine::default() };
        let (Some(before), Some(after)) = (self.before, after) else { return machine };
        let moved = |before: Option<u64>, after: Option<u64>| {
            after.zip(before).map_or(0, |(after, before)| after.saturating_sub(before))
        };
        machine.interrupts = moved(before.interrupts, after.interrupts);
        machine.switches = moved(before.switches, after.switches);
        let seen = proc_stat::delta(&before, &after);
        if let Some(split) = seen.split {
            let all = micros as f64 * seen.cpus as f64 / 100.0;
            machine.user = (split.us * all) as u64;
            machine.system = (split.sy * all) as u64;
        }
        machine
    }
}

fn look(over: &AtomicBool) -> Looks {
    let mut looks = Looks::default();
    loop {
        thread::park_timeout(PERIOD);
        if over.load(Ordering::Acquire) {
            return looks;
        }
        if let Some(running) = ProcStat::read().ok().and_then(|stat| stat.running) {
            looks.runnable += running.saturating_sub(1);
            looks.looks += 1;
        }
    }
}

impl Machine {
    /// With what was seen: divided by `machine_microseconds` it is a rate, the run queue by `machine_looks` a mean.
    pub(super) fn counted(&self, tally: Tally) -> Tally {
        tally
            .counter("machine_microseconds", self.micros)
            .counter("machine_interrupts", self.interrupts)
            .counter("machine_switches", self.switches)
            .counter("machine_user_microseconds", self.user)
            .counter("machine_system_microseconds", self.system)
            .counter("machine_runnable", self.looks.runnable)
            .counter("machine_looks", self.looks.looks)
    }
}
