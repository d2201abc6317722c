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
    /// How often this thread had slept by then, and been displaced, if it can be told.
    switches: Option<(u64, u64)>,
}

fn switches() -> Option<(u64, u64)> {
    Usage::read().ok().map(|usage| (usage.voluntary, usage.involuntary))
}

impl Turn {
    /// A turn begins.
    #[expect(clippy::new_without_default, reason = "it is a moment, not a value")]
    pub fn new() -> Turn {
        Turn { begun: Instant::now(), switches: switches() }
    }

    /// It is over: the nanoseconds that it waited, 0 if it never slept. That somebody else had the processor is not its doing.
    pub fn waited(&self) -> u64 {
        let took = self.begun.elapsed();
        let slept = || switches().map(|(slept, _)| slept) != self.switches.map(|(slept, _)| slept);
        if took >= SHORT && slept() { took.as_nanos() as u64 } else { 0 }
    }

    /// Whether the thread was displaced meanwhile: then how long the turn has taken says nothing of it.
    pub fn was_interrupted(&self) -> bool {
        switches().map(|(_, displaced)| displaced) != self.switches.map(|(_, displaced)| displaced)
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
    fn a_sleep_is_told_from_work() {
        let turn = Turn::new();
        std::thread::sleep(Duration::from_millis(20));
        assert!(turn.waited() >= 20_000_000);
        let turn = Turn::new();
        assert_eq!(turn.waited(), 0);
    }
}
