//! Time that was taken from a thread while it did nothing but read the clock.
//!
//! What it counts: stretches between two readings in a row that are longer than a threshold (2 µs by the
//! [`threshold`] function): interrupts, preemption, exits to the hypervisor, steal, firmware. What it cannot tell:
//! which of these it was, nor anything shorter than the threshold, nor what happens on other cores or while nobody
//! watches. It is the fine-grained companion of the steal counter, whose ticks are 10 ms.

use std::ops::AddAssign;

use serde::{Deserialize, Serialize};
use tollway_core::{Clock, Ticks};

/// The shortest stretch that counts as a gap: 2 µs.
pub const SHORTEST_NS: f64 = 2000.0;

/// [`SHORTEST_NS`] in ticks of a clock with this rate.
pub fn threshold(hz: f64) -> Ticks {
    (SHORTEST_NS * hz / 1e9).ceil() as Ticks
}

/// What was lost while watching.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gaps {
    /// Gaps longer than the threshold.
    pub count: u64,
    /// Ticks lost in them, all together (their whole length).
    pub lost: Ticks,
    /// The longest, in ticks.
    pub longest: Ticks,
    /// Ticks watched, gaps included.
    pub watched: Ticks,
}

impl Gaps {
    /// The share of the watched time that was lost; `None` if nothing was watched.
    pub fn share(&self) -> Option<f64> {
        (self.watched > 0).then(|| self.lost as f64 / self.watched as f64)
    }
}

impl AddAssign for Gaps {
    fn add_assign(&mut self, other: Gaps) {
        self.count += other.count;
        self.lost += other.lost;
        self.longest = self.longest.max(other.longest);
        self.watched += other.watched;
    }
}

/// Watches the clock until it shows `until` or later, and records every stretch longer than `threshold` ticks.
///
/// Makes no system call and allocates nothing, so it is what a thread does while it waits for its window to open. The
/// first reading is taken at the call; a gap that is still open at `until` counts with its whole length.
#[inline]
pub fn watch_until<C: Clock>(clock: C, until: Ticks, threshold: Ticks) -> Gaps {
    watch_each(clock, until, threshold, |_, _| {})
}

/// The same, and tells of each gap as soon as it is over: when it began, and how long it was.
#[inline]
pub fn watch_each<C: Clock>(
    clock: C,
    until: Ticks,
    threshold: Ticks,
    mut each: impl FnMut(Ticks, Ticks),
) -> Gaps {
    let start = clock.now();
    let mut gaps = Gaps::default();
    let mut last = start;
    while last < until {
        let now = clock.now();
        let stretch = now.saturating_sub(last);
        if stretch > threshold {
            gaps.count += 1;
            gaps.lost += stretch;
            gaps.longest = gaps.longest.max(stretch);
            each(last, stretch);
        }
        last = now.max(last);
    }
    gaps.watched = last - start;
    gaps
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;
    use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
    use std::thread;
    use std::time::Duration;

    use crate::clock::{MonotonicRaw, Tsc};
    use crate::eventually::eventually;
    use crate::samplers::thread_time;

    thread_local!(static SCRIPT: Cell<(usize, &'static [Ticks])> = const { Cell::new((0, &[])) });

    #[derive(Clone, Copy)]
    struct Scripted;
    impl Clock for Scripted {
        fn now(&self) -> Ticks {
            let (i, script) = SCRIPT.get();
            SCRIPT.set((i + 1, script));
            script[i.min(script.len() - 1)]
        }
        fn open(&self) -> Ticks {
            self.now()
        }
        fn close(&self) -> Ticks {
            self.now()
        }
    }

    #[test]
    fn gaps_are_counted_and_a_step_back_is_none() {
        SCRIPT.set((0, &[100, 110, 5110, 5105, 5120, 9120, 9130]));
        let mut each = Vec::new();
        let gaps = watch_each(Scripted, 9121, 4000, |begun, long| each.push((begun, long)));
        assert_eq!(gaps, Gaps { count: 1, lost: 5000, longest: 5000, watched: 9030 });
        assert_eq!(each, [(110, 5000)]);
    }

    #[test]
    fn a_moment_in_the_past_is_not_waited_for() {
        assert_eq!(watch_until(Tsc, 0, 1000), Gaps::default());
        assert_eq!(Gaps::default().share(), None);
    }

    /// What its clock says when nothing more is stolen.
    const END: Ticks = Ticks::MAX / 2;
    static READINGS: AtomicU64 = AtomicU64::new(0);
    static IS_OVER: AtomicBool = AtomicBool::new(false);

    /// The time until a thief has what it wants, then the end.
    #[derive(Clone, Copy)]
    struct UntilOver;
    impl Clock for UntilOver {
        fn now(&self) -> Ticks {
            READINGS.fetch_add(1, Relaxed);
            if IS_OVER.load(Relaxed) { END } else { MonotonicRaw.now() }
        }
        fn open(&self) -> Ticks {
            self.now()
        }
        fn close(&self) -> Ticks {
            self.now()
        }
    }

    #[test]
    fn a_thread_that_steals_the_core_is_seen() {
        const STOLEN: Duration = Duration::from_millis(20);
        let cpu = *crate::cpu::allowed_cpus().unwrap().last().unwrap();
        let pinned = move || crate::cpu::pin_current_thread(cpu).unwrap();
        let watcher = thread::spawn(move || {
            pinned();
            let mut lost = 0;
            watch_each(UntilOver, END, threshold(1e9), |begun, long| {
                // The last one is the jump to the end.
                lost += if begun + long < END { long } else { 0 };
            });
            Duration::from_nanos(lost)
        });
        let thief = thread::spawn(move || {
            pinned();
            let watcher_reads = || {
                let before = READINGS.load(Relaxed);
                eventually("the watcher reads its clock", || READINGS.load(Relaxed) > before + 1);
            };
            watcher_reads();
            let begun = thread_time::thread();
            while thread_time::thread() - begun < STOLEN {}
            // By then the gap that was the last of it has an end.
            watcher_reads();
            IS_OVER.store(true, Relaxed);
        });
        thief.join().unwrap();
        let lost = watcher.join().unwrap();
        // Whatever else took the core is in it as well; the two clocks are not the same one.
        assert!(lost >= STOLEN * 9 / 10, "{lost:?}");
    }
}
