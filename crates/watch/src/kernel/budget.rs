//! What counting may cost: an allowance that the program's time fills and counting empties.
//!
//! Some of it may be spent before it is earned, so that short programs are counted whole; half of what is earned at
//! first pays that back. What is not spent is not kept beyond that: a program that slept for an hour is not counted
//! whole, whatever it costs, for the minutes after that.
//!
//! Once it is spent, it is counted in slices, and between these, where that is affordable, how often each call is begun:
//! for a third of what counting everything takes. What most programs call is known exactly so, and slices tell of the
//! rest. Half of the allowance is kept for that, or for slices: a program of a second is counted whole, or by its calls'
//! numbers, where it makes few.
//!
//! Where it is not, numbers are counted for a short while behind each slice: as that makes calls less longer than counting
//! everything does, it tells better how many there are without it.
//!
//! Slices are all of one length, and how long the pause after one is goes by what all of the latest cost: if it ended, or
//! the pause were longer, for what was in it, slices and gaps would not tell of the program any more, but of its dear
//! moments.

use std::time::Duration;

/// How long it is counted in each slice, how long calls are counted by their numbers behind it at least, and how soon it is asked what it cost so far.
pub(super) const SLICE: Duration = Duration::from_millis(10);
/// The longest and the shortest between two slices: attaching waits for the kernel where it was detached less long ago.
pub(super) const LONGEST: Duration = Duration::from_secs(2);
pub(super) const SHORTEST: Duration = Duration::from_millis(50);

/// Seconds of the program's time whose allowance is there from the beginning, and is kept at the most. With the
/// 1.5 % of `tollway bill` half of it pays for 200 ms that are counted whole where counting takes up to 7 % of them, and for
/// 22 ms of a loop of getppid, of which it takes two thirds: 200 ms of that would be 7 % of the first two seconds.
const KEPT: f64 = 2.0;
/// Seconds after which what was there from the beginning is paid back: from then on counting has cost no more than is
/// allowed of the whole. Until then half of what is earned pays back.
const PAID_BACK: f64 = 2.0 * KEPT;
/// Slices of which the mean counts: older ones count less and less. As many times more, each time that everything was counted again
/// for what these said and was too dear: a program with phases was counted whole in each calm one, and the dear ones then cost
/// what slices of all of it need.
const SLICES: f64 = 8.0;
const LONGER: f64 = 4.0;
const MOST_SLICES: f64 = 512.0;
/// How many times as much as numbers everything costs, where no slice tells.
const TIMES: f64 = 3.0;
/// How many slices of numbers there are between two of everything, besides that behind each: they cost half as much, and tell of
/// more moments.
const BETWEEN: u32 = 3;
/// Which part of what is earned goes to slices at the least, however much was spent too much.
const LEAST_RATE: f64 = 0.5;
/// Of what is earned, counting calls by their numbers may take this part for ever: the rest is for slices.
const FOR_NUMBERS: f64 = 0.9;
/// What is left is spent on calls' numbers if it lasts for this many seconds of the program's time.
const WORTH: f64 = 0.2;
/// The part of what is kept that numbers may still take when nothing is left: a program that begins to make more calls is
/// noticed by then.
const DEBT: f64 = 0.25;

/// What may be spent yet, in seconds of processor time.
pub(super) struct Budget {
    /// Seconds for each second of the program's time.
    allowed: f64,
    left: f64,
    /// Seconds of the program's time so far.
    time: f64,
    /// The latest slices, where it is counted in such, and of how many the mean counts.
    slices: Option<Stretch>,
    memory: f64,
    /// Everything is counted again, after slices.
    is_calm: bool,
    /// Nothing was counted in a gap since. What is left later is the chance of the latest slices: if calls were counted by
    /// their numbers behind cheap ones, and not behind dear ones, the other gaps would be taken to be dear.
    is_spent: bool,
    /// For how long of the program's time numbers were counted last without a look.
    numbered: f64,
}

/// Seconds of the program's time, what counting everything took of them, and what counting calls by their numbers alone
/// would have taken.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stretch {
    pub time: f64,
    pub cost: f64,
    pub numbers: f64,
}

impl Stretch {
    /// What one more slice makes of the mean of `memory` slices.
    fn and(self, slice: Stretch, memory: f64) -> Stretch {
        let older = 1.0 - 1.0 / memory;
        Stretch {
            time: self.time * older + slice.time,
            cost: self.cost * older + slice.cost,
            numbers: self.numbers * older + slice.numbers,
        }
    }

    /// The same, of no more time than a slice: a long stretch says no more of what comes than the slices that follow it.
    fn as_a_slice(self) -> Stretch {
        let part = (SLICE.as_secs_f64() / self.time.max(1e-9)).min(1.0);
        Stretch { time: self.time * part, cost: self.cost * part, numbers: self.numbers * part }
    }

    fn share(self, cost: f64) -> f64 {
        cost / self.time.max(1e-9)
    }
}

/// What is done once it is known what counting cost.
#[derive(Debug, PartialEq)]
pub(super) enum Next {
    /// It is counted on: what is left lasts for as many seconds of the program's time, if these cost as much.
    GoOn(f64),
    /// There is no slice for as many seconds of the program's time.
    Pause { seconds: f64, what: Pause },
}

/// What is counted where not everything is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Pause {
    /// Calls are, by their numbers.
    Numbered,
    /// Nothing is, but for slices of numbers: one in its beginning, and then this many with pauses as long behind them.
    Unknown { between: u32 },
}

impl Budget {
    pub fn new(allowed: f64) -> Budget {
        Budget {
            allowed,
            left: allowed * KEPT,
            time: 0.0,
            slices: None,
            memory: SLICES,
            is_calm: false,
            is_spent: false,
            numbered: 0.0,
        }
    }

    /// So much was counted.
    pub fn counted(&mut self, stretch: Stretch) -> Next {
        let left = self.left;
        self.pass(stretch.time, stretch.cost);
        // What comes next goes by the slices before this one: it would be another behind dear ones than behind cheap ones.
        let (slices, left) = match self.slices {
            Some(slices) => {
                self.slices = Some(slices.and(stretch, self.memory));
                (slices, left)
            }
            None => {
                let half = self.allowed * KEPT / 2.0;
                if self.left > half {
                    return Next::GoOn(self.lasts(stretch.share(stretch.cost), half));
                }
                if std::mem::take(&mut self.is_calm) {
                    self.memory = (self.memory * LONGER).min(MOST_SLICES);
                }
                let stretch = stretch.as_a_slice();
                self.slices = Some(stretch);
                (stretch, self.left)
            }
        };
        let (share, numbers) = (slices.share(slices.cost), slices.share(slices.numbers));
        // What is left, or was spent beyond that, is made up for in the seconds that come.
        let rate = (self.rate() + left / KEPT).max(self.rate() * LEAST_RATE);
        if share <= rate && left > 0.0 {
            (self.slices, self.is_spent, self.is_calm) = (None, false, true);
            return Next::GoOn(self.lasts(share, 0.0));
        }
        let slice = stretch.time.min(2.0 * SLICE.as_secs_f64());
        // What was spent beforehand is paid back more slowly then: what is exact is worth more than some seconds.
        if numbers <= FOR_NUMBERS * rate.max(self.allowed) {
            let seconds = slice * (share - rate).max(0.0) / (rate - numbers).max(rate * (1.0 - FOR_NUMBERS));
            return Next::Pause { seconds, what: Pause::Numbered };
        }
        if !self.is_spent && self.lasts(numbers, 0.0) >= WORTH {
            // For the half of what is left, and a slice then.
            let seconds = self.lasts(numbers, self.left / 2.0).min(LONGEST.as_secs_f64());
            return Next::Pause { seconds, what: Pause::Numbered };
        }
        self.is_spent = true;
        let pause = |between: u32| {
            let gaps = f64::from(1 + between);
            let cost = slice * share + gaps * self.numbered.max(SLICE.as_secs_f64()) * numbers;
            (cost / rate - slice).max(0.0) / gaps
        };
        let between = if pause(BETWEEN) < SHORTEST.as_secs_f64() { 0 } else { BETWEEN };
        Next::Pause { seconds: pause(between), what: Pause::Unknown { between } }
    }

    /// The program had `time` more, in seconds, between two slices, and counting numbers took `cost` of it, if they were
    /// counted. Whether that is affordable on.
    pub fn paused(&mut self, time: f64, cost: Option<f64>) -> bool {
        self.pass(time, cost.unwrap_or(0.0));
        if let Some(numbers) = cost {
            self.numbered = time.min(2.0 * SLICE.as_secs_f64());
            // It tells as well as a slice how dear the program is at present.
            self.slices = self.slices.map(|slices| {
                let times = if slices.numbers > 0.0 { slices.cost / slices.numbers } else { TIMES };
                slices.and(Stretch { time, cost: times * numbers, numbers }.as_a_slice(), self.memory)
            });
        }
        self.left > -DEBT * self.allowed * KEPT
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

    /// How many seconds of the program's time it lasts at this cost for each of them until no more than that is left; for
    /// ever where the cost is allowed.
    fn lasts(&self, cost: f64, until: f64) -> f64 {
        let more = cost - self.rate();
        if more > 0.0 { (self.left - until).max(0.0) / more } else { f64::INFINITY }
    }

    /// What a second earns now.
    fn rate(&self) -> f64 {
        if self.time < PAID_BACK { self.allowed / 2.0 } else { self.allowed }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What came of counting a program.
    struct Watched {
        /// What counting took of it, as a share.
        share: f64,
        /// The mean of what its gaps without any counting would cost by the slices beside them.
        estimated: f64,
        /// For which part of its time it was not counted at all.
        uncounted: f64,
    }

    /// Counts a program of which each second costs as much as is said, and by numbers a third of that, for the
    /// seconds that it runs.
    fn watched(seconds: f64, cost: impl Fn(f64) -> f64) -> Watched {
        let slice = SLICE.as_secs_f64();
        let step = 1e-3;
        let mut budget = Budget::new(0.015);
        let (mut time, mut spent, mut random) = (0.0, 0.0, 0x9e37_79b9_7f4a_7c15u64);
        let (mut last, mut gap, mut estimated, mut gaps, mut uncounted) = (None, 0.0, 0.0, 0.0, 0.0);
        let mut is_unknown = false;
        let of = |from: f64, seconds: f64| -> f64 {
            (0..(seconds / step) as u32).map(|at| cost(from + f64::from(at) * step) * step).sum()
        };
        while time < seconds {
            let of_slice = of(time, slice);
            (time, spent) = (time + slice, spent + of_slice);
            if let Some(last) = last.filter(|_| is_unknown) {
                estimated += gap * (last + of_slice / slice) / 2.0;
                gaps += gap;
            }
            last = Some(of_slice / slice);
            gap = 0.0;
            let next = budget.counted(Stretch { time: slice, cost: of_slice, numbers: of_slice / 3.0 });
            let Next::Pause { seconds: pause, what } = next else { continue };
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            gap = (pause * (0.5 + (random >> 11) as f64 / (1u64 << 53) as f64)).clamp(0.05, 2.0);
            is_unknown = what != Pause::Numbered;
            let mut numbered = gap;
            if let Pause::Unknown { between } = what {
                gap *= f64::from(1 + between);
                numbered = slice * f64::from(1 + between);
            }
            let mut left = gap;
            while left > 0.0 {
                let part = left.min(if numbered > 0.0 { numbered.min(0.1) } else { left });
                let cost = (numbered > 0.0).then(|| of(time, part) / 3.0);
                uncounted += if numbered > 0.0 { 0.0 } else { part };
                numbered = if budget.paused(part, cost) { numbered - part } else { 0.0 };
                (time, spent, left) = (time + part, spent + cost.unwrap_or(0.0), left - part);
            }
        }
        Watched {
            share: spent / time,
            estimated: if gaps > 0.0 { estimated / gaps } else { 0.0 },
            uncounted: uncounted / time,
        }
    }

    #[test]
    fn programs_of_some_seconds_pay_what_is_allowed() {
        for cost in [0.012, 0.0225, 0.025, 0.04, 0.07, 0.3, 0.68] {
            for (seconds, most) in [(2.0, 0.03), (4.0, 0.02), (60.0, 0.0165)] {
                let share = watched(seconds, |_| cost).share;
                assert!((0.01..most).contains(&share), "{seconds} s, {cost}: {share}");
            }
        }
    }

    #[test]
    fn calls_of_a_program_that_makes_few_are_all_counted_by_their_numbers() {
        for (cost, seconds, most) in [(0.02, 60.0, 0.0), (0.06, 0.8, 0.0), (0.035, 60.0, 0.01)] {
            let uncounted = watched(seconds, |_| cost).uncounted;
            assert!(uncounted <= most, "{cost}: {uncounted}");
        }
        let uncounted = watched(60.0, |_| 0.68).uncounted;
        assert!(uncounted > 0.9, "{uncounted}");
    }

    /// Slices that ended in dear moments, and longer pauses after these, had made a program's calls twice as many as they were.
    #[test]
    fn slices_of_a_program_with_short_phases_are_like_all_of_it() {
        let phases = |time: f64| if time.rem_euclid(0.09) < 0.03 { 0.68 } else { 0.0 };
        let Watched { share, estimated, .. } = watched(4000.0, phases);
        assert!((0.012..0.018).contains(&share), "{share}");
        assert!((estimated / (0.68 / 3.0) - 1.0).abs() < 0.05, "{estimated}");
    }

    /// Each calm phase was, and each dear one then cost what slices of all of it need.
    #[test]
    fn a_program_with_long_phases_is_not_counted_whole_again_and_again() {
        for period in [0.5, 1.0, 2.0, 4.0] {
            let mut budget = Budget::new(0.015);
            let (mut time, mut begins, mut was_calm) = (0.0f64, 0, false);
            while time < 100.0 {
                let cost = if time.rem_euclid(period) < period / 3.0 { 0.68 } else { 0.001 };
                let next = budget.counted(stretch(0.01, 0.01 * cost));
                let is_calm = matches!(next, Next::GoOn(_)) && time > 1.0;
                begins += u32::from(is_calm && !was_calm);
                was_calm = is_calm;
                time += 0.01;
                if let Next::Pause { seconds, .. } = next {
                    let pause = seconds.clamp(0.05, 2.0);
                    budget.paused(pause, None);
                    time += pause;
                }
            }
            assert!(begins <= 4, "{period}: {begins}");
        }
    }

    fn stretch(time: f64, cost: f64) -> Stretch {
        Stretch { time, cost, numbers: cost / 3.0 }
    }

    #[test]
    fn short_programs_are_counted_whole_and_cheap_ones_for_ever() {
        let mut budget = Budget::new(0.015);
        assert!(matches!(budget.counted(stretch(0.02, 0.003)), Next::GoOn(lasts) if lasts > 0.08));
        assert_eq!(Budget::new(0.015).counted(stretch(1.0, 0.007)), Next::GoOn(f64::INFINITY));
    }

    #[test]
    fn what_was_not_spent_for_an_hour_is_not_kept() {
        let mut budget = Budget::new(0.015);
        budget.paused(3600.0, None);
        assert!(matches!(budget.counted(stretch(0.1, 0.07)), Next::Pause { .. }));
    }

    #[test]
    fn a_program_that_makes_few_calls_again_is_counted_whole_again() {
        let mut budget = Budget::new(0.015);
        assert!(matches!(budget.counted(stretch(0.1, 0.07)), Next::Pause { .. }));
        budget.paused(30.0, None);
        let next = (0..40).map(|_| budget.counted(stretch(0.02, 0.0))).last();
        assert!(matches!(next, Some(Next::GoOn(_))), "{next:?}");
    }

    #[test]
    fn no_pause_is_shorter_than_none_however_dear_numbers_are() {
        for share in (1..300).map(|share| f64::from(share) * 1e-4) {
            for part in [0.1, 0.5, 0.9, 1.0] {
                let mut budget = Budget::new(0.015);
                for turn in 0..300 {
                    // It is spent by the first slices, and there is much left again later.
                    let share = if turn < 3 { 0.9 } else { share };
                    let (cost, numbers) = (0.01 * share, 0.01 * share * part);
                    let next = budget.counted(Stretch { time: 0.01, cost, numbers });
                    if let Next::Pause { seconds, .. } = next {
                        assert!(seconds >= 0.0 && seconds.is_finite(), "{share}, {part}: {next:?}");
                        budget.paused(0.3, None);
                    }
                }
            }
        }
    }

    #[test]
    fn a_program_that_begins_to_make_many_calls_is_not_counted_by_their_numbers_for_long() {
        let mut budget = Budget::new(0.015);
        while matches!(budget.counted(stretch(0.02, 0.02 * 0.03)), Next::GoOn(_)) {}
        let looks = (0..100).take_while(|_| budget.paused(0.1, Some(0.1 * 0.25))).count();
        assert!(looks < 3, "{looks}");
    }
}
