//! What reading a clock costs, and the smallest step it makes.

use serde::{Deserialize, Serialize};
use tollway_core::{Clock, Ticks};

use super::{Tsc, read_with_cpu};

/// Readings in a batch.
const BATCH: u32 = 1000;

/// Batches; the median of them counts, so some may be interrupted.
const BATCHES: usize = 31;

/// The cost of readings, in ticks of the clock that was read.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Overhead {
    /// A plain reading ([`Clock::now`]), in a batch.
    pub now: f64,
    /// A fenced reading ([`Clock::open`]), in a batch.
    pub open: f64,
    /// RDTSCP and LFENCE, in a batch; the TSC only.
    pub rdtscp: Option<f64>,
    /// What a stamped stretch with nothing in it shows: `close − open`, the median. Work much shorter than this is to
    /// be measured in batches.
    pub stamp: f64,
    /// The smallest step other than zero between two readings in a row, in ticks.
    pub resolution: Ticks,
}

/// Measures a clock's overhead and resolution. Takes about 10 ms.
pub fn overhead<C: Clock>(clock: C) -> Overhead {
    let mut stamps: Vec<Ticks> = (0..BATCH)
        .map(|_| {
            let open = clock.open();
            clock.close().saturating_sub(open)
        })
        .collect();
    stamps.sort_unstable();
    Overhead {
        now: batched(clock, || clock.now()),
        open: batched(clock, || clock.open()),
        rdtscp: None,
        stamp: stamps[stamps.len() / 2] as f64,
        resolution: resolution(clock),
    }
}

/// As [`overhead`] for the time-stamp counter, with RDTSCP where the processor has it.
pub fn tsc_overhead() -> Overhead {
    let has = raw_cpuid::CpuId::new()
        .get_extended_processor_and_feature_identifiers()
        .is_some_and(|leaf| leaf.has_rdtscp());
    Overhead { rdtscp: has.then(|| batched(Tsc, || read_with_cpu().0)), ..overhead(Tsc) }
}

/// Ticks per call, the median over batches.
fn batched<C: Clock>(clock: C, read: impl Fn() -> Ticks) -> f64 {
    let mut batches: Vec<Ticks> = (0..BATCHES)
        .map(|_| {
            let open = clock.open();
            for _ in 0..BATCH {
                std::hint::black_box(read());
            }
            clock.close().saturating_sub(open)
        })
        .collect();
    batches.sort_unstable();
    batches[BATCHES / 2] as f64 / f64::from(BATCH)
}

/// The greatest common divisor of many steps would be the counter's true grain; the smallest step is what a
/// measurement can meet.
fn resolution<C: Clock>(clock: C) -> Ticks {
    let mut smallest = Ticks::MAX;
    let mut last = clock.now();
    for _ in 0..10 * BATCH {
        let now = clock.now();
        if now > last {
            smallest = smallest.min(now - last);
        }
        last = now;
    }
    smallest
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::MonotonicRaw;

    #[test]
    fn overheads_are_plausible() {
        let tsc = tsc_overhead();
        println!("{tsc:?}");
        assert!(tsc.now > 1.0 && tsc.now < 2000.0, "{tsc:?}");
        assert!(tsc.stamp > 1.0 && tsc.stamp < 4000.0, "{tsc:?}");
        assert!(tsc.resolution >= 1 && tsc.resolution < 2000, "{tsc:?}");
        let kernel = overhead(MonotonicRaw);
        println!("{kernel:?}");
        assert!(kernel.now > 1.0 && kernel.now < 100_000.0, "{kernel:?}");
    }
}
