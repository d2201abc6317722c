//! What counting may cost: an allowance that the program's time fills and counting empties.
//!
//! Some of it may be spent before it is earned, so that short programs are counted whole; half of what is earned at
//! first pays that back. What is not spent is not kept beyond that: a program that slept for an hour is not counted
//! whole, whatever it costs, for the minutes after that.
//!
//! Once it is spent, it is counted in slices. These are all of one length, and how long the pause after one is goes by
//! what all of the latest cost: if it ended, or the pause were longer, for what was in it, slices and gaps would not tell
//! of the program any more, but of its dear moments.

use super::watch::SLICE;

/// Seconds of the program's time whose allowance is there from the beginning, and is kept at the most. With the
/// 1.5 % of `tollway bill` it pays for 200 ms that are counted whole where counting takes up to 15 % of them, and for
/// 45 ms of a loop of getppid, of which it takes two thirds: 200 ms of that would be 7 % of the first two seconds.
const KEPT: f64 = 2.0;
/// Seconds after which what was there from the beginning is paid back: from then on counting has cost no more than is
/// allowed of the whole. Until then half of what is earned pays back.
const PAID_BACK: f64 = 2.0 * KEPT;
/// Slices of which the mean counts: older ones count less and less.
const SLICES: f64 = 8.0;
/// By which part what is left, or was spent beyond that, shortens or lengthens a pause at the most: little, as it is what
/// the last slice left.
const CORRECTION: f64 = 0.25;

/// What may be spent yet, in seconds of processor time.
pub(super) struct Budget {
    /// Seconds for each second of the program's time.
    allowed: f64,
    left: f64,
    /// Seconds of the program's time so far.
    time: f64,
    /// The latest slices, where it is counted in such.
    slices: Option<Slices>,
}

/// Seconds of the latest slices and what counting took of them.
struct Slices {
    time: f64,
    cost: f64,
}

/// What is done once it is known what counting cost.
#[derive(Debug, PartialEq)]
pub(super) enum Next {
    /// It is counted on: what is left lasts for as many seconds of the program's time, if these cost as much.
    GoOn(f64),
    /// It is not counted for as many seconds of the program's time.
    Pause(f64),
}

impl Budget {
    pub fn new(allowed: f64) -> Budget {
        Budget { allowed, left: allowed * KEPT, time: 0.0, slices: None }
    }

    /// The program had `time` more, in seconds, and counting took `cost` of it.
    pub fn counted(&mut self, time: f64, cost: f64) -> Next {
        self.pass(time, cost);
        let slices = match &mut self.slices {
            Some(slices) => {
                let older = 1.0 - 1.0 / SLICES;
                *slices = Slices { time: slices.time * older + time, cost: slices.cost * older + cost };
                slices
            }
            None if self.left > 0.0 => return Next::GoOn(self.lasts(cost / time.max(1e-9))),
            None => self.slices.insert(Slices { time, cost }),
        };
        let share = slices.cost / slices.time.max(1e-9);
        let pause = SLICE.as_secs_f64() * (share / self.rate() - 1.0);
        if pause <= 0.0 && self.left > 0.0 {
            self.slices = None;
            return Next::GoOn(self.lasts(share));
        }
        let correction = CORRECTION * (self.left / (self.allowed * KEPT)).clamp(-1.0, 1.0);
        Next::Pause(pause.max(0.0) * (1.0 - correction))
    }

    /// The program had `time` more, in seconds, in which it was not counted.
    pub fn paused(&mut self, time: f64) {
        self.pass(time, 0.0);
    }

    /// Whether less than a half is left of what is kept at the most.
    pub fn is_low(&self) -> bool {
        self.left < self.allowed * KEPT / 2.0
    }

    fn pass(&mut self, time: f64, cost: f64) {
        let paying_back = (PAID_BACK - self.time).clamp(0.0, time);
        self.time += time;
        let earned = self.allowed * (time - paying_back / 2.0);
        self.left = (self.left + earned - cost).min(self.allowed * KEPT);
    }

    /// How many seconds of the program's time it lasts at this cost for each of them; for ever where that is allowed.
    fn lasts(&self, cost: f64) -> f64 {
        let more = cost - self.rate();
        if more > 0.0 { self.left.max(0.0) / more } else { f64::INFINITY }
    }

    /// What a second earns now.
    fn rate(&self) -> f64 {
        if self.time < PAID_BACK { self.allowed / 2.0 } else { self.allowed }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counts a program of which each second costs as much as is said, for the seconds that it runs: what that cost in all,
    /// as a share, and the mean of what its gaps would cost by the slices beside them, likewise.
    fn watched(seconds: f64, cost: impl Fn(f64) -> f64) -> (f64, f64) {
        let slice = SLICE.as_secs_f64();
        let step = 1e-3;
        let mut budget = Budget::new(0.015);
        let (mut time, mut spent, mut random) = (0.0, 0.0, 0x9e37_79b9_7f4a_7c15u64);
        let (mut last, mut gap, mut estimated, mut gaps) = (None, 0.0, 0.0, 0.0);
        while time < seconds {
            let of_slice =
                (0..(slice / step) as u32).map(|at| cost(time + f64::from(at) * step) * step).sum::<f64>();
            (time, spent) = (time + slice, spent + of_slice);
            if let Some(last) = last {
                estimated += gap * (last + of_slice / slice) / 2.0;
                gaps += gap;
            }
            last = Some(of_slice / slice);
            gap = match budget.counted(slice, of_slice) {
                Next::GoOn(_) => 0.0,
                Next::Pause(pause) => {
                    random ^= random << 13;
                    random ^= random >> 7;
                    random ^= random << 17;
                    (pause * (0.5 + (random >> 11) as f64 / (1u64 << 53) as f64)).clamp(0.05, 2.0)
                }
            };
            budget.paused(gap);
            time += gap;
        }
        (spent / time, if gaps > 0.0 { estimated / gaps } else { 0.0 })
    }

    #[test]
    fn programs_of_some_seconds_pay_what_is_allowed() {
        for cost in [0.07, 0.3, 0.68] {
            for (seconds, most) in [(2.0, 0.03), (4.0, 0.02), (60.0, 0.0165)] {
                let (share, _) = watched(seconds, |_| cost);
                assert!((0.01..most).contains(&share), "{seconds} s, {cost}: {share}");
            }
        }
    }

    /// Slices that ended in dear moments, and longer pauses after these, had made a program's calls twice as many as they were.
    #[test]
    fn slices_of_a_program_with_short_phases_are_like_all_of_it() {
        let phases = |time: f64| if time.rem_euclid(0.09) < 0.03 { 0.68 } else { 0.0 };
        let (share, estimated) = watched(200.0, phases);
        assert!((0.012..0.018).contains(&share), "{share}");
        assert!((estimated / (0.68 / 3.0) - 1.0).abs() < 0.1, "{estimated}");
    }

    #[test]
    fn short_programs_are_counted_whole_and_cheap_ones_for_ever() {
        let mut budget = Budget::new(0.015);
        assert!(matches!(budget.counted(0.02, 0.003), Next::GoOn(lasts) if lasts > 0.18));
        assert_eq!(Budget::new(0.015).counted(1.0, 0.007), Next::GoOn(f64::INFINITY));
    }

    #[test]
    fn what_was_not_spent_for_an_hour_is_not_kept() {
        let mut budget = Budget::new(0.015);
        budget.paused(3600.0);
        assert!(matches!(budget.counted(0.1, 0.07), Next::Pause(_)));
    }

    #[test]
    fn a_program_that_makes_few_calls_again_is_counted_whole_again() {
        let mut budget = Budget::new(0.015);
        assert!(matches!(budget.counted(0.1, 0.07), Next::Pause(_)));
        budget.paused(30.0);
        let next = (0..40).map(|_| budget.counted(0.02, 0.0)).last();
        assert!(matches!(next, Some(Next::GoOn(_))), "{next:?}");
    }
}
