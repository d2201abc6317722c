//! When a tenant is told that something is done: at once, or with others, or not at all.
//!
//! Each rule does what the model of the same name in the catalogue assumes (`tollway model coalesce`, `cap`, `adaptive`). What is
//! counted and held to be told together is that of a queue, whose driver waits for just that; how far interrupts are apart is a
//! matter of the function, however many queues it has: they are what its guest's hypervisor has to do with.

use std::time::Duration;

/// A rule.
#[derive(Clone, Debug, PartialEq)]
pub enum Delivery {
    /// Each request by an interrupt of its own.
    Each,
    /// When so many of a queue are done, or the first of them has been held so long. Without a time, a tenant that has fewer in
    /// flight is never told.
    Coalesced {
        /// How many, at least 1.
        count: u32,
        /// How long the first is held at most.
        hold: Option<Duration>,
    },
    /// Interrupts of the function are at least so long apart: what is done when the last one is long enough ago is told at once,
    /// all else of that queue together when it is. Of several queues that one is next which has waited longest.
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
    queues: Vec<Held>,
    /// When the function was interrupted the last time.
    told: Option<u64>,
    /// The window of an adaptive rule: when it ends, how many were done in it, and the gap that holds in it.
    ends: u64,
    counted: u32,
    gap: u64,
}

/// What is done in a queue and was not told.
#[derive(Clone, Copy, Debug, Default)]
struct Held {
    requests: u32,
    /// Since when the first of them.
    since: u64,
    /// Whether another rule held it: it is told at once.
    is_old: bool,
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

impl Teller {
    /// For a tenant with one queue.
    pub(crate) fn new(rule: Delivery) -> Teller {
        Teller::of_queues(rule, 1)
    }

    /// One more request of its one queue is done; whether it is told now.
    pub(crate) fn done(&mut self, now: u64) -> bool {
        let told = self.done_in(0, now);
        if told {
            self.interrupted(now);
        }
        told
    }

    /// Whether it is told now, without anything more having been done.
    pub(crate) fn is_due(&mut self, now: u64) -> bool {
        let told = self.next(now).is_some();
        if told {
            self.interrupted(now);
        }
        told
    }

    /// For so many queues.
    pub(super) fn of_queues(rule: Delivery, queues: usize) -> Teller {
        let queues = vec![Held::default(); queues];
        Teller { rule, queues, told: None, ends: 0, counted: 0, gap: 0 }
    }

    pub(super) fn rule(&self) -> &Delivery {
        &self.rule
    }

    /// Another rule from now on. What the old one held is told at once.
    pub(super) fn change(&mut self, rule: Delivery) {
        let mut queues = std::mem::take(&mut self.queues);
        for held in &mut queues {
            held.is_old = held.requests > 0;
        }
        *self = Teller { queues, told: self.told, ..Teller::of_queues(rule, 0) };
    }

    /// A queue begins anew: nobody waits for what it held.
    pub(super) fn begin(&mut self, queue: usize) {
        self.queues[queue] = Held::default();
    }

    /// One more request of a queue is done; whether the tenant is to be told of that queue now.
    #[inline]
    pub(super) fn done_in(&mut self, queue: usize, now: u64) -> bool {
        // Nothing is ever held.
        if self.rule == Delivery::Each {
            return true;
        }
        self.turn_windows(now);
        self.counted = self.counted.saturating_add(1);
        let held = &mut self.queues[queue];
        if held.requests == 0 {
            held.since = now;
        }
        held.requests += 1;
        let since = held.since;
        let is_due = self.due_of(queue).is_some_and(|due| due <= now);
        // Of those that share a cap the others may have waited longer.
        let is_next =
            !self.is_shared() || self.queues.iter().all(|held| held.requests == 0 || held.since >= since);
        is_due && is_next && self.take(queue)
    }

    /// A queue of which the tenant is to be told now, without anything more having been done: that which has waited longest.
    pub(super) fn next(&mut self, now: u64) -> Option<usize> {
        self.turn_windows(now);
        let due = |queue: &usize| self.due_of(*queue).is_some_and(|due| due <= now);
        let next = (0..self.queues.len()).filter(due).min_by_key(|queue| self.queues[*queue].since)?;
        self.take(next);
        Some(next)
    }

    /// It was interrupted.
    pub(super) fn interrupted(&mut self, now: u64) {
        self.told = Some(now);
    }

    /// When the tenant is to be told, if nothing more is done; in the past: now.
    pub(crate) fn due(&self) -> Option<u64> {
        (0..self.queues.len()).filter_map(|queue| self.due_of(queue)).min()
    }

    fn due_of(&self, queue: usize) -> Option<u64> {
        let Held { requests, since, is_old } = self.queues[queue];
        if requests == 0 {
            return None;
        }
        if is_old {
            return Some(since);
        }
        let after = |gap: u64| self.told.map_or(since, |told| since.max(told.saturating_add(gap)));
        match &self.rule {
            Delivery::Each => Some(since),
            Delivery::Coalesced { count, .. } if requests >= *count => Some(since),
            Delivery::Coalesced { hold, .. } => hold.map(|hold| since.saturating_add(nanoseconds(hold))),
            Delivery::Capped { gap } => Some(after(nanoseconds(*gap))),
            Delivery::Adaptive { .. } => Some(after(self.gap)),
            Delivery::Never => None,
        }
    }

    fn is_shared(&self) -> bool {
        matches!(self.rule, Delivery::Capped { .. } | Delivery::Adaptive { .. })
    }

    fn take(&mut self, queue: usize) -> bool {
        self.queues[queue] = Held::default();
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

    /// When a tenant is told of requests that are done at these times (µs), each in a queue: when, of which queue, and of how many.
    fn told_of(rule: Delivery, queues: usize, done: &[(u64, usize)]) -> Vec<(u64, usize, usize)> {
        let mut teller = Teller::of_queues(rule, queues);
        let (mut told, mut waiting) = (Vec::new(), vec![0; queues]);
        let mut times = done.iter().map(|(at, queue)| (at * MICRO, *queue)).peekable();
        loop {
            let due = teller.due();
            let (now, queue) = match (times.peek().copied(), due) {
                (None, None) => return told,
                (Some((at, queue)), due) if due.is_none_or(|due| at <= due) => {
                    times.next();
                    waiting[queue] += 1;
                    (at, teller.done_in(queue, at).then_some(queue))
                }
                (_, Some(due)) => {
                    let next = teller.next(due);
                    assert!(next.is_some(), "it was due at {due}");
                    (due, next)
                }
                (Some(_), None) => unreachable!("it comes before nothing"),
            };
            if let Some(queue) = queue {
                teller.interrupted(now);
                told.push((now / MICRO, queue, std::mem::take(&mut waiting[queue])));
            }
        }
    }

    /// The same of a tenant with one queue: when, and of how many.
    fn told(rule: Delivery, done: &[u64]) -> Vec<(u64, usize)> {
        let done: Vec<_> = done.iter().map(|at| (*at, 0)).collect();
        told_of(rule, 1, &done).into_iter().map(|(at, _, many)| (at, many)).collect()
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

    #[test]
    fn a_gap_is_the_functions_and_who_has_waited_longest_is_next() {
        let capped = || Delivery::Capped { gap: micros(10) };
        // The third queue asks last, and again and again; the first two have theirs before it.
        let done = [(5, 2), (6, 1), (7, 0), (8, 2), (14, 2)];
        assert_eq!(told_of(capped(), 3, &done), [(5, 2, 1), (15, 1, 1), (25, 0, 1), (35, 2, 2)]);
        // Also where it asks just when the gap is over.
        assert_eq!(told_of(capped(), 2, &[(5, 0), (6, 1), (15, 0)]), [(5, 0, 1), (15, 1, 1), (25, 0, 1)]);
        let adaptive = Delivery::Adaptive { window: micros(100), gaps: vec![(4, micros(50))] };
        // Two in each queue are four of the function.
        let done = [(1, 0), (2, 1), (3, 0), (4, 1), (101, 0), (102, 1)];
        let expected = [(1, 0, 1), (2, 1, 1), (3, 0, 1), (4, 1, 1), (101, 0, 1), (151, 1, 1)];
        assert_eq!(told_of(adaptive, 2, &done), expected);
    }

    #[test]
    fn what_is_counted_and_held_is_a_queues() {
        let count = Delivery::Coalesced { count: 2, hold: None };
        assert_eq!(told_of(count, 2, &[(1, 0), (2, 1), (3, 1), (9, 0)]), [(3, 1, 2), (9, 0, 2)]);
        let time = Delivery::Coalesced { count: 9, hold: Some(micros(10)) };
        assert_eq!(told_of(time, 2, &[(1, 0), (2, 1)]), [(11, 0, 1), (12, 1, 1)]);
    }

    #[test]
    fn who_was_called_without_wishing_it_has_used_up_nothing() {
        let mut teller = Teller::of_queues(Delivery::Capped { gap: micros(10) }, 2);
        assert!(teller.done_in(0, MICRO));
        // Nobody was interrupted.
        assert!(teller.done_in(1, 2 * MICRO));
        teller.interrupted(2 * MICRO);
        assert!(!teller.done_in(0, 3 * MICRO));
        assert_eq!(teller.due(), Some(12 * MICRO));
    }

    #[test]
    fn what_another_rule_held_is_told_at_once_and_what_a_queue_held_before_it_began_anew_is_not() {
        let mut teller = Teller::of_queues(Delivery::Never, 2);
        assert!(!teller.done_in(0, 1) && !teller.done_in(1, 2));
        teller.change(Delivery::Coalesced { count: 8, hold: None });
        teller.begin(1);
        assert_eq!((teller.next(3), teller.next(3)), (Some(0), None));
        assert!(!teller.done_in(0, 4));
        assert_eq!(teller.due(), None);
    }
}
