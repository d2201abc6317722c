//! An estimate with its error bar: the only form in which a measured figure leaves this crate.

use serde::{Deserialize, Serialize};

use crate::StatsError;
use crate::sample::open_unit;

/// An estimate and the interval that holds the true value with the stated confidence. All three share one
/// unit.
///
/// `lo <= hi` always; a percentile or BCa interval of a strongly biased statistic may leave its estimate
/// outside.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// The figure itself.
    pub estimate: f64,
    /// Lower end.
    pub lo: f64,
    /// Upper end.
    pub hi: f64,
    /// Share of such intervals that hold the true value, in `(0, 1)`.
    pub confidence: f64,
}

impl Interval {
    /// Puts an interval together.
    ///
    /// # Errors
    /// When a value is not finite, when `lo > hi`, or when the confidence is outside `(0, 1)`.
    pub fn new(estimate: f64, lo: f64, hi: f64, confidence: f64) -> Result<Self, StatsError> {
        open_unit("confidence", confidence)?;
        if ![estimate, lo, hi].iter().all(|v| v.is_finite()) {
            return Err(StatsError::Overflow);
        }
        if lo > hi {
            return Err(StatsError::OutOfRange { name: "lo", value: lo, range: "(-inf, hi]" });
        }
        Ok(Self { estimate, lo, hi, confidence })
    }

    /// Half the distance between the ends, in the unit of the estimate.
    pub fn half_width(&self) -> f64 {
        self.hi * 0.5 - self.lo * 0.5
    }

    /// [`half_width`](Self::half_width) as a share of the estimate's magnitude: the "± 3 %" of a report.
    /// `None` when the estimate is zero or the quotient overflows.
    pub fn relative_half_width(&self) -> Option<f64> {
        let share = self.half_width() / self.estimate.abs();
        share.is_finite().then_some(share)
    }

    /// Whether `value` lies between the ends, these included.
    pub fn contains(&self, value: f64) -> bool {
        self.lo <= value && value <= self.hi
    }

    /// Whether the two intervals share a point. Not a test: intervals that overlap may still differ
    /// significantly.
    pub fn overlaps(&self, other: &Self) -> bool {
        self.lo <= other.hi && other.lo <= self.hi
    }

    /// The same interval in another unit: all three numbers times `factor` (ends swapped if it is negative).
    ///
    /// # Errors
    /// When a product is not finite.
    pub fn scaled(&self, factor: f64) -> Result<Self, StatsError> {
        let (a, b) = (self.lo * factor, self.hi * factor);
        Self::new(self.estimate * factor, a.min(b), a.max(b), self.confidence)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn widths_and_membership() {
        let i = Interval::new(10.0, 9.0, 12.0, 0.95).unwrap();
        assert_eq!(i.half_width(), 1.5);
        assert_eq!(i.relative_half_width(), Some(0.15));
        assert!(i.contains(9.0) && i.contains(12.0) && !i.contains(12.1));
        assert!(i.overlaps(&Interval::new(13.0, 12.0, 14.0, 0.95).unwrap()));
        let negative = i.scaled(-2.0).unwrap();
        assert_eq!((negative.lo, negative.estimate, negative.hi), (-24.0, -20.0, -18.0));
        assert_eq!(Interval::new(0.0, -1.0, 1.0, 0.9).unwrap().relative_half_width(), None);
    }

    #[test]
    fn an_interval_cannot_be_wrong_way_round() {
        assert!(Interval::new(1.0, 2.0, 0.0, 0.95).is_err());
        assert!(Interval::new(1.0, 0.0, 2.0, 1.0).is_err());
        assert!(Interval::new(f64::NAN, 0.0, 2.0, 0.95).is_err());
    }
}
