//! Estimates of a series, with intervals that hold although tails are heavy and neighbours may resemble each other.
//!
//! Sums over blocks of neighbours are resampled and studentised (`tollway_stats::studentised`), on logarithms, so that
//! no interval reaches below zero. A series whose neighbours depend on each other is cut into 50 long blocks, else into
//! 1000 short ones. `coverage.rs` counts how often the intervals hold the truth.

use serde::Serialize;
use tollway_stats::bootstrap::Resampling;
use tollway_stats::{Interval, Location, StatsError, studentised, summary};

use crate::{Distribution, Unit};

/// Share of intervals that hold the true value.
pub(super) const CONFIDENCE: f64 = 0.95;

/// Resamples of one interval.
const RESAMPLES: usize = 1999;

/// An interval whose upper end is so many times its lower one tells nothing.
const WIDEST: f64 = 100.0;

/// A cv² below this is next to none.
const NO_VARIATION: f64 = 1e-6;

/// Blocks of a series whose neighbours are independent, and of one whose are not.
const BLOCKS: [usize; 2] = [1000, 50];

/// A figure of a trace, with its 95 % interval.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Estimate {
    /// Its flat name: `service.scv`.
    pub name: String,
    /// The figure, in `unit`.
    pub value: f64,
    /// Lower end; `None` where too little was seen to tell.
    pub lo: Option<f64>,
    /// Upper end; `None` where too little was seen to tell.
    pub hi: Option<f64>,
    /// The unit of all three.
    pub unit: Unit,
}

impl Estimate {
    pub(super) fn of(name: impl Into<String>, interval: Interval, unit: Unit) -> Self {
        let Interval { estimate, lo, hi, .. } = interval;
        Estimate { name: name.into(), value: estimate, lo: Some(lo), hi: Some(hi), unit }
    }

    pub(super) fn alone(name: impl Into<String>, value: f64, unit: Unit) -> Self {
        Estimate { name: name.into(), value, lo: None, hi: None, unit }
    }

    pub(super) fn of_either(
        name: impl Into<String>,
        interval: Option<Interval>,
        value: f64,
        unit: Unit,
    ) -> Self {
        match interval {
            Some(interval) => Estimate::of(name, interval, unit),
            None => Estimate::alone(name, value, unit),
        }
    }
}

/// Mean and squared coefficient of variation of a series.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Moments {
    /// Mean, seconds.
    pub(super) mean: f64,
    /// Its interval.
    pub(super) mean_interval: Option<Interval>,
    /// Standard error of the mean's logarithm; 0 where all values are equal.
    pub(super) mean_error: f64,
    /// Squared coefficient of variation.
    pub(super) scv: f64,
    /// Its interval; `None` where too little was seen to tell, or one value makes it.
    pub(super) scv_interval: Option<Interval>,
    /// Standard error of its logarithm.
    pub(super) scv_error: Option<f64>,
}

impl Moments {
    /// The same where values, `range` apart and each known to `resolution`, can be readings of one constant.
    pub(super) fn of_a_constant(self, range: f64, resolution: f64) -> Moments {
        // No variance is above that of the two ends (Popoviciu).
        let most = ((0.5 * range + resolution) / self.mean).powi(2);
        let most = if most < NO_VARIATION { 0.0 } else { most };
        let interval = Interval::new(0.0, 0.0, most, CONFIDENCE).ok();
        Moments { scv: 0.0, scv_interval: interval, scv_error: None, ..self }
    }

    /// The same where `values` were read by a clock of this unit: the interval of cv² has room for what rounding may have
    /// added or taken away. Rounding moves both readings by uniform errors, which have a standard deviation of the unit over
    /// √12 each, and deviations add up to their sum at the most.
    pub(super) fn read_by_a_clock(self, unit: f64, values: usize) -> Moments {
        let rounding = unit / 3.0_f64.sqrt() / self.mean;
        if rounding.powi(2) < NO_VARIATION || self.scv <= 0.0 {
            return self;
        }
        let widened = self.scv_interval.and_then(|i| {
            let lo = (i.lo.sqrt() - rounding).max(0.0).powi(2);
            let hi = (i.hi.sqrt() + rounding).powi(2);
            Interval::new(i.estimate, lo, hi, i.confidence).ok().filter(|i| i.hi <= values as f64)
        });
        let error = self.scv_error.map(|error| error.hypot(2.0 * rounding / self.scv.sqrt()));
        Moments { scv_interval: widened, scv_error: error, ..self }
    }
}

impl Moments {
    /// A gamma distribution with this mean and cv², or a constant where there is next to no variation.
    pub(super) fn distribution(&self) -> Distribution {
        match self.scv {
            scv if scv < 1e-4 => Distribution::Constant { value: self.mean },
            scv => Distribution::Gamma { shape: (1.0 / scv).max(0.01), mean: self.mean },
        }
    }
}

/// The moments of values in their order; `None` where their mean is not above zero.
pub(super) fn moments(values: &[f64], dependent: bool, seed: u64) -> Option<Moments> {
    let mean = summary::mean(values).ok().filter(|mean| *mean > 0.0)?;
    let squares: f64 = values.iter().map(|x| (x / mean - 1.0).powi(2)).sum();
    let scv = squares / (values.len().max(2) - 1) as f64;
    let blocks = blocks(values.len(), dependent, |range| {
        values[range].iter().fold([0.0; 3], |[n, sum, squares], x| {
            let d = x / mean - 1.0;
            [n + 1.0, sum + d, squares + d * d]
        })
    });
    let how = Resampling { resamples: RESAMPLES, confidence: CONFIDENCE, seed };
    let (mean_interval, mean_error) = match studentised(&blocks, log_mean, how) {
        Ok((interval, error)) => (scaled(interval, mean), error),
        Err(StatsError::NoSpread) => (Interval::new(mean, mean, mean, CONFIDENCE).ok(), 0.0),
        Err(_) => of_few(values, mean),
    };
    let (scv_interval, scv_error) = match studentised(&blocks, log_scv, how) {
        // From the variance with n in the denominator to the one with n − 1.
        Ok((interval, error)) => {
            // No sample has a cv² above its size: where the interval has, one value decides, and there is no telling.
            let interval = scaled(interval, scv / interval.estimate.exp());
            (interval.filter(|i| i.hi <= values.len() as f64), Some(error))
        }
        Err(_) if scv == 0.0 => (Interval::new(0.0, 0.0, 0.0, CONFIDENCE).ok(), None),
        Err(_) => (None, None),
    };
    Some(Moments { mean, mean_interval, mean_error, scv, scv_interval, scv_error })
}

/// A ratio of two sums over pairs, such as busy time over time.
pub(super) fn ratio(above: &[f64], below: &[f64], dependent: bool, seed: u64) -> Option<Interval> {
    let n = above.len().min(below.len());
    let blocks = blocks(n, dependent, |range| {
        [above[range.clone()].iter().sum::<f64>(), below[range].iter().sum::<f64>()]
    });
    let how = Resampling { resamples: RESAMPLES, confidence: CONFIDENCE, seed };
    let log_ratio = |sums: &[f64; 2]| ((sums[0] / sums[1]).ln(), [1.0 / sums[0], -1.0 / sums[1]]);
    studentised(&blocks, log_ratio, how).ok().and_then(|(interval, _)| scaled(interval, 1.0))
}

fn blocks<const K: usize>(
    values: usize,
    dependent: bool,
    sums: impl Fn(std::ops::Range<usize>) -> [f64; K],
) -> Vec<[f64; K]> {
    let count = BLOCKS[usize::from(dependent)].min(values);
    (0..count).map(|i| sums(i * values / count..(i + 1) * values / count)).collect()
}

/// ln of 1 + the mean deviation, of sums of (count, deviations, their squares).
fn log_mean([n, sum, _]: &[f64; 3]) -> (f64, [f64; 3]) {
    let whole = n + sum;
    ((whole / n).ln(), [1.0 / whole - 1.0 / n, 1.0 / whole, 0.0])
}

/// ln of the variance over the square of the mean, of the same sums.
fn log_scv([n, sum, squares]: &[f64; 3]) -> (f64, [f64; 3]) {
    let variance = squares / n - (sum / n).powi(2);
    let whole = n + sum;
    let by_count = (-squares / (n * n) + 2.0 * sum * sum / (n * n * n)) / variance;
    let slopes = [
        by_count - 2.0 * (1.0 / whole - 1.0 / n),
        -2.0 * sum / (n * n) / variance - 2.0 / whole,
        1.0 / n / variance,
    ];
    (variance.ln() - 2.0 * (whole / n).ln(), slopes)
}

/// From logarithms to the thing itself, times a factor; `None` where that says nothing: one value decides, such as the gap
/// of a pause, and the interval reaches over powers of ten.
fn scaled(logarithm: Interval, factor: f64) -> Option<Interval> {
    if logarithm.hi - logarithm.lo > WIDEST.ln() {
        return None;
    }
    let [estimate, lo, hi] = [logarithm.estimate, logarithm.lo, logarithm.hi].map(|x| x.exp() * factor);
    Interval::new(estimate, lo, hi, logarithm.confidence).ok()
}

/// Student's t where there are too few values for anything else.
fn of_few(values: &[f64], mean: f64) -> (Option<Interval>, f64) {
    let location = Location::student(values).ok();
    let error = location.map_or(f64::INFINITY, |l| l.standard_error / mean);
    let interval = location.and_then(|l| l.interval(CONFIDENCE).ok());
    (interval.and_then(|i| Interval::new(i.estimate, i.lo.max(0.0), i.hi, CONFIDENCE).ok()), error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_those_of_the_textbook_and_lie_in_their_intervals() {
        let values: Vec<f64> = (1..=100).map(|i| f64::from(i * i)).collect();
        let found = moments(&values, false, 1).unwrap();
        assert_eq!(found.mean, 3383.5);
        let textbook = summary::variance(&values).unwrap() / 3383.5_f64.powi(2);
        assert!((found.scv / textbook - 1.0).abs() < 1e-12);
        let (mean, scv) = (found.mean_interval.unwrap(), found.scv_interval.unwrap());
        assert!((mean.estimate / found.mean - 1.0).abs() < 1e-12);
        assert!((scv.estimate / found.scv - 1.0).abs() < 1e-12);
        assert!(mean.lo < found.mean && found.mean < mean.hi && scv.lo < found.scv && found.scv < scv.hi);
    }

    #[test]
    fn equal_values_have_no_width_and_few_have_students_t() {
        let equal = moments(&[3.0; 50], false, 1).unwrap();
        assert_eq!((equal.scv, equal.mean_error), (0.0, 0.0));
        assert_eq!(equal.mean_interval.map(|i| (i.lo, i.hi)), Some((3.0, 3.0)));
        let few = moments(&[1.0, 3.0], false, 1).unwrap();
        assert!(few.mean_interval.is_some_and(|i| i.lo == 0.0 && i.hi > 10.0) && few.scv_interval.is_none());
        assert_eq!(moments(&[0.0, 0.0], false, 1), None);
        assert_eq!(moments(&[], false, 1), None);
    }
}
