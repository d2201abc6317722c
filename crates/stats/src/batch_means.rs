//! Intervals for the mean of a correlated series, such as the waiting times of a queue.
//!
//! Neighbours in such a series resemble each other; an independent bootstrap or a plain t interval over its
//! values is far too narrow. Means of long enough batches are nearly independent, and the t interval over
//! those is honest. Source: Law (2015), "Simulation Modeling and Analysis", 5th ed., section 9.5; Schmeiser
//! (1982), Operations Research 30:556, finds 10 to 30 batches enough.

use serde::{Deserialize, Serialize};

use crate::sample::{check, finite};
use crate::student::normal_quantile;
use crate::summary::mean;
use crate::{Interval, Location, StatsError};

/// Fewer batches than this leave too few to judge their correlation by.
const FEWEST_BATCHES: usize = 5;

/// Level of the one-sided test on the correlation of neighbouring batches.
const CORRELATION_LEVEL: f64 = 0.05;

/// An interval over batch means and the check on its assumption.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct BatchMeans {
    /// Mean of the batched values and its t interval, in the unit of the series.
    pub interval: Interval,
    /// Number of batches.
    pub batches: usize,
    /// Values in each batch. What is left over after the last full batch is not used.
    pub batch_length: usize,
    /// Lag-1 correlation of the batch means, in `[-1, 1]`; near `-1/batches` when they are independent.
    pub lag1: f64,
    /// Whether the batch means are still visibly correlated: the interval is then too narrow, and the batches
    /// should be made longer.
    pub correlated: bool,
}

/// Cuts the series into `batches` of equal length, in order, and takes Student's t interval over their means.
///
/// The batches count as correlated when `lag1 > -1/k + z₀.₉₅ / √k` for k batches: a one-sided test of level
/// 5 %, from the variance (Bartlett 1946, Supplement to the JRSS 8:27) and the mean (Kendall 1954, Biometrika
/// 41:403) of the serial correlation of independent data.
///
/// # Errors
/// On fewer than five batches, fewer than two values a batch, a non-finite value, a confidence outside
/// `(0, 1)`, overflow.
pub fn batch_means(series: &[f64], batches: usize, confidence: f64) -> Result<BatchMeans, StatsError> {
    if batches < FEWEST_BATCHES {
        return Err(StatsError::TooFew { what: "batches", needed: FEWEST_BATCHES, got: batches });
    }
    check(series, batches.saturating_mul(2))?;
    let batch_length = series.len() / batches;
    let means = series
        .chunks_exact(batch_length)
        .take(batches)
        .map(mean)
        .collect::<Result<Vec<f64>, StatsError>>()?;
    let lag1 = lag1(&means)?;
    let k = batches as f64;
    Ok(BatchMeans {
        interval: Location::student(&means)?.interval(confidence)?,
        batches,
        batch_length,
        lag1,
        correlated: lag1 > normal_quantile(1.0 - CORRELATION_LEVEL) / k.sqrt() - 1.0 / k,
    })
}

/// Correlation of neighbours; zero for a constant series.
fn lag1(values: &[f64]) -> Result<f64, StatsError> {
    let centre = mean(values)?;
    let largest = values.iter().map(|v| (v - centre).abs()).fold(0.0, f64::max);
    if largest == 0.0 {
        return Ok(0.0);
    }
    let deviations: Vec<f64> = values.iter().map(|v| (v - centre) / largest).collect();
    let squares: f64 = deviations.iter().map(|d| d * d).sum();
    let products: f64 = deviations.windows(2).map(|pair| pair[0] * pair[1]).sum();
    finite(products / squares)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trend_shows_as_correlation() {
        let trend: Vec<f64> = (0..1000).map(f64::from).collect();
        let b = batch_means(&trend, 20, 0.95).unwrap();
        assert!(b.correlated && b.lag1 > 0.8);
        assert_eq!((b.batches, b.batch_length), (20, 50));
    }

    #[test]
    fn alternation_cancels_within_batches() {
        let series: Vec<f64> = (0..203).map(|i| f64::from(i % 2)).collect();
        let b = batch_means(&series, 10, 0.95).unwrap();
        assert_eq!(b.interval.estimate, 0.5);
        assert!(!b.correlated);
    }

    #[test]
    fn too_short_or_too_few() {
        assert!(batch_means(&[1.0; 100], 4, 0.95).is_err());
        assert!(batch_means(&[1.0; 9], 5, 0.95).is_err());
        assert!(batch_means(&[f64::NAN; 100], 10, 0.95).is_err());
    }
}
