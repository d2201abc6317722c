//! How long a tenant may keep those waiting who serve all.
//!
//! A tenant's memory is its own: it can give pages back while the device writes there (`fallocate(2)`, FALLOC_FL_PUNCH_HOLE), and
//! the kernel then has the device wait until that is done. Sealing the memory would forbid it, and the next server, too, to map it.
//! So what a turn waited is counted, and who has used up its time is served no more until it has some again.

use std::time::{Duration, Instant};

use tollway_host::samplers::usage::Usage;

use crate::Bucket;

/// A turn that is shorter has not waited; others may have, or were interrupted.
const SHORT: Duration = Duration::from_millis(5);

/// Nanoseconds that a tenant may keep others waiting at once, and in each second.
const AT_ONCE: u64 = 500_000_000;
const PER_SECOND: u64 = 50_000_000;

/// The beginning of a turn.
#[derive(Debug)]
pub struct Turn {
    begun: Instant,
    /// What this thread had used by then, and how often it had slept and been displaced, if it can be told.
    before: Option<Usage>,
}

impl Turn {
    /// A turn begins.
    #[expect(clippy::new_without_default, reason = "it is a moment, not a value")]
    pub fn new() -> Turn {
        Turn { begun: Instant::now(), before: Usage::read().ok() }
    }

    /// It is over: the nanoseconds that it waited, 0 if it never slept. That somebody else had the processor is not its doing.
    pub fn waited(&self) -> u64 {
        let took = self.begun.elapsed();
        let slept = || Usage::read().ok().map(|now| now.voluntary) != self.before.map(|then| then.voluntary);
        if took >= SHORT && slept() { took.as_nanos() as u64 } else { 0 }
    }

    /// The thread was displaced meanwhile, so that how long the turn has taken says nothing of it: the nanoseconds that it was at
    /// work.
    pub fn worked_if_displaced(&self) -> Option<u64> {
        let (then, now) = (self.before?, Usage::read().ok()?);
        let worked = |usage: Usage| usage.user + usage.system;
        let worked = worked(now).saturating_sub(worked(then)).as_nanos() as u64;
        (now.involuntary != then.involuntary).then_some(worked)
    }
}

/// What is left of a tenant's time.
#[derive(Clone, Debug)]
pub struct Patience(Bucket);

impl Patience {
    /// All of it. `now` is in nanoseconds of a clock that never goes back.
    pub fn new(now: u64) -> Patience {
        Patience(Bucket::new(PER_SECOND, AT_ONCE, now))
    }

    /// A turn of it waited so long; whether there is any time left.
    pub fn lasts(&mut self, waited: u64, now: u64) -> bool {
        if waited == 0 {
            return true;
        }
        let left = self.0.level(now);
        self.0.take(waited.min(left));
        left > waited
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use tollway_host::cpu::{allowed_cpus, pin_current_thread};
    use tollway_host::samplers::thread_time;

    use super::*;

    #[test]
    fn who_waits_seldom_is_borne_with() {
        let second = 1_000_000_000;
        let mut patience = Patience::new(0);
        assert!((1..=100).all(|i| patience.lasts(40_000_000, i * second)));
        assert!((101..=200).all(|i| patience.lasts(0, i * second)));
        // A second in which it waits a tenth of the time is more than it may have, once what it had saved up is gone.
        let lasted = (201..=300).take_while(|i| patience.lasts(100_000_000, i * second)).count();
        assert!((5..=11).contains(&lasted), "{lasted}");
        assert!(!patience.lasts(second, 301 * second));
        assert!(patience.lasts(10_000_000, 310 * second));
    }

    #[test]
    fn who_is_displaced_is_charged_what_it_worked() {
        pin_current_thread(allowed_cpus().unwrap()[0]).unwrap();
        let is_over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            // It inherits the one processor that this thread may have.
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
            let (turn, before) = (Turn::new(), thread_time::thread());
            let begun = Instant::now();
            while begun.elapsed() < Duration::from_millis(200) {}
            let (took, worked) = (begun.elapsed(), turn.worked_if_displaced());
            let had = thread_time::thread() - before;
            is_over.store(true, Ordering::Relaxed);
            let worked = Duration::from_nanos(worked.expect("two shared a processor"));
            assert!(worked > had / 2 && worked < took * 9 / 10, "{worked:?}, {had:?} of {took:?}");
        });
    }

    #[test]
    fn a_sleep_is_told_from_work() {
        let turn = Turn::new();
        std::thread::sleep(Duration::from_millis(20));
        assert!(turn.waited() >= 20_000_000);
        let turn = Turn::new();
        assert_eq!(turn.waited(), 0);
    }
}
