//! Intervals for smooth functions of means (a mean, a rate, a squared coefficient of variation, a ratio of sums) that
//! hold on skewed data: the studentised bootstrap over blocks.
//!
//! A percentile interval of cv² over 1000 exponential values holds the truth in 92 % of the cases, because the standard
//! error of a resample goes with its value. Studentising each resample by its own standard error corrects that to second
//! order (Hall 1992, "The Bootstrap and Edgeworth Expansion", section 3.5). Sums over blocks of neighbours are resampled
//! rather than values, so that the time does not depend on the length of a series, and correlation within a block is
//! accounted for (Carlstein 1986, Ann. Statist. 14:1171).

use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};

use crate::bootstrap::Resampling;
use crate::sample::{finite, open_unit};
use crate::summary::quantile_of_sorted;
use crate::{Interval, StatsError};

/// Interval for `function` of the sums of `blocks`, where each block is K sums over neighbours (one of them may be how
/// many they are). `function` answers its value and its derivative by each sum; it must not change when all sums are
/// multiplied by the same number, as functions of means do not.
///
/// Answers the interval and the standard error.
///
/// # Errors
/// On fewer than ten blocks, a confidence outside `(0, 1)`, fewer than two resamples, no spread among the blocks, and
/// when the function is not finite at a resample.
pub fn studentised<const K: usize>(
    blocks: &[[f64; K]],
    function: impl Fn(&[f64; K]) -> (f64, [f64; K]),
    how: Resampling,
) -> Result<(Interval, f64), StatsError> {
    open_unit("confidence", how.confidence)?;
    if how.resamples < 2 {
        return Err(StatsError::TooFew { what: "resamples", needed: 2, got: how.resamples });
    }
    if blocks.len() < 10 {
        return Err(StatsError::TooFew { what: "blocks", needed: 10, got: blocks.len() });
    }
    let mut generator = Xoshiro256PlusPlus::seed_from_u64(how.seed);
    let (estimate, error) = with_error(blocks.iter(), &function)?;
    if error == 0.0 {
        return Err(StatsError::NoSpread);
    }
    let mut drawn = vec![0_u32; blocks.len()];
    let mut ratios = (0..how.resamples)
        .map(|_| {
            drawn.fill_with(|| generator.random_range(0..blocks.len() as u32));
            let (value, own_error) = with_error(drawn.iter().map(|i| &blocks[*i as usize]), &function)?;
            if own_error == 0.0 {
                return Err(StatsError::NoSpread);
            }
            finite((value - estimate) / own_error)
        })
        .collect::<Result<Vec<f64>, _>>()?;
    ratios.sort_unstable_by(f64::total_cmp);
    let tail = 0.5 * (1.0 - how.confidence);
    let lo = estimate - error * quantile_of_sorted(&ratios, 1.0 - tail);
    let hi = estimate - error * quantile_of_sorted(&ratios, tail);
    Ok((Interval::new(estimate, lo, hi, how.confidence)?, error))
}

/// The function of the sums, and its standard error by the delta method.
fn with_error<'a, const K: usize>(
    blocks: impl Iterator<Item = &'a [f64; K]> + Clone,
    function: &impl Fn(&[f64; K]) -> (f64, [f64; K]),
) -> Result<(f64, f64), StatsError> {
    let mut sums = [0.0; K];
    let mut count = 0_usize;
    for block in blocks.clone() {
        count += 1;
        for (sum, part) in sums.iter_mut().zip(block) {
            *sum += part;
        }
    }
    let (value, slopes) = function(&sums);
    let squares: f64 = blocks
        .map(|block| block.iter().zip(&slopes).map(|(part, slope)| part * slope).sum::<f64>().powi(2))
        .sum();
    let n = count as f64;
    Ok((finite(value)?, finite((squares * n / (n - 1.0)).sqrt())?))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The logarithm of a mean, of blocks of (sum, count).
    fn log_mean(sums: &[f64; 2]) -> (f64, [f64; 2]) {
        ((sums[0] / sums[1]).ln(), [1.0 / sums[0], -1.0 / sums[1]])
    }

    #[test]
    fn the_standard_error_is_the_delta_methods() {
        let values: Vec<f64> = (1..=40).map(f64::from).collect();
        let blocks: Vec<[f64; 2]> = values.iter().map(|v| [*v, 1.0]).collect();
        let (interval, error) = studentised(&blocks, log_mean, Resampling::default()).unwrap();
        let by_hand = (crate::summary::variance(&values).unwrap() / 40.0).sqrt() / 20.5;
        assert!((error / by_hand - 1.0).abs() < 1e-12);
        assert_eq!(interval.estimate, 20.5_f64.ln());
        assert!((interval.half_width() / (2.02 * error) - 1.0).abs() < 0.15, "{interval:?} {error}");
    }

    #[test]
    fn what_has_no_spread_or_is_not_finite_is_an_error() {
        let how = Resampling::default();
        assert_eq!(studentised(&[[1.0, 1.0]; 20], log_mean, how), Err(StatsError::NoSpread));
        assert_eq!(studentised(&[[0.0, 1.0]; 20], log_mean, how), Err(StatsError::Overflow));
        assert!(studentised(&[[1.0, 1.0]; 9], log_mean, how).is_err());
    }

    #[test]
    fn a_seed_is_a_promise() {
        let blocks: Vec<[f64; 2]> = (1..=40).map(|v| [f64::from(v), 1.0]).collect();
        let with =
            |seed| studentised(&blocks, log_mean, Resampling { seed, ..Resampling::default() }).unwrap();
        assert_eq!(with(1), with(1));
        assert_ne!(with(1), with(2));
    }
}
