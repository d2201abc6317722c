//! When a tenant is told that something is done: at once, or with others, or not at all.
//!
//! Each rule does what the model of the same name in the catalogue assumes (`tollway model coalesce`, `cap`, `adaptive`).

use std::time::Duration;

/// A rule.
#[derive(Clone, Debug, PartialEq)]
pub enum Delivery {
    /// Each request by an interrupt of its own.
    Each,
    /// When so many are done, or the first of them has been held so long. Without a time, a tenant that has fewer in flight is
    /// never told.
    Coalesced {
        /// How many, at least 1.
        count: u32,
        /// How long the first is held at most.
        hold: Option<Duration>,
    },
    /// Interrupts are at least so long apart: what is done when the last one is long enough ago is told at once, all else together
    /// when it is.
    Capped {
        /// The gap.
        gap: Duration,
    },
    /// As capped; how many were done in each window picks the gap of the next one.
    Adaptive {
        /// The window.
        window: Duration,
        /// From how many in a window on which gap holds, rising; before the first there is none.
        gaps: Vec<(u32, Duration)>,
    },
    /// Never: the tenant looks for itself.
    Never,
}

impl Delivery {
    /// Adaptive as cards are by default: below 10,000 requests a second at once, then 10,000 interrupts a second, and from
    /// 100,000 requests a second on 4000.
    pub fn adaptive() -> Delivery {
        let window = Duration::from_millis(1);
        let gaps = vec![(10, Duration::from_micros(100)), (100, Duration::from_micros(250))];
        Delivery::Adaptive { window, gaps }
    }
}

/// A rule at work for one tenant. Times are nanoseconds of a clock that never goes back.
#[derive(Clone, Debug)]
pub(crate) struct Teller {
    rule: Delivery,
    /// Done and not told.
    held: u32,
    /// Since when the first of them.
    since: u64,
    /// When it was told the last time.
    told: Option<u64>,
    /// The window of an adaptive rule: when it ends, how many were done in it, and the gap that holds in it.
    ends: u64,
    counted: u32,
    gap: u64,
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

impl Teller {
    pub(crate) fn new(rule: Delivery) -> Teller {
        Teller { rule, held: 0, since: 0, told: None, ends: 0, counted: 0, gap: 0 }
    }

    /// One more request is done; whether the tenant is to be told now.
    pub(crate) fn done(&mut self, now: u64) -> bool {
        self.turn_windows(now);
        self.counted = self.counted.saturating_add(1);
        if self.held == 0 {
            self.since = now;
        }
        self.held += 1;
        self.due().is_some_and(|due| due <= now) && self.tell(now)
    }

    /// Whether the tenant is to be told now, without anything more having been done.
    pub(crate) fn is_due(&mut self, now: u64) -> bool {
        self.turn_windows(now);
        self.due().is_some_and(|due| due <= now) && self.tell(now)
    }

    /// When the tenant is to be told, if nothing more is done; in the past: now.
    pub(crate) fn due(&self) -> Option<u64> {
        if self.held == 0 {
            return None;
        }
        let after = |gap: u64| self.told.map_or(self.since, |told| self.since.max(told.saturating_add(gap)));
        match &self.rule {
            Delivery::Each => Some(self.since),
            Delivery::Coalesced { count, .. } if self.held >= *count => Some(self.since),
            Delivery::Coalesced { hold, .. } => hold.map(|hold| self.since.saturating_add(nanoseconds(hold))),
            Delivery::Capped { gap } => Some(after(nanoseconds(*gap))),
            Delivery::Adaptive { .. } => Some(after(self.gap)),
            Delivery::Never => None,
        }
    }

    fn tell(&mut self, now: u64) -> bool {
        (self.held, self.told) = (0, Some(now));
        true
    }

    /// Begins the window of an adaptive rule that `now` is in.
    fn turn_windows(&mut self, now: u64) {
        let Delivery::Adaptive { window, gaps } = &self.rule else { return };
        if now < self.ends {
            return;
        }
        let window = nanoseconds(*window).max(1);
        // Of windows in which nobody looked nothing was done in all but the first.
        let seen = if now - self.ends < window { self.counted } else { 0 };
        let gap = gaps.iter().rev().find(|(from, _)| seen >= *from);
        self.gap = gap.map_or(0, |(_, gap)| nanoseconds(*gap));
        self.counted = 0;
        self.ends = now - (now - self.ends) % window + window;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MICRO: u64 = 1000;

    fn micros(n: u64) -> Duration {
        Duration::from_micros(n)
    }

    /// When a tenant is told of requests that are done at these times (µs), and of how many.
    fn told(rule: Delivery, done: &[u64]) -> Vec<(u64, usize)> {
        let mut teller = Teller::new(rule);
        let (mut told, mut waiting) = (Vec::new(), 0);
        let mut times = done.iter().map(|at| at * MICRO).peekable();
        loop {
            let due = teller.due();
            match (times.peek().copied(), due) {
                (None, None) => return told,
                (Some(at), due) if due.is_none_or(|due| at <= due) => {
                    times.next();
                    waiting += 1;
                    if teller.done(at) {
                        told.push((at / MICRO, std::mem::take(&mut waiting)));
                    }
                }
                (_, Some(due)) => {
                    assert!(teller.is_due(due), "it was due at {due}");
                    told.push((due / MICRO, std::mem::take(&mut waiting)));
                }
                (Some(_), None) => unreachable!("it comes before nothing"),
            }
        }
    }

    #[test]
    fn each_is_told_by_itself() {
        assert_eq!(told(Delivery::Each, &[1, 1, 5]), [(1, 1), (1, 1), (5, 1)]);
        assert_eq!(told(Delivery::Never, &[1, 2, 3]), []);
    }

    #[test]
    fn some_are_told_together() {
        let count = Delivery::Coalesced { count: 3, hold: None };
        assert_eq!(told(count, &[1, 2, 9, 10, 11]), [(9, 3)]);
        let time = Delivery::Coalesced { count: u32::MAX, hold: Some(micros(10)) };
        assert_eq!(told(time, &[1, 2, 11, 12, 30]), [(11, 3), (22, 1), (40, 1)]);
        let both = Delivery::Coalesced { count: 2, hold: Some(micros(10)) };
        assert_eq!(told(both, &[1, 2, 3, 20, 21]), [(2, 2), (13, 1), (21, 2)]);
    }

    #[test]
    fn interrupts_keep_a_gap() {
        let capped = Delivery::Capped { gap: micros(10) };
        assert_eq!(told(capped, &[5, 6, 7, 20, 40]), [(5, 1), (15, 2), (25, 1), (40, 1)]);
    }

    #[test]
    fn the_load_picks_the_gap() {
        let adaptive = Delivery::Adaptive { window: micros(100), gaps: vec![(5, micros(50))] };
        // Five in the first window: in the second they are 50 µs apart; after an empty one there is no gap again.
        let done = [1, 2, 3, 4, 5, 101, 102, 160, 305, 306];
        let expected =
            [(1, 1), (2, 1), (3, 1), (4, 1), (5, 1), (101, 1), (151, 1), (201, 1), (305, 1), (306, 1)];
        assert_eq!(told(adaptive, &done), expected);
    }
}
