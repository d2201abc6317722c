//! The whole machine's processors, from /proc/stat: vmstat's columns r, b, in, cs, us, sy, id, wa, st, gu.
//!
//! * **Granularity.** Times are shown in ticks of 1/100 s, whatever the kernel keeps inside: over 100 ms on two
//!   processors there are 20 of them, so one tick is 5 %. [`Vmstat::resolution`] says how much one is. Where the
//!   kernel attributes time by sampling at its timer interrupt (no CONFIG_VIRT_CPU_ACCOUNTING_GEN), work that dodges
//!   the timer is not seen.
//! * **us, sy.** As vmstat: `us` is user and nice without guests, `sy` is system, interrupts and soft interrupts,
//!   `gu` is time in guests of this machine. The shares are of the ticks that were counted, not of the clock.
//! * **st** is time for which a processor had work but the hypervisor ran something else. It is 0 where the
//!   hypervisor does not tell, which cannot be told from none.
//! * **wa** is a part of idle: it can go backwards, and so can `id` (the kernel documents both). Then all shares are
//!   unknown for that interval.
//! * **in** counts every interrupt including local timers; the kernel sums 32-bit counters, so it can go backwards
//!   once in 2^32 of one kind on one processor. **cs** counts switches on all processors, idle included.
//! * **r** includes the reader itself, **b** counts tasks waiting for the disk; both are of the moment of `after`.
//! * Columns swpd … bo are of memory and disks, and not here.

use rustix::param::clock_ticks_per_second;
use serde::{Deserialize, Serialize};
use tollway_core::Clock;

use crate::clock::MonotonicRaw;
use crate::found::{Found, garbled, risen, text};

const WHAT: &str = "processor counters (/proc/stat)";

/// Ticks by class, of one processor or of all. The fields are those of proc(5); `user` includes `guest`, `nice`
/// includes `guest_nice`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct CpuTicks {
    pub user: u64,
    pub nice: u64,
    pub system: u64,
    pub idle: u64,
    pub iowait: u64,
    pub irq: u64,
    pub softirq: u64,
    pub steal: u64,
    pub guest: u64,
    pub guest_nice: u64,
}

/// /proc/stat at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcStat {
    /// CLOCK_MONOTONIC_RAW at the reading, in ns.
    pub at: u64,
    /// All processors together.
    pub all: CpuTicks,
    /// Each processor that is online, with its number.
    pub each: Vec<(u32, CpuTicks)>,
    /// Interrupts since boot, if the kernel counts them.
    pub interrupts: Option<u64>,
    /// Context switches since boot.
    pub switches: Option<u64>,
    /// Processes and threads made since boot.
    pub forks: Option<u64>,
    /// Runnable tasks at this moment, the reader included.
    pub running: Option<u64>,
    /// Tasks waiting for a disk at this moment.
    pub blocked: Option<u64>,
}

impl ProcStat {
    /// Reads /proc/stat: about 13 µs on two processors; more with many of them.
    ///
    /// # Errors
    /// [`Missing`](tollway_core::Missing) if it cannot be read or understood.
    pub fn read() -> Found<ProcStat> {
        let at = MonotonicRaw.now();
        let text = text("/proc/stat", WHAT, "mount /proc")?;
        Ok(ProcStat { at, ..ProcStat::parse(&text)? })
    }

    /// Understands the text of /proc/stat; `at` stays 0. Kernels that lack late columns leave them 0 (they do not
    /// have what they count); lines it does not know are passed over.
    ///
    /// # Errors
    /// [`Missing`](tollway_core::Missing) if the line of all processors is absent or has a word that is no number.
    pub fn parse(text: &str) -> Found<ProcStat> {
        let mut found = ProcStat::default();
        let mut has_all = false;
        for line in text.lines() {
            let mut words = line.split_ascii_whitespace();
            let Some(key) = words.next() else { continue };
            let single = |mut words: std::str::SplitAsciiWhitespace<'_>| {
                words.next().and_then(|word| word.parse::<u64>().ok())
            };
            match key {
                "cpu" => {
                    found.all = ticks(words, line)?;
                    has_all = true;
                }
                "intr" => found.interrupts = single(words),
                "ctxt" => found.switches = single(words),
                "processes" => found.forks = single(words),
                "procs_running" => found.running = single(words),
                "procs_blocked" => found.blocked = single(words),
                _ => {
                    if let Some(number) = key.strip_prefix("cpu").and_then(|n| n.parse().ok()) {
                        found.each.push((number, ticks(words, line)?));
                    }
                }
            }
        }
        if has_all { Ok(found) } else { Err(garbled(WHAT, "there is no line `cpu`")) }
    }
}

fn ticks<'a>(words: impl Iterator<Item = &'a str>, line: &str) -> Found<CpuTicks> {
    let mut columns = [0u64; 10];
    let mut seen = 0;
    for (column, word) in columns.iter_mut().zip(words) {
        *column = word.parse().map_err(|_| garbled(WHAT, format!("`{line}`")))?;
        seen += 1;
    }
    if seen < 4 {
        return Err(garbled(WHAT, format!("`{line}` has fewer than four columns")));
    }
    let [user, nice, system, idle, iowait, irq, softirq, steal, guest, guest_nice] = columns;
    Ok(CpuTicks { user, nice, system, idle, iowait, irq, softirq, steal, guest, guest_nice })
}

/// Shares of the processors' time, in percent, as vmstat shows them (it rounds them to whole ones).
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CpuSplit {
    /// User and nice, without guests.
    pub us: f64,
    /// System, interrupts, soft interrupts.
    pub sy: f64,
    /// Idle.
    pub id: f64,
    /// Idle with a task waiting for a disk.
    pub wa: f64,
    /// Stolen by the hypervisor.
    pub st: f64,
    /// In guests.
    pub gu: f64,
}

/// vmstat's columns over an interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Vmstat {
    /// The interval, in seconds of CLOCK_MONOTONIC_RAW.
    pub seconds: f64,
    /// `r`: runnable tasks at its end, the reader included.
    pub r: Option<u64>,
    /// `b`: tasks waiting for a disk at its end.
    pub b: Option<u64>,
    /// `in`: interrupts per second.
    #[serde(rename = "in")]
    pub interrupts: Option<f64>,
    /// `cs`: context switches per second.
    pub cs: Option<f64>,
    /// The columns from `us` on; unknown if a class went backwards or no tick was counted.
    pub split: Option<CpuSplit>,
    /// Seconds of processor time that were neither idle nor stolen, over all processors.
    pub busy: Option<f64>,
    /// Seconds of processor time that were stolen, over all processors.
    pub stolen: Option<f64>,
    /// What one tick is, in percent of the split.
    pub resolution: Option<f64>,
    /// Processors online at its end.
    pub cpus: usize,
}

/// What happened between two readings.
pub fn delta(before: &ProcStat, after: &ProcStat) -> Vmstat {
    let seconds = after.at.saturating_sub(before.at) as f64 / 1e9;
    let rate = |before: Option<u64>, after: Option<u64>| {
        let n = risen(before?, after?)?;
        (seconds > 0.0).then(|| n as f64 / seconds)
    };
    let ticks = TicksRisen::between(&before.all, &after.all);
    let total = ticks.map(|t| t.total()).filter(|t| *t > 0);
    let tick = clock_ticks_per_second() as f64;
    Vmstat {
        seconds,
        r: after.running,
        b: after.blocked,
        interrupts: rate(before.interrupts, after.interrupts),
        cs: rate(before.switches, after.switches),
        split: ticks.zip(total).map(|(t, total)| t.split(total)),
        busy: ticks.map(|t| t.used.saturating_add(t.system) as f64 / tick),
        stolen: ticks.map(|t| t.steal as f64 / tick),
        resolution: total.map(|total| 100.0 / total as f64),
        cpus: after.each.len(),
    }
}

/// Classes joined as vmstat joins them.
#[derive(Clone, Copy)]
struct TicksRisen {
    used: u64,
    system: u64,
    idle: u64,
    iowait: u64,
    steal: u64,
    guest: u64,
}

impl TicksRisen {
    fn between(before: &CpuTicks, after: &CpuTicks) -> Option<TicksRisen> {
        let d = |class: fn(&CpuTicks) -> u64| risen(class(before), class(after));
        Some(TicksRisen {
            used: d(|c| c.user)?.checked_add(d(|c| c.nice)?)?,
            system: d(|c| c.system)?.checked_add(d(|c| c.irq)?)?.checked_add(d(|c| c.softirq)?)?,
            idle: d(|c| c.idle)?,
            iowait: d(|c| c.iowait)?,
            steal: d(|c| c.steal)?,
            guest: d(|c| c.guest)?.checked_add(d(|c| c.guest_nice)?)?,
        })
    }

    fn total(&self) -> u64 {
        [self.used, self.system, self.idle, self.iowait, self.steal]
            .iter()
            .fold(0, |a, b| a.saturating_add(*b))
    }

    fn split(&self, total: u64) -> CpuSplit {
        let share = |ticks: u64| ticks as f64 * 100.0 / total as f64;
        CpuSplit {
            us: share(self.used.saturating_sub(self.guest)),
            sy: share(self.system),
            id: share(self.idle),
            wa: share(self.iowait),
            st: share(self.steal),
            gu: share(self.guest),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const OLD: &str = "cpu  100 1 50 1000\ncpu0 100 1 50 1000\nctxt 77\nbtime 1\n";

    #[test]
    fn an_old_kernels_short_lines_are_read() {
        let s = ProcStat::parse(OLD).unwrap();
        assert_eq!((s.all.user, s.all.idle, s.all.steal), (100, 1000, 0));
        assert_eq!((s.switches, s.interrupts), (Some(77), None));
    }

    #[test]
    fn odd_texts_are_refused_or_passed_over() {
        assert!(ProcStat::parse("").is_err());
        assert!(ProcStat::parse("cpu  1 2").is_err());
        assert!(ProcStat::parse("cpu  1 2 x 4").is_err());
        let odd = "cpu 1 2 3 4 5 6 7 8 9 10 11 12\ncpufreq 3\ncpu7 1 2 3 4\nintr\nctxt -3\n\n";
        let s = ProcStat::parse(odd).unwrap();
        assert_eq!((s.each.len(), s.each[0].0, s.interrupts, s.switches), (1, 7, None, None));
    }

    fn at(ns: u64, line: &str) -> ProcStat {
        ProcStat { at: ns, ..ProcStat::parse(line).unwrap() }
    }

    #[test]
    fn shares_are_as_vmstat_computes_them() {
        let before = at(0, "cpu 100 0 100 1000 0 0 0 0 50 0\nctxt 10\nintr 5 1 2");
        let after = at(2_000_000_000, "cpu 160 10 110 1110 5 3 2 0 70 0\nctxt 1010\nintr 105 1 2");
        let v = delta(&before, &after);
        let split = v.split.unwrap();
        assert_eq!((v.cs, v.interrupts), (Some(500.0), Some(50.0)));
        assert_eq!((split.us, split.gu, split.sy), (25.0, 10.0, 7.5));
        assert_eq!((split.id, split.wa, split.st), (55.0, 2.5, 0.0));
        assert_eq!((v.busy, v.resolution), (Some(0.85), Some(0.5)));
    }

    #[test]
    fn backwards_is_unknown_and_not_zero() {
        let before = at(0, "cpu 100 0 100 1000 9\nctxt 10");
        let after = at(1_000_000_000, "cpu 160 0 100 1010 8\nctxt 9");
        let v = delta(&before, &after);
        assert_eq!((v.split, v.busy, v.cs, v.interrupts), (None, None, None, None));
    }

    #[test]
    fn absurd_counters_do_not_overflow() {
        let most = u64::MAX;
        let before = at(0, "cpu 0 0 0 0");
        let v = delta(&before, &at(1, &format!("cpu {most} 0 {most} {most} 0 0 0 {most}")));
        assert!(v.busy.is_some() && v.split.is_some());
        assert_eq!(delta(&before, &at(1, &format!("cpu {most} 1 0 0"))).split, None);
    }

    #[test]
    fn no_interval_gives_no_rates() {
        let s = at(7, OLD);
        let v = delta(&s, &s);
        assert_eq!((v.cs, v.split, v.resolution), (None, None, None));
    }

    #[test]
    fn this_machine_is_read() {
        let s = ProcStat::read().unwrap();
        assert!(s.each.len() >= crate::cpu::allowed_cpus().unwrap().len());
        assert!(s.switches.unwrap() > 0 && s.running.unwrap() >= 1);
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "(cpu|intr|ctxt|cpu[0-9]|[a-z\n ]{0,9})( [0-9]{1,22}| -?x){0,12}(\n.{0,30})?") {
            let _ = ProcStat::parse(&text);
        }

        #[test]
        fn no_counters_panic(a in prop::array::uniform10(any::<u64>()), b in prop::array::uniform10(any::<u64>())) {
            let sample = |c: [u64; 10]| {
                let words: Vec<String> = c.iter().map(u64::to_string).collect();
                ProcStat::parse(&format!("cpu {}\nctxt {}", words.join(" "), c[0])).unwrap()
            };
            let _ = delta(&sample(a), &sample(b));
        }
    }
}
