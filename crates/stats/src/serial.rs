//! Is a series what a model takes it for: values that do not depend on each other, of a level that does not move? Both
//! tests read ranks only, so that no tail, however heavy, decides them.

use serde::{Deserialize, Serialize};
use statrs::function::gamma::gamma_ur;

use crate::StatsError;
use crate::goodness_of_fit::kolmogorov_upper_tail;
use crate::ranks::average_ranks;
use crate::sample::check;

/// The least number of values that these tests say anything about.
const FEWEST: usize = 20;

/// Whether neighbours resemble each other.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Independence {
    /// The largest correlation of the ranks of two that far apart, -1 to 1: the size of the effect.
    pub correlation: f64,
    /// How far apart those are.
    pub lag: usize,
    /// Ljung and Box's Q over `lags`.
    pub statistic: f64,
    /// Distances between values that were looked at: 1 to this.
    pub lags: usize,
    /// p-value against "independent".
    pub p: f64,
}

/// Ljung and Box's portmanteau test on the ranks of a series, over `lags` distances (at most a fifth of its length).
///
/// Sources: Ljung and Box (1978), Biometrika 65:297; on ranks: Dufour and Roy (1986), Communications in Statistics
/// 15:2953.
///
/// # Errors
/// On fewer than 20 values, a value that is not finite, no lag, and values that are all equal.
pub fn independence(series: &[f64], lags: usize) -> Result<Independence, StatsError> {
    check(series, FEWEST)?;
    if lags == 0 {
        return Err(StatsError::TooFew { what: "lags", needed: 1, got: 0 });
    }
    let lags = lags.min(series.len() / 5);
    let ranks = centred_ranks(series)?;
    let n = series.len() as f64;
    let squares: f64 = ranks.iter().map(|r| r * r).sum();
    let correlation = |lag: usize| {
        let products: f64 = ranks.iter().zip(&ranks[lag..]).map(|(a, b)| a * b).sum();
        products / squares
    };
    let correlations: Vec<f64> = (1..=lags).map(correlation).collect();
    let weighted = correlations.iter().zip(1..).map(|(r, lag)| r * r / (n - f64::from(lag)));
    let statistic = n * (n + 2.0) * weighted.sum::<f64>();
    let p = gamma_ur(0.5 * lags as f64, 0.5 * statistic.max(f64::MIN_POSITIVE));
    let strongest = correlations.iter().zip(1..).max_by(|(a, _), (b, _)| a.abs().total_cmp(&b.abs()));
    let (correlation, lag) = strongest.map_or((0.0, 1), |(r, lag)| (*r, lag));
    Ok(Independence { correlation, lag, statistic, lags, p })
}

/// Whether the level of a series moves.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Stationarity {
    /// The largest distance of the cumulative sum of ranks from its straight line, in standard errors of the whole sum.
    pub statistic: f64,
    /// Where that is, as a share of the series: the likeliest place of a single change.
    pub at: f64,
    /// p-value against "of one level".
    pub p: f64,
}

/// The cumulative-sum test for a change of level, on ranks. The variance of the sum is taken from sums over batches of
/// about the cube root of the length, so that correlation over shorter distances is not taken for a change.
///
/// The p-value is that of the limit, a Brownian bridge; on short series it is too large rather than too small.
/// Source: Ploberger and Krämer (1992), Econometrica 60:271; batch variance: Carlstein (1986), Ann. Statist. 14:1171.
///
/// # Errors
/// On fewer than 20 values, a value that is not finite, and values that are all equal.
pub fn stationarity(series: &[f64]) -> Result<Stationarity, StatsError> {
    check(series, FEWEST)?;
    let ranks = centred_ranks(series)?;
    let n = series.len() as f64;
    let batch = (n.cbrt().floor() as usize).max(1);
    let sums: Vec<f64> = ranks.chunks_exact(batch).map(|chunk| chunk.iter().sum()).collect();
    let mean = sums.iter().sum::<f64>() / sums.len() as f64;
    let squares: f64 = sums.iter().map(|s| (s - mean) * (s - mean)).sum();
    let long_run = squares / ((sums.len() - 1) * batch) as f64;
    if long_run <= 0.0 {
        return Err(StatsError::NoSpread);
    }
    let (mut sum, mut largest, mut at) = (0.0_f64, 0.0_f64, 0);
    for (i, rank) in ranks.iter().enumerate() {
        sum += rank;
        if sum.abs() > largest {
            (largest, at) = (sum.abs(), i + 1);
        }
    }
    let statistic = largest / (long_run * n).sqrt();
    Ok(Stationarity { statistic, at: at as f64 / n, p: kolmogorov_upper_tail(statistic) })
}

fn centred_ranks(series: &[f64]) -> Result<Vec<f64>, StatsError> {
    let (mut ranks, _) = average_ranks(series);
    let middle = 0.5 * (series.len() + 1) as f64;
    for rank in &mut ranks {
        *rank -= middle;
    }
    if ranks.iter().all(|r| *r == 0.0) { Err(StatsError::NoSpread) } else { Ok(ranks) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::rngs::Xoshiro256PlusPlus;
    use rand::{RngExt, SeedableRng};

    /// How many of 1000 series of `n` independent values with a heavy tail are rejected at 5 %.
    fn rejected(n: usize, test: impl Fn(&[f64]) -> f64) -> usize {
        let mut generator = Xoshiro256PlusPlus::seed_from_u64(5);
        (0..1000)
            .filter(|_| {
                let series: Vec<f64> = (0..n).map(|_| 1.0 / generator.random::<f64>()).collect();
                test(&series) <= 0.05
            })
            .count()
    }

    /// 50 are expected; 99.9 % of the binomial lie within 28 … 75.
    #[test]
    fn independent_values_are_rejected_as_often_as_said() {
        let count = rejected(200, |s| independence(s, 10).unwrap().p);
        assert!((28..=75).contains(&count), "{count}");
        let count = rejected(400, |s| stationarity(s).unwrap().p);
        assert!((15..=75).contains(&count), "{count}");
    }

    #[test]
    fn neighbours_that_resemble_each_other_and_a_change_of_level_are_seen() {
        let mut generator = Xoshiro256PlusPlus::seed_from_u64(6);
        let noise: Vec<f64> = (0..500).map(|_| generator.random()).collect();
        let sums: Vec<f64> = noise.windows(2).map(|pair| pair[0] + pair[1]).collect();
        let found = independence(&sums, 10).unwrap();
        assert!(found.p < 1e-6 && (found.correlation - 0.5).abs() < 0.15 && found.lag == 1, "{found:?}");
        assert!(stationarity(&sums).unwrap().p > 0.01);
        let moved: Vec<f64> =
            noise.iter().zip(0..).map(|(x, i)| x + if i < 200 { 0.0 } else { 0.5 }).collect();
        let found = stationarity(&moved).unwrap();
        assert!(found.p < 1e-6 && (found.at - 0.4).abs() < 0.05, "{found:?}");
    }

    #[test]
    fn no_spread_or_too_few_is_an_error() {
        assert_eq!(independence(&[1.0; 50], 5), Err(StatsError::NoSpread));
        assert_eq!(stationarity(&[1.0; 50]), Err(StatsError::NoSpread));
        assert!(independence(&[1.0, 2.0], 1).is_err());
        assert!(stationarity(&[f64::NAN; 50]).is_err());
    }
}
