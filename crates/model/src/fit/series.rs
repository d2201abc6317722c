//! One series of times, gaps or services, looked at from all sides: moments, independence, stationarity, families.

use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};
use tollway_stats::serial::{Independence, Stationarity, independence, stationarity};

use super::estimate::{Moments, moments};
use super::goodness::{self, Fitted, is_constant};
use super::{Family, Series};
use crate::Distribution;

/// Families are fitted to so many values at the most, evenly spread over a longer series: with more of them every
/// family is rejected for differences that matter to nobody.
pub(super) const MOST_TESTED: usize = 100_000;

/// Distances between values over which they are tested for independence.
const LAGS: usize = 10;

/// Below this p-value neighbours are taken to depend on each other when intervals are made, and a family is passed over
/// when predictions are.
const DOUBTFUL: f64 = 0.05;

/// More equal values than this share are there because of the clock.
const TIES: f64 = 0.01;

/// All that is known of a series.
pub(super) struct Examined {
    /// Values in it.
    pub(super) values: usize,
    /// Values that families were fitted to.
    pub(super) tested: usize,
    /// The unit of the clock that values were spread within before families were fitted, seconds.
    pub(super) clock: Option<f64>,
    pub(super) moments: Moments,
    /// `None` where there are too few values, or all are equal.
    pub(super) independence: Option<Independence>,
    pub(super) stationarity: Option<Stationarity>,
    /// Means of the first and the second half, seconds.
    pub(super) halves: (f64, f64),
    /// Least and greatest value, seconds.
    pub(super) range: (f64, f64),
    /// Every family: how it fits, or why it cannot be.
    pub(super) families: Vec<(Family, Result<Fitted, String>)>,
}

impl Examined {
    /// Whether neighbours are taken to depend on each other when intervals are made.
    pub(super) fn depend(&self) -> bool {
        depend(self.independence)
    }

    /// What predictions are made with: the likeliest family that is not rejected; where none is left, a gamma
    /// distribution (a constant) with the mean and the cv² that were seen, since those are what a mean wait hangs on.
    pub(super) fn distribution(&self) -> Distribution {
        let left = || {
            let fitted = self.families.iter().filter_map(|(_, result)| result.as_ref().ok());
            fitted.filter(|f| f.ad_p > DOUBTFUL)
        };
        let constant = left().find(|f| f.family == Family::Constant);
        let bic = |f: &&Fitted| f.bic.unwrap_or(f64::INFINITY);
        let likeliest = constant.or_else(|| left().min_by(|a, b| bic(a).total_cmp(&bic(b))));
        likeliest.map_or_else(|| self.moments.distribution(), |f| f.distribution.clone())
    }
}

fn depend(independence: Option<Independence>) -> bool {
    independence.is_some_and(|i| i.p <= DOUBTFUL)
}

/// Looks at a series; `None` where nothing can be said of it: no value above zero.
pub(super) fn examine(series: &Series, seed: u64) -> Option<Examined> {
    let values = &series.values;
    let range = values.iter().fold((f64::INFINITY, 0.0_f64), |(lo, hi), x| (lo.min(*x), hi.max(*x)));
    // What is left of a constant is rounding, whose order says nothing.
    let differs = !is_constant(range.0, range.1, series.resolution);
    let independence = independence(values, LAGS).ok().filter(|_| differs);
    let mut moments = moments(values, depend(independence), seed)?;
    if !differs {
        moments = moments.of_a_constant();
    }
    let (tested, clock) = tested(series, seed);
    let fit =
        |(family, seed): (Family, u64)| (family, goodness::fit(family, &tested, series.resolution, seed));
    let mean = |part: &[f64]| part.iter().sum::<f64>() / part.len().max(1) as f64;
    let (first, second) = values.split_at(values.len() / 2);
    Some(Examined {
        values: values.len(),
        tested: tested.len(),
        clock,
        moments,
        independence,
        stationarity: stationarity(values).ok().filter(|_| differs),
        halves: (mean(first), mean(second)),
        range,
        families: Family::ALL.into_iter().zip(seed..).map(fit).collect(),
    })
}

/// The values that families are fitted to, in ascending order, and the unit of the clock where they had to be spread
/// within it.
fn tested(series: &Series, seed: u64) -> (Vec<f64>, Option<f64>) {
    let all = &series.values;
    let count = all.len().min(MOST_TESTED);
    let mut values: Vec<f64> =
        (0..count).map(|i| all[(i as u128 * all.len() as u128 / count as u128) as usize]).collect();
    values.sort_unstable_by(f64::total_cmp);
    let ties = values.windows(2).filter(|pair| pair[0] == pair[1]).count();
    let one = values.first() == values.last();
    let tied = ties as f64 > TIES * count as f64;
    let unit = unit(&values, series.resolution).filter(|_| tied && !one);
    if let Some(unit) = unit {
        // A reading stands for all times within its unit.
        let mut generator = Xoshiro256PlusPlus::seed_from_u64(seed);
        for value in &mut values {
            *value = (*value + unit * (generator.random::<f64>() - 0.5)).abs();
        }
        values.sort_unstable_by(f64::total_cmp);
    }
    (values, unit)
}

/// The largest unit that all values are multiples of, from the one that they are written in; `None` where that is not
/// known.
fn unit(values: &[f64], resolution: f64) -> Option<f64> {
    if resolution <= 0.0 {
        return None;
    }
    let mut common = 0_u64;
    for value in values {
        let multiple = (value / resolution).round();
        if multiple > 9e15 {
            return None;
        }
        common = greatest_common_divisor(multiple as u64, common);
        if common == 1 {
            break;
        }
    }
    (common > 0).then_some(common as f64 * resolution)
}

fn greatest_common_divisor(mut a: u64, mut b: u64) -> u64 {
    while b > 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_coarse_clock_is_seen_through() {
        // Written in nanoseconds by a clock of 250 ns.
        let values: Vec<f64> = (0..4000_u32).map(|i| f64::from(250 * (i * i % 37)) * 1e-9).collect();
        let (spread, unit) = tested(&Series { values: values.clone(), resolution: 1e-9 }, 1);
        assert!((unit.unwrap() - 250e-9).abs() < 1e-15);
        assert!(spread.windows(2).all(|pair| pair[0] < pair[1]));
        assert!(spread.iter().all(|x| *x >= 0.0));
        assert_eq!(tested(&Series { values, resolution: 0.0 }, 1).1, None);
        assert_eq!(tested(&Series { values: vec![1e-6; 50], resolution: 1e-9 }, 1).1, None);
    }

    #[test]
    fn a_long_series_is_thinned_evenly() {
        let values: Vec<f64> = (0..250_000).map(f64::from).collect();
        let (kept, _) = tested(&Series { values, resolution: 0.0 }, 1);
        assert_eq!(kept.len(), MOST_TESTED);
        assert_eq!((kept[0], kept[1], kept[2]), (0.0, 2.0, 5.0));
    }
}
