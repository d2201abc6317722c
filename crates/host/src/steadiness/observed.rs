//! All processors at once, each kept busy by a thread of its own that stamps how long its steps take.

use std::thread;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tollway_core::{Clock, Ticks};

use crate::clock::RunClock;
use crate::cpu::{pace, pin_current_thread};
use crate::gap::{Gaps, threshold};

/// Stretches of some microseconds of which the least is one reading: about a millisecond together, so that hardly an
/// interrupt finds a place in all of them.
const TOGETHER: usize = 256;

/// How fast a processor ran.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Pace {
    /// Which one.
    pub cpu: u32,
    /// Ticks of the run's clock that a step took: the median of about a hundred readings.
    pub ticks_per_step: f64,
    /// What one reading in twenty was below.
    pub lo: f64,
    /// What one reading in twenty was above.
    pub hi: f64,
    /// The frequency in GHz at which a step takes the three cycles that it does on Intel's and AMD's processors.
    pub ghz: f64,
}

impl Pace {
    /// By how much it moved, as a share.
    pub fn moved(&self) -> f64 {
        self.hi / self.lo - 1.0
    }
}

/// Watches all of these for so long; a processor that cannot be had is left out.
pub(super) fn all(cpus: &[u32], lasting: Duration, hz: f64) -> Vec<(Pace, Gaps)> {
    let clock = RunClock::chosen();
    let until = clock.now() + (lasting.as_secs_f64() * hz) as Ticks;
    thread::scope(|scope| {
        let one = |cpu: u32| move || pin_current_thread(cpu).ok().and_then(|()| watch(clock, cpu, until, hz));
        let watching: Vec<_> = cpus.iter().map(|cpu| scope.spawn(one(*cpu))).collect();
        // A thread that panicked has nothing to tell.
        watching.into_iter().filter_map(|thread| thread.join().ok().flatten()).collect()
    })
}

fn watch<C: Clock>(clock: C, cpu: u32, until: Ticks, hz: f64) -> Option<(Pace, Gaps)> {
    let begun = clock.now();
    let (mut readings, mut gaps) = (Vec::with_capacity(1024), Gaps::default());
    let mut stretches = [0; TOGETHER];
    let mut last = begun;
    // One reading at least, however late a thread comes to its processor.
    while last < until || readings.is_empty() {
        for stretch in &mut stretches {
            *stretch = pace::stretch(clock);
            // From end to end: what was taken between two stretches is lost as well.
            let now = clock.now();
            let whole = now.saturating_sub(last);
            last = now.max(last);
            // The stretch itself is work, not a gap.
            let least = readings.last().copied().unwrap_or(*stretch).min(*stretch);
            let more = whole.saturating_sub(least);
            if more > threshold(hz) {
                gaps += Gaps { count: 1, lost: more, longest: more, watched: 0 };
            }
        }
        readings.push(stretches.into_iter().min()?);
    }
    gaps.watched = last - begun;
    readings.sort_unstable();
    let at = |share: f64| pace::per_step(readings[((readings.len() - 1) as f64 * share).round() as usize]);
    let (ticks_per_step, lo, hi) = (at(0.5), at(0.05), at(0.95));
    Some((Pace { cpu, ticks_per_step, lo, hi, ghz: pace::hertz(ticks_per_step, hz) / 1e9 }, gaps))
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;
    use crate::clock::hz;

    /// What a stretch takes, what each reading takes, and how long others have the processor at each
    /// thousandth reading.
    const WORK: Ticks = 4096;
    const READING: Ticks = 100;
    const THEFT: Ticks = 4_000_000;

    thread_local!(static READ: Cell<(u64, Ticks)> = const { Cell::new((0, 0)) });

    /// A clock of a processor that others take now and then.
    #[derive(Clone, Copy)]
    struct Shared;
    impl Shared {
        fn after(work: Ticks) -> Ticks {
            let (times, at) = READ.get();
            let at = at + READING + work + if times % 1000 == 999 { THEFT } else { 0 };
            READ.set((times + 1, at));
            at
        }
    }
    impl Clock for Shared {
        fn now(&self) -> Ticks {
            Shared::after(0)
        }
        fn open(&self) -> Ticks {
            Shared::after(0)
        }
        fn close(&self) -> Ticks {
            Shared::after(WORK - READING)
        }
    }

    #[test]
    fn who_takes_the_processor_is_seen_and_does_not_slow_it() {
        let (paced, gaps) = watch(Shared, 0, 100_000_000, 2e9).unwrap();
        println!("{paced:?} {gaps:?}");
        let (times, now) = READ.get();
        assert_eq!(gaps.count, times / 1000);
        assert!((now - gaps.watched) < 2 * READING && gaps.longest < THEFT + 4 * READING, "{gaps:?}");
        let stolen = gaps.count * THEFT;
        assert!((stolen..stolen + gaps.count * 4 * READING).contains(&gaps.lost), "{gaps:?}");
        assert_eq!((paced.lo, paced.ticks_per_step, paced.hi, paced.ghz), (2.0, 2.0, 2.0, 3.0));
    }

    #[test]
    fn a_processor_that_is_not_there_is_left_out() {
        assert!(all(&[8191], Duration::from_millis(1), hz().unwrap()).is_empty());
    }
}
