//! Two sides in turns, as many as it takes to say whether they are the same: when to stop, and what to say then.
//!
//! What stops the turns is how wide the interval of the ratio is, never where it lies: a rule that looks at the estimate would stop where
//! chance favours it. The price is small: an interval that is worked out anew after each turn holds the truth slightly less often than it
//! says, and the loss vanishes as intervals get narrow (Y. S. Chow and H. Robbins, "On the Asymptotic Theory of Fixed-Width Sequential
//! Confidence Intervals for the Mean", Annals of Mathematical Statistics 36, 1965, pages 457 to 462). Here it makes one wrong "same" in
//! twenty of what would be one in forty with a fixed number of turns (`tests/statistics/sequential.rs` simulates it).

use serde::{Deserialize, Serialize};

use crate::equivalence::check_margin;
use crate::{Ratio, StatsError};

/// The interval is narrow enough when half its width is so large a part of the margin: then two sides that differ by a third of the margin or
/// less come out as the same, and two that differ by five thirds or more as different.
const PART: f64 = 1.0 / 3.0;

/// Confidence of the interval. Each of the two tests for the same has half of what is left, so that the verdict is what the interval shows.
const CONFIDENCE: f64 = 0.95;

/// Turns until two sides are known to be the same within a margin, or not to be.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct UntilKnown {
    margin: f64,
    fewest: usize,
}

/// What the turns have shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The ratio lies within the margin.
    Same,
    /// It lies beyond it.
    Different,
    /// Neither could be shown: the turns ended too early, or the ratio is about as far from one as the margin.
    NotSeparable,
}

impl UntilKnown {
    /// Blocks before which nothing is enough: of fewer, intervals are too uncertain themselves.
    pub const FEWEST: usize = 8;

    /// Ratios between `1 / (1 + margin)` and `1 + margin` are the same; `margin` is a share.
    ///
    /// # Errors
    /// Unless the margin is finite and greater than zero.
    pub fn within(margin: f64) -> Result<Self, StatsError> {
        Ok(UntilKnown { margin: check_margin(margin)?, fewest: Self::FEWEST })
    }

    /// With so many blocks at least, where that is more.
    #[must_use]
    pub fn of_at_least(self, blocks: usize) -> Self {
        UntilKnown { fewest: self.fewest.max(blocks), ..self }
    }

    /// Whether what was measured is enough. It does not depend on where the ratio lies.
    ///
    /// # Errors
    /// On overflow.
    pub fn is_enough(&self, ratio: &Ratio) -> Result<bool, StatsError> {
        if ratio.log.units < self.fewest {
            return Ok(false);
        }
        let log = ratio.log.interval(CONFIDENCE)?;
        Ok(0.5 * (log.hi - log.lo) <= PART * self.margin.ln_1p())
    }

    /// What it shows, enough or not: by two one-sided tests for the same, by one for what is different.
    ///
    /// # Errors
    /// On overflow.
    pub fn outcome(&self, ratio: &Ratio) -> Result<Outcome, StatsError> {
        let side = 0.5 * (1.0 - CONFIDENCE);
        let edge = self.margin.ln_1p();
        if ratio.equivalence(self.margin)?.p <= side {
            Ok(Outcome::Same)
        } else if ratio.log.p_greater(edge).min(ratio.log.p_less(-edge)) <= side {
            Ok(Outcome::Different)
        } else {
            Ok(Outcome::NotSeparable)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Location, Pairing};

    fn ratio(estimate: f64, standard_error: f64, units: usize) -> Ratio {
        let log = Location { estimate: estimate.ln(), standard_error, degrees_of_freedom: 30.0, units };
        Ratio { log, pairing: Pairing::Paired }
    }

    #[test]
    fn what_is_enough_depends_on_width_and_number_alone() {
        let rule = UntilKnown::within(0.03).unwrap();
        for estimate in [0.5, 0.97, 1.0, 1.02, 1.03, 3.0] {
            // Half a width of 2.04 standard errors, held against a third of ln 1.03.
            assert!(rule.is_enough(&ratio(estimate, 0.0048, 8)).unwrap(), "{estimate}");
            assert!(!rule.is_enough(&ratio(estimate, 0.0049, 8)).unwrap(), "{estimate}");
            assert!(!rule.is_enough(&ratio(estimate, 0.0048, 7)).unwrap(), "{estimate}");
            assert!(!rule.of_at_least(12).is_enough(&ratio(estimate, 0.0048, 11)).unwrap(), "{estimate}");
        }
        assert_eq!(rule.of_at_least(3), rule);
    }

    #[test]
    fn the_outcome_is_what_the_interval_shows() {
        let rule = UntilKnown::within(0.03).unwrap();
        for (estimate, standard_error) in [
            (1.0, 0.004),
            (1.01, 0.0094),
            (1.01, 0.0097),
            (1.05, 0.004),
            (0.95, 0.004),
            (0.97, 0.004),
            (1.0, 0.02),
        ] {
            let ratio = ratio(estimate, standard_error, 20);
            let shown = ratio.interval(CONFIDENCE).unwrap();
            let expected = if shown.lo >= 1.0 / 1.03 && shown.hi <= 1.03 {
                Outcome::Same
            } else if shown.lo > 1.03 || shown.hi < 1.0 / 1.03 {
                Outcome::Different
            } else {
                Outcome::NotSeparable
            };
            assert_eq!(rule.outcome(&ratio), Ok(expected), "{estimate} ± {standard_error}");
        }
    }

    #[test]
    fn a_margin_of_nothing_is_refused() {
        for margin in [0.0, -0.1, f64::NAN, f64::INFINITY] {
            assert!(UntilKnown::within(margin).is_err(), "{margin}");
        }
    }
}
