//! Bootstrap intervals for an arbitrary statistic of independent values, and of values nested in groups.
//!
//! For medians of processes use [`figure`](crate::figure()), which needs no resamples. These functions are
//! for everything else: a quantile, a fitted coefficient, a ratio of means. The statistic is called once per
//! resample.

use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};

use crate::few_groups::honest_ends;
use crate::sample::{check, finite, open_unit};
use crate::student::{normal_quantile, normal_upper_tail};
use crate::summary::{quantile_of_sorted, variance};
use crate::{Interval, StatsError};

/// How to resample. The generator is xoshiro256++, named here because "the same seed, the same interval" is a
/// promise.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Resampling {
    /// Number of resamples, 2 or more. Hesterberg (2015), The American Statistician 69:371, asks for 1000 as
    /// a rough and 10 000 as a careful number.
    pub resamples: usize,
    /// Share of such intervals that hold the true value, in `(0, 1)`.
    pub confidence: f64,
    /// Seed of the generator.
    pub seed: u64,
}

impl Default for Resampling {
    /// 2000 resamples, 95 %, seed 1.
    fn default() -> Self {
        Self { resamples: 2000, confidence: 0.95, seed: 1 }
    }
}

impl Resampling {
    fn generator(&self) -> Result<Xoshiro256PlusPlus, StatsError> {
        open_unit("confidence", self.confidence)?;
        if self.resamples < 2 {
            return Err(StatsError::TooFew { what: "resamples", needed: 2, got: self.resamples });
        }
        Ok(Xoshiro256PlusPlus::seed_from_u64(self.seed))
    }
}

/// The percentile interval: type-7 quantiles of the statistic over resamples. Too narrow for fewer than about
/// 30 values.
///
/// Source: Efron and Tibshirani (1993), "An Introduction to the Bootstrap", section 13.3.
///
/// # Errors
/// On fewer than two values, a non-finite value, a statistic that is not finite, a confidence outside
/// `(0, 1)`.
pub fn percentile<F>(values: &[f64], statistic: F, how: Resampling) -> Result<Interval, StatsError>
where
    F: Fn(&[f64]) -> f64,
{
    let (estimate, replicates) = replicate(values, &statistic, how)?;
    let tail = 0.5 * (1.0 - how.confidence);
    let ends = (quantile_of_sorted(&replicates, tail), quantile_of_sorted(&replicates, 1.0 - tail));
    Interval::new(estimate, ends.0, ends.1, how.confidence)
}

/// The bias-corrected and accelerated interval: percentiles moved by the statistic's median bias and its
/// skewness, the latter from the jackknife. If all resamples agree, the interval has no width.
///
/// Source: Efron (1987), JASA 82:171; Efron and Tibshirani (1993), section 14.3, equations 14.9 to 14.15.
/// Resamples equal to the estimate count half, as in `scipy.stats.bootstrap`.
///
/// # Errors
/// As [`percentile`].
pub fn bca<F>(values: &[f64], statistic: F, how: Resampling) -> Result<Interval, StatsError>
where
    F: Fn(&[f64]) -> f64,
{
    let (estimate, replicates) = replicate(values, &statistic, how)?;
    let count = replicates.len() as f64;
    let below = replicates.iter().filter(|&&r| r < estimate).count() as f64;
    let equal = replicates.iter().filter(|&&r| r == estimate).count() as f64;
    // Half a resample away from certainty at the most, so that the quantile stays finite.
    let share = ((below + 0.5 * equal) / count).clamp(0.5 / count, 1.0 - 0.5 / count);
    let bias = normal_quantile(share);
    let acceleration = acceleration(values, &statistic)?;
    let adjusted = |tail: f64| {
        let z = bias + normal_quantile(tail);
        let shrink = 1.0 - acceleration * z;
        // Past the pole of the transformation the level is the extreme one that z was heading for.
        let level = if shrink > 0.0 { bias + z / shrink } else { z.signum() * f64::INFINITY };
        quantile_of_sorted(&replicates, (1.0 - normal_upper_tail(level)).clamp(0.0, 1.0))
    };
    let tail = 0.5 * (1.0 - how.confidence);
    let (lo, hi) = (adjusted(tail), adjusted(1.0 - tail));
    Interval::new(estimate, lo.min(hi), hi.max(lo), how.confidence)
}

/// The statistic of the sample, and of the resamples in ascending order.
fn replicate<F>(values: &[f64], statistic: &F, how: Resampling) -> Result<(f64, Vec<f64>), StatsError>
where
    F: Fn(&[f64]) -> f64,
{
    let mut generator = how.generator()?;
    check(values, 2)?;
    let estimate = finite(statistic(values))?;
    let mut resample = vec![0.0; values.len()];
    let mut replicates = (0..how.resamples)
        .map(|_| {
            resample.fill_with(|| values[generator.random_range(0..values.len())]);
            finite(statistic(&resample))
        })
        .collect::<Result<Vec<f64>, _>>()?;
    replicates.sort_unstable_by(f64::total_cmp);
    Ok((estimate, replicates))
}

/// A sixth of the skewness of the statistic's influence values, by leaving out one value at a time.
fn acceleration<F>(values: &[f64], statistic: &F) -> Result<f64, StatsError>
where
    F: Fn(&[f64]) -> f64,
{
    let without = (0..values.len())
        .map(|left_out| {
            let rest: Vec<f64> = [&values[..left_out], &values[left_out + 1..]].concat();
            finite(statistic(&rest))
        })
        .collect::<Result<Vec<f64>, _>>()?;
    let centre = crate::summary::mean(&without)?;
    let largest = without.iter().map(|v| (centre - v).abs()).fold(0.0, f64::max);
    if largest == 0.0 {
        return Ok(0.0);
    }
    // Skewness has no unit; dividing by the largest deviation first keeps its powers in range.
    let deviations = without.iter().map(|v| (centre - v) / largest);
    let (squares, cubes) = deviations.fold((0.0, 0.0), |(s, c), d| (s + d * d, c + d * d * d));
    finite(cubes / (6.0 * f64::powf(squares, 1.5)))
}

/// Interval for a statistic of values nested in groups (trials in processes): resamples the groups, then the
/// values of each drawn group, and corrects for few groups. A single group of two or more values is resampled
/// as such.
///
/// The correction is described in the source of `few_groups`; nominal 95 % intervals of a mean hold the truth
/// in 95 % or more of the experiments from two groups on (`tests/statistics/coverage.rs`). They are conservative when
/// the scatter within the groups dominates: it is then counted twice (Davison and Hinkley 1997, "Bootstrap
/// Methods and their Application", section 3.8).
///
/// # Errors
/// On no group, an empty group, a single value in all, a non-finite value, a statistic that is not finite, a
/// confidence outside `(0, 1)`.
pub fn hierarchical<F>(groups: &[Vec<f64>], statistic: F, how: Resampling) -> Result<Interval, StatsError>
where
    F: Fn(&[Vec<f64>]) -> f64,
{
    let mut generator = how.generator()?;
    for (block, group) in groups.iter().enumerate() {
        check(group, 0)?;
        if group.is_empty() {
            return Err(StatsError::EmptyBlock { block });
        }
    }
    let units = match groups {
        [] => return Err(StatsError::TooFew { what: "blocks", needed: 1, got: 0 }),
        [only] if only.len() < 2 => {
            return Err(StatsError::TooFew { what: "trials", needed: 2, got: only.len() });
        }
        [only] => only.len(),
        _ => groups.len(),
    };
    let estimate = finite(statistic(groups))?;
    let mut resample = vec![Vec::new(); groups.len()];
    let mut replicates = (0..how.resamples)
        .map(|_| {
            for drawn in &mut resample {
                let group = &groups[generator.random_range(0..groups.len())];
                drawn.clear();
                drawn.extend(group.iter().map(|_| group[generator.random_range(0..group.len())]));
            }
            finite(statistic(&resample))
        })
        .collect::<Result<Vec<f64>, _>>()?;
    let deviation = variance(&replicates)?.sqrt();
    replicates.sort_unstable_by(f64::total_cmp);
    let tail = 0.5 * (1.0 - how.confidence);
    let percentiles = (quantile_of_sorted(&replicates, tail), quantile_of_sorted(&replicates, 1.0 - tail));
    let (lo, hi) = honest_ends(estimate, percentiles, deviation, units, how.confidence);
    Interval::new(estimate, lo, hi, how.confidence)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::summary::{mean, median};

    const VALUES: [f64; 8] = [3.0, 1.0, 4.0, 1.5, 9.0, 2.6, 5.0, 3.5];

    fn average(values: &[f64]) -> f64 {
        mean(values).unwrap_or(f64::NAN)
    }

    #[test]
    fn a_seed_is_a_promise() {
        let how = Resampling::default();
        let first = bca(&VALUES, average, how).unwrap();
        assert_eq!(first, bca(&VALUES, average, how).unwrap());
        assert_ne!(first, bca(&VALUES, average, Resampling { seed: 2, ..how }).unwrap());
    }

    #[test]
    fn a_constant_statistic_has_no_width() {
        for interval in [percentile, bca] {
            let i = interval(&VALUES, |_: &[f64]| 1.0, Resampling::default()).unwrap();
            assert_eq!((i.lo, i.hi), (1.0, 1.0));
        }
    }

    #[test]
    fn what_cannot_be_resampled_is_an_error() {
        let how = Resampling::default();
        assert!(percentile(&[1.0], average, how).is_err());
        assert!(percentile(&VALUES, average, Resampling { resamples: 1, ..how }).is_err());
        assert!(percentile(&VALUES, average, Resampling { confidence: 0.0, ..how }).is_err());
        assert_eq!(bca(&VALUES, |_| f64::NAN, how), Err(StatsError::Overflow));
        assert!(hierarchical(&[vec![1.0]], |_| 0.0, how).is_err());
        assert!(hierarchical(&[], |_| 0.0, how).is_err());
        assert_eq!(
            hierarchical(&[vec![1.0], vec![]], |_| 0.0, how),
            Err(StatsError::EmptyBlock { block: 1 })
        );
    }

    #[test]
    fn groups_of_one_agree_with_the_exact_bootstrap_of_the_median() {
        let groups: Vec<Vec<f64>> = VALUES.iter().map(|&v| vec![v]).collect();
        let how = Resampling { resamples: 20_000, ..Resampling::default() };
        let drawn = hierarchical(&groups, |g| median(&g.concat()).unwrap_or(f64::NAN), how).unwrap();
        let exact = crate::figure(&groups, 0.95).unwrap();
        assert_eq!(drawn.estimate, exact.estimate);
        assert!(
            (drawn.lo - exact.lo).abs() < 0.3 && (drawn.hi - exact.hi).abs() < 0.3,
            "{drawn:?} {exact:?}"
        );
    }
}
