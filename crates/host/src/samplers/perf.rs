//! Perf events of the calling thread: hardware counters where there is a PMU, the kernel's software counters
//! anywhere.
//!
//! * **Hardware**: core cycles and retired instructions, in user mode and, if /proc/sys/kernel/perf_event_paranoid
//!   allows it, in the kernel too ([`PerfSample::kernel_included`] says which). Cycles stop while the thread is off
//!   its core and change with its frequency. When other users' events share the PMU, counts cover a part of the
//!   time: then they are scaled, and [`PerfSample::scaled`] says so. Virtual machines mostly have no PMU:
//!   [`Missing`].
//! * **Software**: context switches (both kinds), migrations between processors, page faults. Exact. A switch counts
//!   when the thread leaves its core.
//! * An event counts the thread that opened it, from then on, not its children. A reading is one system call.

use std::io;

use perf_event::events::{Event, Hardware, Software};
use perf_event::{Builder, Counter, ReadFormat};
use serde::{Deserialize, Serialize};
use tollway_core::{Clock, Missing};

use crate::clock::Tsc;
use crate::found::{Found, line, risen};

/// Counters of the calling thread, open and counting.
#[derive(Debug)]
pub struct PerfCounters {
    counters: Vec<(&'static str, Counter)>,
    kernel_included: bool,
}

/// Their values at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PerfSample {
    /// Name and count, in the order in which they were opened.
    pub counts: Vec<(String, u64)>,
    /// Whether time in the kernel is counted.
    pub kernel_included: bool,
    /// Whether any count was scaled up because the PMU was shared.
    pub scaled: bool,
}

impl PerfCounters {
    /// Opens `cycles` and `instructions`.
    ///
    /// # Errors
    /// [`Missing`] where there is no PMU or it is not allowed.
    pub fn hardware() -> Found<PerfCounters> {
        let events = [("cycles", Hardware::CPU_CYCLES), ("instructions", Hardware::INSTRUCTIONS)];
        open("hardware performance counters", events)
    }

    /// Opens `context-switches`, `cpu-migrations`, `page-faults`.
    ///
    /// # Errors
    /// [`Missing`] where perf events are not allowed.
    pub fn software() -> Found<PerfCounters> {
        let events = [
            ("context-switches", Software::CONTEXT_SWITCHES),
            ("cpu-migrations", Software::CPU_MIGRATIONS),
            ("page-faults", Software::PAGE_FAULTS),
        ];
        open("software perf events", events)
    }

    /// Reads all of them.
    ///
    /// # Errors
    /// [`Missing`] if the kernel refuses, or a counter did not run at all.
    pub fn read(&mut self) -> Found<PerfSample> {
        let mut sample = PerfSample { kernel_included: self.kernel_included, ..PerfSample::default() };
        for (name, counter) in &mut self.counters {
            let lost = |reason: String| Missing::new(*name, reason, "close other users of the PMU");
            let data = counter.read_full().map_err(|e| lost(e.to_string()))?;
            let enabled = data.time_enabled().unwrap_or_default().as_nanos();
            let running = data.time_running().unwrap_or_default().as_nanos();
            let count = match (enabled, running) {
                (e, r) if e == r => data.count(),
                (_, 0) => return Err(lost("it was never scheduled onto the PMU".into())),
                (e, r) => {
                    sample.scaled = true;
                    u64::try_from(u128::from(data.count()) * e / r).unwrap_or(u64::MAX)
                }
            };
            sample.counts.push(((*name).into(), count));
        }
        Ok(sample)
    }
}

fn open<E: Event + Clone>(
    what: &str,
    events: impl IntoIterator<Item = (&'static str, E)> + Clone,
) -> Found<PerfCounters> {
    let all = |kernel_included: bool| -> io::Result<PerfCounters> {
        let one = |(name, event): (&'static str, E)| {
            let mut builder = Builder::new(event);
            builder.exclude_kernel(!kernel_included).exclude_hv(true);
            builder.read_format(ReadFormat::TOTAL_TIME_ENABLED | ReadFormat::TOTAL_TIME_RUNNING);
            let mut counter = builder.build()?;
            counter.enable()?;
            Ok((name, counter))
        };
        let counters = events.clone().into_iter().map(one).collect::<io::Result<_>>()?;
        Ok(PerfCounters { counters, kernel_included })
    };
    all(true).or_else(|_| all(false)).map_err(|error| missing(what, &error))
}

fn missing(what: &str, error: &io::Error) -> Missing {
    let (reason, remedy) = match error.raw_os_error() {
        Some(libc::ENOENT | libc::ENODEV | libc::EOPNOTSUPP) => (
            format!("the kernel knows no such event here: {error}"),
            "run on hardware, or have the hypervisor give this machine a PMU (QEMU: -cpu host,pmu=on)".into(),
        ),
        Some(libc::EACCES | libc::EPERM) => {
            let paranoid = line("/proc/sys/kernel/perf_event_paranoid").unwrap_or_else(|| "unknown".into());
            (
                format!("not allowed (perf_event_paranoid is {paranoid}): {error}"),
                "as root: sysctl kernel.perf_event_paranoid=1, or give this program CAP_PERFMON".into(),
            )
        }
        Some(libc::ENOSYS) => (
            format!("perf_event_open: {error}"),
            String::from("use a kernel with CONFIG_PERF_EVENTS, outside a sandbox that filters it"),
        ),
        _ => (format!("perf_event_open: {error}"), "see perf_event_open(2) for this error".into()),
    };
    Missing::new(what, reason, remedy)
}

/// How far each counter rose between two readings of the same counters; `None` for one that went backwards (scaled
/// counts can).
pub fn delta(before: &PerfSample, after: &PerfSample) -> Vec<(String, Option<u64>)> {
    let old = |name: &str| before.counts.iter().find(|(n, _)| n == name).map(|(_, count)| *count);
    after.counts.iter().map(|(name, now)| (name.clone(), old(name).and_then(|b| risen(b, *now)))).collect()
}

/// Core cycles per tick of the time-stamp counter while the calling thread is busy: how the unit "c" relates to the
/// core's own. Takes about 10 million ticks. Differs with frequency scaling, so it is of this moment.
///
/// # Errors
/// [`Missing`] (unknown) where there is no PMU.
pub fn core_cycles_per_tick() -> Found<f64> {
    let mut counters = PerfCounters::hardware()?;
    let (start, before) = (Tsc.open(), counters.read()?);
    while Tsc.now() - start < 10_000_000 {
        std::hint::black_box(0);
    }
    let (after, end) = (counters.read()?, Tsc.close());
    let risen = delta(&before, &after);
    let cycles = risen.iter().find(|(name, _)| name == "cycles").and_then(|(_, n)| *n);
    match cycles {
        Some(cycles) if cycles > 0 => Ok(cycles as f64 / (end - start) as f64),
        _ => Err(Missing::new(
            "core cycles per tick",
            "the cycle counter stood still",
            "have the hypervisor give this machine a working PMU",
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::asleep::sleeper;

    #[test]
    fn software_events_count_sleeps() {
        let mut counters = match PerfCounters::software() {
            Ok(counters) => counters,
            Err(missing) => return eprintln!("skipped: {missing}"),
        };
        let mut sleep = sleeper(5, || ());
        let before = counters.read().unwrap();
        (0..5).for_each(|_| sleep());
        let d = delta(&before, &counters.read().unwrap());
        assert_eq!(d[0].0, "context-switches");
        assert!(d[0].1.unwrap() >= 5 || !before.kernel_included, "{d:?}");
    }

    #[test]
    fn hardware_events_count_or_say_why_not() {
        match PerfCounters::hardware().and_then(|mut c| Ok((c.read()?, core_cycles_per_tick()?))) {
            Ok((sample, ratio)) => {
                assert_eq!(sample.counts.len(), 2);
                assert!(ratio > 0.05 && ratio < 20.0, "{ratio}");
            }
            Err(missing) => {
                assert!(!missing.remedy.is_empty());
                eprintln!("skipped: {missing}");
            }
        }
    }

    #[test]
    fn every_refusal_has_its_remedy() {
        for code in [libc::ENOENT, libc::EACCES, libc::ENOSYS, libc::EINVAL] {
            let found = missing("x", &io::Error::from_raw_os_error(code));
            assert!(!found.reason.is_empty() && !found.remedy.is_empty());
        }
    }
}
