//! Is the difference too small to matter? Two one-sided tests: the only way to a verdict "same".
//!
//! A large p-value of a difference proves nothing; it may be noise. Equivalence within a margin is a claim of
//! its own, with its own p-value. Source: Schuirmann (1987), J. Pharmacokinetics and Biopharmaceutics 15:657.

use serde::{Deserialize, Serialize};

use crate::{Location, Ratio, StatsError};

/// The outcome of two one-sided tests.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Equivalence {
    /// p-value against "the true value lies outside the margins": the larger of the two one-sided ones.
    pub p: f64,
    /// Lower margin, in the unit of what was tested (for a ratio: on the ratio, such as 1/1.02).
    pub lower: f64,
    /// Upper margin, same unit.
    pub upper: f64,
}

/// Tests whether the true value lies between `lower` and `upper`, both in the unit of the location.
///
/// # Errors
/// Unless both margins are finite and `lower < upper`.
pub fn equivalence(location: &Location, lower: f64, upper: f64) -> Result<Equivalence, StatsError> {
    if !lower.is_finite() || !upper.is_finite() || lower >= upper {
        return Err(StatsError::OutOfRange { name: "lower", value: lower, range: "(-inf, upper)" });
    }
    Ok(Equivalence { p: location.p_greater(lower).max(location.p_less(upper)), lower, upper })
}

impl Ratio {
    /// Tests whether the ratio lies between `1 / (1 + margin)` and `1 + margin`: symmetric in a and b.
    ///
    /// # Errors
    /// Unless the margin (a share: 0.02 is 2 %) is finite and greater than zero.
    pub fn equivalence(&self, margin: f64) -> Result<Equivalence, StatsError> {
        let upper = check_margin(margin)?.ln_1p();
        let p = equivalence(&self.log, -upper, upper)?.p;
        Ok(Equivalence { p, lower: 1.0 / (1.0 + margin), upper: 1.0 + margin })
    }
}

pub(crate) fn check_margin(margin: f64) -> Result<f64, StatsError> {
    if margin > 0.0 && margin.is_finite() && margin.ln_1p() > 0.0 {
        Ok(margin)
    } else {
        Err(StatsError::OutOfRange { name: "margin", value: margin, range: "(0, inf)" })
    }
}
