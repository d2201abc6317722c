//! One series of times, gaps or services, looked at from all sides: moments, independence, stationarity, families.

use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};
use tollway_stats::serial::{Independence, Stationarity, independence, stationarity};

use super::estimate::{Moments, moments};
use super::goodness::{self, FEWEST, Fitted, is_constant, one_unit};
use super::text::time;
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

/// A clock whose unit is more than this share of the mean tells nothing of how times vary: what is read of most of them is
/// where the clock happened to tick.
pub(super) const COARSE: f64 = 0.5;

/// Nor does one that reads more than this share as 0: families differ in how they begin there, and that is not seen.
const ZEROS: f64 = 0.1;

/// So many different multiples of a unit are those of a clock; fewer may be all the times there are.
const LEVELS: usize = 5;

/// Neighbours that are differences of readings share one, which makes them depend on each other by as much as the clock is
/// coarse. Where that is more than this many standard errors of a correlation, independence is not tested.
pub(super) const SHARED: f64 = 0.5;

/// All that is known of a series.
pub(super) struct Examined {
    /// Values in it.
    pub(super) values: usize,
    /// Values that families were fitted to.
    pub(super) tested: usize,
    /// What values were spread within before families were fitted.
    pub(super) clock: Option<Clock>,
    /// What the clock tells apart, seconds; 0 where that is not known.
    pub(super) unit: f64,
    /// The unit of a clock that is too coarse to tell a family by, seconds.
    pub(super) coarse: Option<f64>,
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

/// What a clock tells apart.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Clock {
    /// Seconds.
    pub(super) unit: f64,
    /// Whether values are multiples of it; else they are only known to it.
    pub(super) ticks: bool,
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
    let ascending = thinned(values);
    let unit = unit(&ascending, series.resolution);
    let mean = |part: &[f64]| part.iter().sum::<f64>() / part.len().max(1) as f64;
    let coarse = too_coarse(&ascending, unit).then_some(unit);
    // What is left of a constant is rounding, whose order says nothing.
    let differs = coarse.is_some() || !is_constant(values, series.rounding);
    let levels = levels(&ascending, series.rounding);
    let level = |value: &f64| levels[levels.partition_point(|level| level <= value).saturating_sub(1)];
    // Nor does the order of what differs by rounding only.
    let levelled: Vec<f64> = if levels.is_empty() { Vec::new() } else { values.iter().map(level).collect() };
    let ordered = if levels.is_empty() { values } else { &levelled };
    let independence = independence(ordered, LAGS).ok().filter(|_| differs);
    let mut moments = moments(values, depend(independence), seed)?;
    moments = match differs {
        true => moments.read_by_a_clock(unit, values.len()),
        false => moments.of_a_constant(range.1 - range.0, series.resolution),
    };
    let shared = (unit / moments.mean).powi(2) / 12.0 / moments.scv.max(f64::MIN_POSITIVE);
    let independence = independence.filter(|_| shared * (values.len() as f64).sqrt() <= SHARED);
    let (tested, clock, spread) =
        if differs { tested(ascending, series.resolution, seed) } else { (ascending, None, 0.0) };
    let fit = |(family, seed): (Family, u64)| {
        let result = match coarse {
            Some(unit) if tested.len() >= FEWEST => Err(no_family(unit, moments.mean)),
            _ => goodness::fit(family, &tested, series.rounding, spread, seed),
        };
        (family, result)
    };
    let (first, second) = values.split_at(values.len() / 2);
    Some(Examined {
        values: values.len(),
        tested: tested.len(),
        clock,
        unit,
        coarse,
        moments,
        independence,
        stationarity: stationarity(ordered).ok().filter(|_| differs),
        halves: (mean(first), mean(second)),
        range,
        families: Family::ALL.into_iter().zip(seed..).map(fit).collect(),
    })
}

/// Whether a clock of this unit is too coarse to tell a family by what it reads, in ascending order, of times that differ.
pub(super) fn too_coarse(ascending: &[f64], unit: f64) -> bool {
    let n = ascending.len() as f64;
    let mean = ascending.iter().sum::<f64>() / n;
    let zeros = ascending.partition_point(|value| *value == 0.0) as f64;
    unit > 0.0 && ascending[0] < ascending[ascending.len() - 1] && (unit > COARSE * mean || zeros > ZEROS * n)
}

/// Why no family can be told.
fn no_family(unit: f64, mean: f64) -> String {
    format!("a clock of {} is too coarse for times of {} on average", time(unit), time(mean))
}

/// What the clock of a series tells apart, as far as it is sure to be that of a clock.
pub(super) fn unit(ascending: &[f64], resolution: f64) -> f64 {
    let Some(Clock { unit, ticks: true }) = clock(ascending, resolution) else { return resolution };
    let multiple = |value: &f64| (value / unit).round();
    let mut levels: Vec<f64> = ascending.iter().map(multiple).collect();
    levels.dedup();
    let of_a_clock = levels.first() == Some(&0.0) || levels.len() >= LEVELS;
    if of_a_clock && levels.len() as f64 <= (1.0 - TIES) * ascending.len() as f64 {
        unit.max(resolution)
    } else {
        resolution
    }
}

/// Values of a series, evenly spread over it, in ascending order.
pub(super) fn thinned(all: &[f64]) -> Vec<f64> {
    let count = all.len().min(MOST_TESTED);
    let mut values: Vec<f64> =
        (0..count).map(|i| all[(i as u128 * all.len() as u128 / count as u128) as usize]).collect();
    values.sort_unstable_by(f64::total_cmp);
    values
}

/// Whether more of these fall together than chance has it.
pub(super) fn are_tied(ascending: &[f64]) -> bool {
    let ties = ascending.windows(2).filter(|pair| pair[0] == pair[1]).count();
    ties as f64 > TIES * ascending.len() as f64
}

/// The least value of each of a few levels, where values are apart by rounding only or by more than that; else none.
fn levels(ascending: &[f64], rounding: f64) -> Vec<f64> {
    let most = ascending.last().copied().unwrap_or(0.0);
    let rounding = one_unit(if rounding < goodness::FINE * most { 2.0 * rounding } else { rounding }, most);
    let mut levels: Vec<f64> = Vec::new();
    let mut last = f64::NEG_INFINITY;
    for value in ascending {
        if value - last > rounding {
            levels.push(*value);
        } else if value - levels.last().unwrap_or(value) > rounding {
            return Vec::new();
        }
        last = *value;
    }
    if levels.len() * 10 > ascending.len() { Vec::new() } else { levels }
}

/// The values that families are fitted to, in ascending order; the clock that shows in them; and what they were spread
/// within, seconds: a reading stands for all times within its unit, and one that is 0 is of a time above it.
pub(super) fn tested(mut values: Vec<f64>, resolution: f64, seed: u64) -> (Vec<f64>, Option<Clock>, f64) {
    let count = values.len();
    let clock = clock(&values, resolution);
    if let Some(Clock { unit, ticks: true }) = clock {
        for value in &mut values {
            *value = (*value / unit).round() * unit;
        }
    }
    let ties = values.windows(2).filter(|pair| pair[0] == pair[1]).count();
    let unit = clock.map_or(resolution, |clock| clock.unit);
    let mut generator = Xoshiro256PlusPlus::seed_from_u64(seed);
    if unit > 0.0 {
        for value in &mut values {
            *value = goodness::spread(*value, unit, &mut generator);
        }
    } else if let Some(least) = values.iter().copied().find(|value| *value > 0.0) {
        // Nobody knows the clock, but that it did not tell these from 0.
        for value in values.iter_mut().take_while(|value| **value == 0.0) {
            *value = least * generator.random::<f64>();
        }
    }
    values.sort_unstable_by(f64::total_cmp);
    (values, clock.filter(|_| ties as f64 > TIES * count as f64), unit)
}

/// The largest unit that all values are multiples of, but for rounding; what they are known to where there is none;
/// `None` where not even that is known.
fn clock(values: &[f64], resolution: f64) -> Option<Clock> {
    if resolution <= 0.0 {
        return None;
    }
    let most = values.last().filter(|most| **most > 0.0)?;
    let fits = |unit: f64, dust: f64| {
        values.iter().all(|value| (value - (value / unit).round() * unit).abs() <= dust)
    };
    // Multiples of so much more than rounding are no chance.
    let decimal = (0..)
        .map(|power| 10_f64.powi(most.log10().floor() as i32 - power))
        .take_while(|unit| *unit >= 100.0 * resolution)
        .find(|unit| fits(*unit, 1.5 * resolution));
    let grid = decimal.unwrap_or(resolution);
    let mut common = 0_u64;
    for value in values {
        let multiple = (value / grid).round();
        if multiple > 9e15 {
            return None;
        }
        common = greatest_common_divisor(multiple as u64, common);
        if common == 1 {
            break;
        }
    }
    let unit = common as f64 * grid;
    (common > 0).then(|| Clock { unit, ticks: decimal.is_some() || fits(unit, 1e-3 * unit) })
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
        let (spread, clock, _) = tested(thinned(&values), 1e-9, 1);
        let clock = clock.unwrap();
        assert!(clock.ticks && (clock.unit - 250e-9).abs() < 1e-15, "{clock:?}");
        assert!(spread.windows(2).all(|pair| pair[0] < pair[1]));
        assert!(spread.iter().all(|x| *x > 0.0));
        assert_eq!(tested(thinned(&values), 0.0, 1).1, None);
    }

    #[test]
    fn ticks_are_seen_through_rounding() {
        let dust = |i: u32| f64::from(i * 7 % 5) * 1e-16 - 2e-16;
        let values: Vec<f64> = (0..4000).map(|i| f64::from(i * i % 37) * 1e-6 + dust(i)).collect();
        let values: Vec<f64> = values.iter().map(|v| v.max(0.0)).collect();
        let clock = tested(thinned(&values), 4e-16, 1).1.unwrap();
        assert!(clock.ticks && (clock.unit - 1e-6).abs() < 1e-15, "{clock:?}");
    }

    #[test]
    fn the_order_of_what_differs_by_rounding_only_says_nothing() {
        // Two services, each a little longer in the second half.
        let dust = |i: u32| if i < 1000 { 0.0 } else { 1e-16 };
        let value = |i: u32| if i.wrapping_mul(2_654_435_761) >> 31 == 0 { 3.3e-5 } else { 7.1e-5 };
        let values: Vec<f64> = (0..2000).map(|i| value(i) + dust(i)).collect();
        let known =
            examine(&Series { values: values.clone(), resolution: 1e-16, rounding: 1e-16 }, 1).unwrap();
        assert!(known.stationarity.unwrap().p > 0.01, "{:?}", known.stationarity);
        let unknown = examine(&Series { values, resolution: 0.0, rounding: 0.0 }, 1).unwrap();
        assert!(unknown.stationarity.unwrap().p < 1e-6, "{:?}", unknown.stationarity);
    }

    #[test]
    fn a_long_series_is_thinned_evenly() {
        let values: Vec<f64> = (0..250_000).map(f64::from).collect();
        let kept = thinned(&values);
        assert_eq!(kept.len(), MOST_TESTED);
        assert_eq!((kept[0], kept[1], kept[2]), (0.0, 2.0, 5.0));
    }
}
