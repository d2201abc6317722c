//! What the machine did around a trial, in two readings; and whether that was quiet.
//!
//! A reading takes about 140 µs on two processors (half of it /proc/interrupts, which grows with processors times
//! lines) and so stands outside the window. Everything in it is of the whole machine but [`MetersDelta::own`]. What
//! could not be read is `None`: unknown, never zero.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tollway_core::Clock;

use crate::clock::MonotonicRaw;
use crate::gap::Gaps;
use crate::samplers::faults::{self, Faults, FaultsDelta};
use crate::samplers::interrupts::{self, InterruptTotals, Interrupts};
use crate::samplers::kvm_stats::{self, KvmStats};
use crate::samplers::pressure::{self, Pressure, PressureDelta};
use crate::samplers::proc_stat::{self, ProcStat, Vmstat};
use crate::samplers::throttling::{self, Throttling, ThrottlingDelta};
use crate::samplers::usage::{self, Usage, UsageDelta};

/// Steal that a quiet machine stays below, as a share of all processor time.
pub const QUIET_STEAL: f64 = 0.005;

/// Foreign processor time that a quiet machine stays below, as a share of all processor time.
pub const QUIET_FOREIGN: f64 = 0.01;

/// Time lost in gaps that a quiet core stays below, as a share of the time watched. The core's own timer interrupts are
/// gaps (1 % on a virtual machine where each costs 16 µs), and so is an operation that now and then takes long by its
/// own nature. Beyond this limit something takes the core that the kernel's counters do not show: a hypervisor that
/// does not report steal.
pub const QUIET_LOST: f64 = 0.05;

/// One reading of everything.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Meters {
    at: u64,
    stat: Option<ProcStat>,
    interrupts: Option<Interrupts>,
    faults: Option<Faults>,
    pressure: Option<Pressure>,
    throttling: Throttling,
    kvm: Option<KvmStats>,
    own: Option<Usage>,
}

impl Meters {
    /// Reads everything that can be read.
    pub fn read() -> Meters {
        Meters {
            at: MonotonicRaw.now(),
            stat: ProcStat::read().ok(),
            interrupts: Interrupts::read().ok(),
            faults: Faults::read().ok(),
            pressure: Pressure::read().ok(),
            throttling: Throttling::read(),
            kvm: KvmStats::read().ok(),
            own: Usage::process().ok(),
        }
    }

    /// What happened since an earlier reading.
    pub fn since(&self, before: &Meters) -> MetersDelta {
        fn both<S, D>(before: &Option<S>, after: &Option<S>, delta: impl Fn(&S, &S) -> D) -> Option<D> {
            Some(delta(before.as_ref()?, after.as_ref()?))
        }
        MetersDelta {
            seconds: self.at.saturating_sub(before.at) as f64 / 1e9,
            vmstat: both(&before.stat, &self.stat, proc_stat::delta),
            interrupts: both(&before.interrupts, &self.interrupts, interrupts::delta)
                .flatten()
                .map(|d| d.totals),
            faults: both(&before.faults, &self.faults, faults::delta),
            pressure: both(&before.pressure, &self.pressure, pressure::delta),
            throttling: throttling::delta(&before.throttling, &self.throttling),
            kvm: both(&before.kvm, &self.kvm, kvm_stats::delta).map(moved),
            own: both(&before.own, &self.own, usage::delta),
        }
    }
}

/// What happened between two readings; `None` is unknown.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MetersDelta {
    /// The interval, in seconds.
    pub seconds: f64,
    /// Context switches, interrupts, run queue, split of processor time, steal.
    pub vmstat: Option<Vmstat>,
    /// Interrupts by class.
    pub interrupts: Option<InterruptTotals>,
    /// Page faults of the machine.
    pub faults: Option<FaultsDelta>,
    /// Time for which tasks waited.
    pub pressure: Option<PressureDelta>,
    /// How often, and for how long, heat or a quota held processors back.
    #[serde(default)]
    pub throttling: ThrottlingDelta,
    /// KVM's counters of all virtual machines of this host that moved (exits by cause); one that ran backwards is unknown.
    pub kvm: Option<BTreeMap<String, Option<u64>>>,
    /// What the process that read used itself.
    pub own: Option<UsageDelta>,
}

/// Counters without those that stood still.
fn moved(counters: BTreeMap<String, Option<u64>>) -> BTreeMap<String, Option<u64>> {
    counters.into_iter().filter(|(_, count)| *count != Some(0)).collect()
}

/// A share of all processor time that is known up to its counter's ticks.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Share {
    /// As counted.
    pub value: f64,
    /// No less than this.
    pub lo: f64,
    /// No more than this.
    pub hi: f64,
}

impl Share {
    fn new(value: f64, tick: f64, ticks: f64) -> Share {
        Share { value, lo: (value - ticks * tick).max(0.0), hi: value + ticks * tick }
    }
}

/// Whether a trial was quiet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// It was.
    Quiet,
    /// It was not, and why.
    Noisy(String),
    /// That cannot be told, and why.
    Unknown(String),
}

/// The judgement, with what it rests on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Quiet {
    /// Steal; `None` where the split is unknown.
    pub steal: Option<Share>,
    /// Time of processes that are not ours; `None` where the busy time is unknown.
    pub foreign: Option<Share>,
    /// Time lost in gaps; `None` where nobody watched.
    pub lost: Option<f64>,
    /// What follows.
    pub verdict: Verdict,
}

impl Quiet {
    /// Why it does not count as quiet; `None` if it does. What cannot be told does not count as quiet.
    pub fn noise(&self) -> Option<&str> {
        match &self.verdict {
            Verdict::Quiet => None,
            Verdict::Noisy(why) | Verdict::Unknown(why) => Some(why),
        }
    }
}

/// Judges an interval: quiet is steal below [`QUIET_STEAL`] and foreign time below [`QUIET_FOREIGN`].
///
/// `own` is the processor time of all our processes in the interval (their CPU-time clocks; tenants included), `gaps`
/// what a watcher lost.
///
/// Both shares come from /proc/stat, whose tick is 10 ms: over 100 ms on two processors one tick is already 5 %. So a
/// share is an interval, one tick to each side for steal and two for foreign time (user and system are cut
/// separately). If an interval lies wholly above its limit, the trial was noisy; if both lie wholly below, it was
/// quiet; where the ticks are too coarse to say, the gaps decide; without gaps it is unknown.
pub fn judge(delta: &MetersDelta, own: Duration, gaps: Option<&Gaps>) -> Quiet {
    let vmstat = delta.vmstat.as_ref();
    let tick = vmstat.and_then(|v| v.resolution).map(|percent| percent / 100.0);
    let steal = vmstat.and_then(|v| v.split).zip(tick).map(|(s, tick)| Share::new(s.st / 100.0, tick, 1.0));
    let foreign = vmstat.zip(tick).and_then(|(v, tick)| {
        let all = v.seconds * v.cpus as f64;
        let value = (v.busy? - own.as_secs_f64()) / all;
        (all > 0.0).then(|| Share::new(value.max(0.0), tick, 2.0))
    });
    let lost = gaps.and_then(Gaps::share);
    let verdict = verdict(steal, foreign, lost);
    Quiet { steal, foreign, lost, verdict }
}

fn verdict(steal: Option<Share>, foreign: Option<Share>, lost: Option<f64>) -> Verdict {
    let mut why = Vec::new();
    if let Some(s) = steal.filter(|s| s.lo >= QUIET_STEAL) {
        why.push(format!("{:.1} % stolen", s.value * 100.0));
    }
    if let Some(f) = foreign.filter(|f| f.lo >= QUIET_FOREIGN) {
        why.push(format!("{:.1} % foreign processor time", f.value * 100.0));
    }
    if let Some(l) = lost.filter(|l| *l >= QUIET_LOST) {
        why.push(format!("{:.1} % lost in gaps of the clock", l * 100.0));
    }
    if !why.is_empty() {
        return Verdict::Noisy(why.join(", "));
    }
    let below = |share: Option<Share>, limit: f64| share.is_some_and(|s| s.hi < limit);
    if (below(steal, QUIET_STEAL) && below(foreign, QUIET_FOREIGN)) || lost.is_some() {
        return Verdict::Quiet;
    }
    let reason = match (steal, foreign) {
        (Some(_), Some(_)) => {
            "ticks of 10 ms are too coarse for so short a time, and nobody watched for gaps"
        }
        _ => "processor time is unknown, and nobody watched for gaps",
    };
    Verdict::Unknown(reason.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::asleep::sleeper;
    use crate::samplers::proc_stat::CpuSplit;
    use crate::samplers::thread_time;

    fn over(seconds: f64, st: f64, busy: f64) -> MetersDelta {
        let vmstat = Vmstat {
            seconds,
            r: Some(1),
            b: Some(0),
            interrupts: None,
            cs: None,
            split: Some(CpuSplit { st, ..CpuSplit::default() }),
            busy: Some(busy),
            stolen: None,
            resolution: Some(100.0 / (seconds * 2.0 * 100.0)),
            cpus: 2,
        };
        MetersDelta {
            seconds,
            vmstat: Some(vmstat),
            interrupts: None,
            faults: None,
            pressure: None,
            throttling: ThrottlingDelta::default(),
            kvm: None,
            own: None,
        }
    }

    const QUIET: Gaps = Gaps { count: 3, lost: 100, longest: 50, watched: 1_000_000 };
    const TORN: Gaps = Gaps { count: 3, lost: 100_000, longest: 50_000, watched: 1_000_000 };

    fn own(seconds: f64) -> Duration {
        Duration::from_secs_f64(seconds)
    }

    #[test]
    fn long_intervals_are_judged_by_their_ticks() {
        let quiet = judge(&over(20.0, 0.1, 10.02), own(10.0), None);
        assert_eq!((quiet.noise(), quiet.lost), (None, None));
        let stolen = judge(&over(20.0, 2.0, 10.0), own(10.0), Some(&QUIET));
        assert_eq!(stolen.noise(), Some("2.0 % stolen"));
        let foreign = judge(&over(20.0, 0.0, 12.0), own(10.0), None);
        assert_eq!(foreign.noise(), Some("5.0 % foreign processor time"));
    }

    #[test]
    fn short_intervals_are_judged_by_gaps() {
        let short = over(0.1, 0.0, 0.1);
        assert!(matches!(judge(&short, own(0.1), None).verdict, Verdict::Unknown(_)));
        assert_eq!(judge(&short, own(0.1), Some(&QUIET)).verdict, Verdict::Quiet);
        assert!(judge(&short, own(0.1), Some(&TORN)).noise().unwrap().contains("10.0 % lost in gaps"));
        // One tick of steal may be an artefact of the tick; three are not.
        assert_eq!(judge(&over(0.1, 5.0, 0.1), own(0.1), Some(&QUIET)).verdict, Verdict::Quiet);
        assert!(judge(&over(0.1, 15.0, 0.1), own(0.1), Some(&QUIET)).noise().is_some());
    }

    #[test]
    fn what_is_unknown_is_not_quiet() {
        let nothing = MetersDelta { vmstat: None, ..over(1.0, 0.0, 0.0) };
        let judged = judge(&nothing, Duration::ZERO, None);
        assert_eq!((judged.steal, judged.foreign), (None, None));
        assert!(judged.noise().is_some());
    }

    #[test]
    fn this_machine_is_metered_and_the_delta_reads_back() {
        let mut sleep = sleeper(1, || ());
        let before = Meters::read();
        sleep();
        let delta = Meters::read().since(&before);
        println!("{delta:#?}");
        assert!(delta.vmstat.unwrap().cs.unwrap() > 0.0);
        assert!(delta.own.unwrap().voluntary.unwrap() > 0);
        assert!(delta.faults.unwrap().minor.is_some());
        let text = serde_json::to_string(&delta).unwrap();
        let back: MetersDelta = serde_json::from_str(&text).unwrap();
        assert_eq!(back.faults, delta.faults);
    }

    #[test]
    fn a_reading_costs_less_than_300_microseconds() {
        let mut costs: Vec<Duration> = (0..40)
            .map(|_| {
                let begun = thread_time::thread();
                std::hint::black_box(Meters::read());
                thread_time::thread() - begun
            })
            .collect();
        costs.sort_unstable();
        println!("a reading: best {:?}, median {:?}", costs[0], costs[20]);
        // Unoptimised parsing is several times slower.
        let limit = if cfg!(debug_assertions) { 1500 } else { 300 };
        let columns = std::thread::available_parallelism().map_or(1, |n| n.get()) as u64;
        assert!(costs[20] < Duration::from_micros(limit * columns.div_ceil(16)), "{costs:?}");
    }
}
