//! How many ticks the time-stamp counter makes in a second, against CLOCK_MONOTONIC_RAW.
//!
//! Both clocks are read at two moments. A moment is a reading of the kernel's clock between two of the counter; of
//! many such brackets the narrowest counts, so an interruption inside one does no harm. The interval follows from the
//! brackets alone and is no estimate: the rate cannot lie outside it.
//!
//! Where the kernel's own clock source is the TSC, this recovers the rate that the kernel was told or measured at
//! boot; [`announced`] gives what CPUID says, as a cross-check that does not pass through the kernel.

use std::thread;
use std::time::Duration;

use raw_cpuid::CpuId;
use serde::{Deserialize, Serialize};
use tollway_core::Clock;

use super::{MonotonicRaw, Tsc};

/// How long a calibration waits between its two moments: the interval is then five parts in a million wide, and every command
/// that measures begins with it.
const SPAN: Duration = Duration::from_millis(10);

/// Brackets tried at each moment: about 5 µs.
const BRACKETS: usize = 64;

/// The counter's rate.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Calibration {
    /// Ticks per second.
    pub hz: f64,
    /// No less than this, in ticks per second.
    pub lo: f64,
    /// No more than this, in ticks per second.
    pub hi: f64,
}

/// Calibrates the time-stamp counter. Takes 10 ms, asleep.
pub fn calibrate() -> Calibration {
    calibrate_over(SPAN)
}

/// Calibrates over another span. Shorter ones give wider intervals: the width is about 100 ticks in the span.
pub fn calibrate_over(span: Duration) -> Calibration {
    let start = Moment::now();
    thread::sleep(span);
    start.rate_until(&Moment::now())
}

/// One moment on both clocks: the kernel's `ns` was read when the counter was between `early` and `late`.
#[derive(Clone, Copy, Debug)]
struct Moment {
    early: u64,
    ns: u64,
    late: u64,
}

impl Moment {
    fn now() -> Moment {
        let bracket = |_| {
            let early = Tsc.open();
            let ns = MonotonicRaw.now();
            let late = Tsc.close();
            Moment { early, ns, late }
        };
        (0..BRACKETS)
            .map(bracket)
            .min_by_key(|m| m.late.saturating_sub(m.early))
            .expect("the number of brackets is a constant above zero")
    }

    fn rate_until(&self, end: &Moment) -> Calibration {
        let ns = end.ns.saturating_sub(self.ns).max(2) as f64;
        let middle = |m: &Moment| m.early as f64 / 2.0 + m.late as f64 / 2.0;
        Calibration {
            hz: (middle(end) - middle(self)) / ns * 1e9,
            // The kernel's clock is cut to whole nanoseconds at both ends.
            lo: end.early.saturating_sub(self.late) as f64 / (ns + 1.0) * 1e9,
            hi: end.late.saturating_sub(self.early) as f64 / (ns - 1.0) * 1e9,
        }
    }
}

/// A rate of the time-stamp counter that the processor or the hypervisor announces by itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Announced {
    /// Who says so, as a CPUID leaf.
    pub source: String,
    /// Ticks per second.
    pub hz: f64,
}

/// What CPUID announces: leaf 15h (TSC to core crystal; exact), leaf 16h (base frequency in whole MHz; the TSC's on
/// most Intel processors), hypervisor leaf 4000_0010h (kHz; VMware's convention, also KVM's when set by its user).
/// Empty on many machines.
pub fn announced() -> Vec<Announced> {
    let cpuid = CpuId::new();
    let mut found = Vec::new();
    if let Some(hz) = cpuid.get_tsc_info().and_then(|leaf| leaf.tsc_frequency()) {
        found.push(Announced { source: "CPUID 15h".into(), hz: hz as f64 });
    }
    let mhz = cpuid.get_processor_frequency_info().map_or(0, |leaf| leaf.processor_base_frequency());
    if mhz > 0 {
        found.push(Announced { source: "CPUID 16h (base frequency)".into(), hz: f64::from(mhz) * 1e6 });
    }
    let khz = cpuid.get_hypervisor_info().and_then(|leaf| leaf.tsc_frequency()).unwrap_or(0);
    if khz > 0 {
        found.push(Announced { source: "CPUID 4000_0010h (hypervisor)".into(), hz: f64::from(khz) * 1e3 });
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::time::{ClockId, clock_gettime};

    /// CLOCK_MONOTONIC over 200 ms, spinning: another clock, another method. It is slewed by NTP by at most 500 ppm.
    #[test]
    fn agrees_with_another_clock() {
        let ns = || {
            let t = clock_gettime(ClockId::Monotonic);
            t.tv_sec as u64 * 1_000_000_000 + t.tv_nsec as u64
        };
        let found = calibrate();
        let (t0, n0) = (Tsc.open(), ns());
        while ns() - n0 < 200_000_000 {
            std::hint::spin_loop();
        }
        let (n1, t1) = (ns(), Tsc.close());
        let other = (t1 - t0) as f64 / (n1 - n0) as f64 * 1e9;
        assert!((found.hz / other - 1.0).abs() < 0.005, "{found:?} against {other}");
    }

    #[test]
    fn the_interval_is_narrow_and_holds_the_rate() {
        let c = calibrate();
        assert!(c.lo <= c.hz && c.hz <= c.hi, "{c:?}");
        assert!((c.hi - c.lo) / c.hz < 1e-4, "{c:?}");
    }

    #[test]
    fn an_interruption_inside_a_bracket_widens_but_does_not_lie() {
        let start = Moment { early: 1_000, ns: 0, late: 1_100 };
        // At 2 ticks per ns the counter stands at 101_050 after 50 µs; the bracket closed 10_000 ticks late.
        let end = Moment { early: 101_000, ns: 50_000, late: 111_000 };
        let c = start.rate_until(&end);
        assert!(c.lo < 2e9 && 2e9 < c.hi, "{c:?}");
    }

    #[test]
    fn what_is_announced_is_close() {
        let hz = calibrate().hz;
        for a in announced() {
            assert!((a.hz / hz - 1.0).abs() < 0.02, "{a:?} against {hz}");
        }
    }
}
