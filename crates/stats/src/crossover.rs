//! From which step of a ladder on one of two quantities is the smaller.
//!
//! Each step has the ratio of the two with its interval. The first step at which the ratio is below 1 is the estimate; it lies no earlier
//! than the first step at which the interval reaches below 1, and no later than the first at which all of it does. So the interval is
//! that of the steps, and as honest as theirs: a step at which the two cannot be told apart may be the one.
//!
//! It looks for the first step, not for the last: a ratio that rises above 1 again further on is another question.

use crate::{Interval, StatsError};

/// The first step of a ladder at which a ratio is below 1, counted from 0; the number of steps where it is at none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FirstBelow {
    /// By the estimates.
    pub estimate: usize,
    /// The first at which the interval reaches below 1.
    pub lo: usize,
    /// The first at which all of the interval is below 1.
    pub hi: usize,
}

/// Finds the first step at which a ratio is below 1.
///
/// # Errors
/// Without a step.
pub fn first_below(ratios: &[Interval]) -> Result<FirstBelow, StatsError> {
    if ratios.is_empty() {
        return Err(StatsError::TooFew { what: "steps", needed: 1, got: 0 });
    }
    let first = |of: fn(&Interval) -> f64| ratios.iter().position(|r| of(r) < 1.0).unwrap_or(ratios.len());
    let (estimate, lo, hi) = (first(|r| r.estimate), first(|r| r.lo), first(|r| r.hi));
    // An estimate may lie outside its own interval; the step found by it is then an end.
    Ok(FirstBelow { estimate, lo: lo.min(estimate), hi: hi.max(estimate) })
}

impl FirstBelow {
    /// The same in the unit of the ladder, whose steps are positive and grow: a figure beyond the last step is the step that would follow by
    /// the last ratio, and says no more than that no step of the ladder is enough. The confidence is that of the steps' intervals.
    ///
    /// # Errors
    /// When the ladder has another length than it was found on or does not grow; when the confidence is outside `(0, 1)`.
    pub fn on(&self, ladder: &[f64], confidence: f64) -> Result<Interval, StatsError> {
        if ladder.len() < self.hi.max(1) {
            return Err(StatsError::TooFew { what: "steps", needed: self.hi, got: ladder.len() });
        }
        let at = |step: usize| ladder.get(step).copied().unwrap_or_else(|| beyond(ladder));
        let grows = ladder[0] > 0.0 && ladder.windows(2).all(|pair| pair[0] < pair[1]);
        if !grows {
            return Err(StatsError::OutOfRange {
                name: "ladder",
                value: ladder[0],
                range: "positive, each step above the one before it",
            });
        }
        Interval::new(at(self.estimate), at(self.lo), at(self.hi), confidence)
    }
}

/// The step that would follow the last: as many times as large as that is to the one before it; twice where there is but one.
fn beyond(ladder: &[f64]) -> f64 {
    match ladder {
        [.., before, last] => last * last / before,
        [only] => 2.0 * only,
        [] => f64::NAN,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ratios(all: &[(f64, f64, f64)]) -> Vec<Interval> {
        all.iter().map(|(lo, estimate, hi)| Interval::new(*estimate, *lo, *hi, 0.95).unwrap()).collect()
    }

    const LADDER: [f64; 5] = [1.0, 2.0, 4.0, 8.0, 16.0];

    #[test]
    fn the_interval_is_from_where_it_may_be_to_where_it_must_be() {
        // The study's: 10550, 6000, 3450, 2550, 1950 against 8050, known to a tenth.
        let of = [10550.0, 6000.0, 3450.0, 2550.0, 1950.0].map(|c| c / 8050.0);
        let known = ratios(&of.map(|r| (0.9 * r, r, 1.1 * r)));
        let found = first_below(&known).unwrap();
        assert_eq!(found, FirstBelow { estimate: 1, lo: 1, hi: 1 });
        assert_eq!(found.on(&LADDER, 0.95).unwrap(), Interval::new(2.0, 2.0, 2.0, 0.95).unwrap());
        let hardly = ratios(&of.map(|r| (0.6 * r, r, 1.4 * r)));
        let found = first_below(&hardly).unwrap();
        assert_eq!(found, FirstBelow { estimate: 1, lo: 0, hi: 2 });
        assert_eq!(found.on(&LADDER, 0.95).unwrap(), Interval::new(2.0, 1.0, 4.0, 0.95).unwrap());
    }

    #[test]
    fn what_never_falls_below_is_beyond_the_ladder() {
        let never = ratios(&[(1.1, 1.2, 1.3); 5]);
        let found = first_below(&never).unwrap();
        assert_eq!(found, FirstBelow { estimate: 5, lo: 5, hi: 5 });
        assert_eq!(found.on(&LADDER, 0.95).unwrap().estimate, 32.0);
        let perhaps = ratios(&[(1.1, 1.2, 1.3), (0.9, 0.99, 1.1)]);
        let found = first_below(&perhaps).unwrap();
        assert_eq!(found, FirstBelow { estimate: 1, lo: 1, hi: 2 });
        let on = found.on(&[30.0, 90.0], 0.95).unwrap();
        assert_eq!((on.lo, on.estimate, on.hi), (90.0, 90.0, 270.0));
        assert_eq!(first_below(&never[..1]).unwrap().on(&[3.0], 0.95).unwrap().hi, 6.0);
    }

    #[test]
    fn the_first_step_counts_whatever_follows() {
        let again = ratios(&[(0.8, 0.9, 0.95), (1.1, 1.2, 1.3)]);
        assert_eq!(first_below(&again).unwrap(), FirstBelow { estimate: 0, lo: 0, hi: 0 });
        // An estimate outside its interval, as a bootstrap has it, still lies between the ends.
        let odd = Interval { estimate: 0.9, lo: 1.0, hi: 1.1, confidence: 0.95 };
        assert_eq!(first_below(&[odd]).unwrap(), FirstBelow { estimate: 0, lo: 0, hi: 1 });
    }

    #[test]
    fn ladders_that_are_none_are_refused() {
        let ratios = ratios(&[(1.1, 1.2, 1.3), (0.7, 0.8, 0.9)]);
        let found = first_below(&ratios).unwrap();
        assert!(first_below(&[]).is_err());
        for ladder in [&[][..], &[0.0, 1.0], &[2.0, 1.0], &[1.0, 1.0], &[f64::NAN, 1.0]] {
            assert!(found.on(ladder, 0.95).is_err(), "{ladder:?}");
        }
        assert!(FirstBelow { estimate: 3, lo: 3, hi: 3 }.on(&[1.0, 2.0], 0.95).is_err());
    }
}
