//! Where the centre of a few independent units lies, with a standard error and degrees of freedom: the common
//! ground of every paired comparison, equivalence test and batch-means interval.
//!
//! Two ways to make one: [`Location::student`] (mean) and [`Location::trimmed`] (20 % trimmed mean). The
//! trimmed one is for units that may be contaminated, such as log ratios measured on a machine with
//! neighbours.

use serde::{Deserialize, Serialize};

use crate::sample::{check, finite, open_unit, sorted};
use crate::student::{t_two_sided, t_upper_tail};
use crate::summary::{mean, variance};
use crate::{Interval, StatsError};

/// One unit in this many is trimmed from each end.
const TRIM_ONE_IN: usize = 5;

/// With this many units or fewer nothing is trimmed: too few would be left to judge their spread by.
const UNTRIMMED_UP_TO: usize = 5;

/// `(scale, degrees of freedom)` of the trimmed t for 6, 7, ... 30 units, from
/// `tests/calibration/trimmed_t.py`.
#[rustfmt::skip]
const CALIBRATION: [(f64, f64); 25] = [
    (1.095, 2.82), (1.049, 3.68), (1.032, 4.61), (1.017, 5.49),                 //  6 to  9 units, 1 trimmed
    (1.052, 4.40), (1.039, 5.34), (1.024, 6.10), (1.020, 7.07), (1.013, 7.95),  // 10 to 14 units, 2 trimmed
    (1.030, 6.92), (1.020, 7.70), (1.016, 8.48), (1.011, 9.37), (1.007, 10.20), // 15 to 19 units, 3 trimmed
    (1.022, 9.49), (1.012, 10.09), (1.009, 10.90), (1.009, 11.95), (1.009, 12.98),
    (1.015, 11.90), (1.011, 12.62), (1.010, 13.50), (1.009, 14.51), (1.005, 15.02),
    (1.014, 14.41),
];

/// Beyond the table: the scale, and the share of the conventional degrees of freedom, both on the careful
/// side.
const BEYOND: (f64, f64) = (1.013, 0.85);

/// A centre with what is needed to test it: `(estimate − true value) / standard_error` follows Student's t.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Location {
    /// The centre, in the unit of the values.
    pub estimate: f64,
    /// Its standard error, same unit. Zero only when all units are equal.
    pub standard_error: f64,
    /// Degrees of freedom of Student's t, greater than zero, not always whole.
    pub degrees_of_freedom: f64,
    /// Independent units behind it (the smaller side, in a comparison of two samples).
    pub units: usize,
}

impl Location {
    /// The mean and its textbook t: `s / √n` with `n − 1` degrees of freedom.
    ///
    /// # Errors
    /// On fewer than two values, on a non-finite value and on overflow.
    pub fn student(values: &[f64]) -> Result<Self, StatsError> {
        let n = values.len();
        let standard_error = (variance(values)? / n as f64).sqrt();
        Ok(Self { estimate: mean(values)?, standard_error, degrees_of_freedom: (n - 1) as f64, units: n })
    }

    /// The 20 % trimmed mean and its calibrated t. Up to five values nothing is trimmed: the same as
    /// [`student`](Self::student).
    ///
    /// The standard error is that of Tukey and McLaughlin (1963), Sankhyā A 25:331: `s_w / ((1 − 2k/n) √n)`,
    /// with `s_w` the standard deviation of the winsorised sample and `k = ⌊n/5⌋` (Wilcox 2017, "Introduction
    /// to Robust Estimation", section 4.3; the two-sample form is Yuen 1974, Biometrika 61:165). With the
    /// customary `n − 2k − 1` degrees of freedom that test is liberal: its level on normal data is 6 to 7 %
    /// instead of 5 % for 6 to 20 units. So the standard error carries a factor, and the degrees of freedom
    /// are those, that make the level exact on normal data at 5 % and at 0.2 %
    /// (`tests/calibration/trimmed_t.py`; the idea is that of Patel, Mudholkar and Fernando 1988, JASA
    /// 83:1203). On heavier tails the level is lower still.
    ///
    /// # Errors
    /// As [`student`](Self::student).
    pub fn trimmed(values: &[f64]) -> Result<Self, StatsError> {
        let n = values.len();
        let plain = Self::student(values)?;
        if n <= UNTRIMMED_UP_TO {
            return Ok(plain);
        }
        let mut ascending = sorted(values, 2)?;
        let cut = n / TRIM_ONE_IN;
        let kept = n - 2 * cut;
        let estimate = mean(&ascending[cut..n - cut])?;
        let (lowest, highest) = (ascending[cut], ascending[n - cut - 1]);
        ascending[..cut].fill(lowest);
        ascending[n - cut..].fill(highest);
        let winsorised = variance(&ascending)?.sqrt();
        if winsorised == 0.0 {
            // The middle is constant although the whole may not be: its spread then says nothing, that of all
            // does.
            return Ok(Self { estimate, ..plain });
        }
        let (scale, degrees_of_freedom) = match CALIBRATION.get(n - UNTRIMMED_UP_TO - 1) {
            Some(&row) => row,
            None => (BEYOND.0, BEYOND.1 * (kept - 1) as f64),
        };
        let standard_error = finite(scale * winsorised * (n as f64).sqrt() / kept as f64)?;
        Ok(Self { estimate, standard_error, degrees_of_freedom, units: n })
    }

    /// The two-sided t interval. It has no width if all units were equal (a quantised clock): the resolution
    /// of the instrument is then the error, and only the caller knows it.
    ///
    /// # Errors
    /// On a confidence outside `(0, 1)` and on overflow.
    pub fn interval(&self, confidence: f64) -> Result<Interval, StatsError> {
        open_unit("confidence", confidence)?;
        let reach = if self.standard_error == 0.0 {
            0.0
        } else {
            t_two_sided(confidence, self.degrees_of_freedom) * self.standard_error
        };
        Interval::new(self.estimate, self.estimate - reach, self.estimate + reach, confidence)
    }

    /// p-value against "the true value is at most `null`".
    ///
    /// Without spread there is no t; then the sign test decides: `n` equal units on one side have p = 2⁻ⁿ.
    pub fn p_greater(&self, null: f64) -> f64 {
        let distance = self.estimate - null;
        if self.standard_error > 0.0 {
            return t_upper_tail(distance / self.standard_error, self.degrees_of_freedom);
        }
        if distance > 0.0 { 0.5_f64.powi(self.units.min(1000) as i32) } else { 1.0 }
    }

    /// p-value against "the true value is at least `null`"; see [`p_greater`](Self::p_greater).
    pub fn p_less(&self, null: f64) -> f64 {
        Self { estimate: -self.estimate, ..*self }.p_greater(-null)
    }

    /// Two-sided p-value against "the true value is `null`".
    pub fn p_different(&self, null: f64) -> f64 {
        (2.0 * self.p_greater(null).min(self.p_less(null))).min(1.0)
    }
}

/// Interval for the mean by Student's t; see [`Location::student`].
///
/// # Errors
/// On fewer than two values, a non-finite value, overflow and a confidence outside `(0, 1)`.
pub fn t_interval(values: &[f64], confidence: f64) -> Result<Interval, StatsError> {
    check(values, 2)?;
    Location::student(values)?.interval(confidence)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trimmed_ignores_one_wild_unit_in_six() {
        let calm = Location::trimmed(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]).unwrap();
        let wild = Location::trimmed(&[1.0, 2.0, 3.0, 4.0, 5.0, 600.0]).unwrap();
        assert_eq!(calm, wild);
        assert_eq!(calm.estimate, 3.5);
    }

    #[test]
    fn equal_units_are_judged_by_their_signs() {
        let l = Location::trimmed(&[0.25; 6]).unwrap();
        assert_eq!(l.standard_error, 0.0);
        assert_eq!(l.p_different(0.0), 2.0 * 0.5_f64.powi(6));
        assert_eq!(l.p_different(0.25), 1.0);
    }

    #[test]
    fn a_constant_middle_does_not_make_certain() {
        let l = Location::trimmed(&[0.0, 1.0, 1.0, 1.0, 1.0, 2.0]).unwrap();
        assert!(l.standard_error > 0.0);
    }

    #[test]
    fn more_units_than_the_table_has() {
        let many: Vec<f64> = (0..100).map(f64::from).collect();
        let l = Location::trimmed(&many).unwrap();
        assert!(l.degrees_of_freedom < 59.0 && l.degrees_of_freedom > 40.0);
    }
}
