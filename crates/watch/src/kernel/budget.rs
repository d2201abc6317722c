//! What counting may cost: an allowance that the program's time fills and counting empties.
//!
//! Some of it may be spent before it is earned, so that short programs are counted whole; half of what is earned at
//! first pays that back. What is not spent is not kept beyond that: a program that slept for an hour is not counted
//! whole, whatever it costs, for the minutes after that.

/// Seconds of the program's time whose allowance is there from the beginning, and is kept at the most. With the
/// 1.5 % of `tollway bill` it pays for 200 ms that are counted whole where counting takes up to 15 % of them, and for
/// 45 ms of a loop of getppid, of which it takes two thirds: 200 ms of that would be 7 % of the first two seconds.
const KEPT: f64 = 2.0;
/// Seconds after which what was there from the beginning is paid back: from then on counting has cost no more than is
/// allowed of the whole. Until then half of what is earned pays back.
const PAID_BACK: f64 = 2.0 * KEPT;

/// What may be spent yet, in seconds of processor time.
pub(super) struct Budget {
    /// Seconds for each second of the program's time.
    allowed: f64,
    left: f64,
    /// Seconds of the program's time so far.
    time: f64,
}

impl Budget {
    pub fn new(allowed: f64) -> Budget {
        Budget { allowed, left: allowed * KEPT, time: 0.0 }
    }

    /// The program had so many more seconds, and counting took `cost` of them.
    pub fn pass(&mut self, time: f64, cost: f64) {
        let paying_back = (PAID_BACK - self.time).clamp(0.0, time);
        self.time += time;
        let earned = self.allowed * (time - paying_back / 2.0);
        self.left = (self.left + earned - cost).min(self.allowed * KEPT);
    }

    /// Whether less than a half is left of what is kept at the most.
    pub fn is_low(&self) -> bool {
        self.left < self.allowed * KEPT / 2.0
    }

    pub fn is_spent(&self) -> bool {
        self.left <= 0.0
    }

    /// How many seconds of the program's time it lasts at this cost for each of them; for ever where that is allowed.
    pub fn lasts(&self, cost: f64) -> f64 {
        let more = cost - self.rate();
        if more > 0.0 { self.left.max(0.0) / more } else { f64::INFINITY }
    }

    /// How many seconds of the program's time it takes until `cost` can be paid.
    pub fn earns(&self, cost: f64) -> f64 {
        let missing = (cost - self.left).max(0.0);
        let paying_back = (PAID_BACK - self.time).max(0.0);
        match missing / (self.allowed / 2.0) {
            slow if slow <= paying_back => slow,
            _ => missing / self.allowed + paying_back / 2.0,
        }
    }

    /// What a second earns now.
    fn rate(&self) -> f64 {
        if self.time < PAID_BACK { self.allowed / 2.0 } else { self.allowed }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counts a program in slices for so long, of which each second costs as much as is said; the share that it cost.
    fn counted_in_slices(seconds: f64, cost: f64) -> f64 {
        let mut budget = Budget::new(0.015);
        let (mut time, mut spent) = (0.0, 0.0);
        while time < seconds {
            let slice = budget.lasts(cost).max(0.01);
            budget.pass(slice, slice * cost);
            let pause = if budget.is_spent() { budget.earns(0.01 * cost) } else { 0.0 };
            budget.pass(pause, 0.0);
            (time, spent) = (time + slice + pause, spent + slice * cost);
        }
        spent / time
    }

    #[test]
    fn programs_of_some_seconds_pay_what_is_allowed() {
        for cost in [0.07, 0.3, 0.68] {
            for (seconds, most) in [(2.0, 0.025), (4.0, 0.017), (60.0, 0.0155)] {
                let share = counted_in_slices(seconds, cost);
                assert!((0.012..most).contains(&share), "{seconds} s, {cost}: {share}");
            }
        }
    }

    #[test]
    fn short_programs_are_counted_whole_and_cheap_ones_for_ever() {
        let budget = Budget::new(0.015);
        assert!(budget.lasts(0.15) > 0.2 && budget.lasts(0.007).is_infinite());
    }

    #[test]
    fn what_was_not_spent_for_an_hour_is_not_kept() {
        let mut budget = Budget::new(0.015);
        budget.pass(3600.0, 0.0);
        budget.pass(0.1, 0.07);
        assert!(budget.is_spent());
    }

    #[test]
    fn it_can_pay_as_soon_as_it_says() {
        for (time, spent, cost) in [(0.0, 0.04, 0.01), (0.5, 0.06, 0.02), (3.9, 0.1, 0.01), (9.0, 0.4, 0.02)]
        {
            let mut budget = Budget::new(0.015);
            budget.pass(time, spent);
            let wait = budget.earns(cost);
            budget.pass(wait, cost);
            assert!(budget.left.abs() < 1e-9, "{time} {spent} {cost}: {wait}, {}", budget.left);
        }
    }
}
