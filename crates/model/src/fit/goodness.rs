//! Does a family fit? Kolmogorov–Smirnov and Anderson–Darling with p-values that know that the parameters were fitted
//! to the same values.
//!
//! The fitted member is drawn from, refitted and measured again, many times (the parametric bootstrap: Stute, Manteiga
//! and Quindimil 1993, Metrika 40:243). A p-value ends as soon as 20 draws are as far as the trace (Besag and Clifford
//! 1991, Biometrika 78:301), at the latest after 999 draws, so that 0.001 is the least p there is. It ends there after 99
//! draws already if the trace is twice as far as the farthest of them: the tails of both laws fall exponentially or
//! faster, which puts such a distance at about the square of a hundredth. Draws have 500 values at most: beyond, neither
//! √n·D with Stephens' correction for n nor A² changes by more than a hundredth (Stephens 1974, JASA 69:730). Draws are read
//! by the same clock as the trace, and spread within its unit as the trace was.

use rand::Rng;
use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};
use serde::Serialize;
use tollway_stats::goodness_of_fit::{Distance, distance};

use super::Family;
use super::member::Member;
use crate::Distribution;

/// Draws at the most.
const DRAWS: u32 = 999;

/// Draws after which what is out of all proportion is seen to be.
const FIRST: u32 = 99;

/// Draws as far as the trace after which a p-value is known well enough.
const ENOUGH: u32 = 20;

/// Values in a draw at the most.
const DRAWN: usize = 500;

/// A clock whose unit is below this share of a time is a fine one.
pub(super) const FINE: f64 = 0.01;

/// Fewer values than this fit everything.
pub(super) const FEWEST: usize = 10;

/// A family fitted to values, and how well.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Fitted {
    /// The family.
    pub family: Family,
    /// Its likeliest member.
    pub distribution: Distribution,
    /// Logarithm of the likelihood, of times in seconds; `None` for a constant, which has none.
    pub log_likelihood: Option<f64>,
    /// Akaike's criterion: 2 parameters − 2 log-likelihood. Less is better.
    pub aic: Option<f64>,
    /// Schwarz's criterion: parameters × ln n − 2 log-likelihood. Less is better.
    pub bic: Option<f64>,
    /// Kolmogorov–Smirnov distance, 0 to 1: how wrong a share of values may be at most.
    pub ks: f64,
    /// Its p-value.
    pub ks_p: f64,
    /// Anderson–Darling statistic; `None` where it is infinite.
    pub ad: Option<f64>,
    /// Its p-value, which decides.
    pub ad_p: f64,
}

/// Fits a family to values in ascending order, which may differ by `rounding` where they are constant, and were spread within `unit` (0: not at all);
/// the error says why it cannot be.
pub(super) fn fit(
    family: Family,
    ascending: &[f64],
    rounding: f64,
    unit: f64,
    seed: u64,
) -> Result<Fitted, String> {
    if ascending.len() < FEWEST {
        return Err(format!("{} values are too few; {FEWEST} are the least", ascending.len()));
    }
    let distribution = family.fit(ascending)?;
    if family == Family::Constant {
        return Ok(constant(ascending, rounding, distribution));
    }
    let member = Member::of(&distribution);
    let log_likelihood: f64 = ascending.iter().map(|x| member.log_density(*x)).sum();
    let log_likelihood = Some(log_likelihood).filter(|l| l.is_finite());
    let observed = measure(family, ascending, &member)?;
    let n = counted(family, ascending.len());
    let (ks_p, ad_p) = p_values(family, &member, n, observed, unit, seed);
    let parameters = f64::from(family.parameters());
    Ok(Fitted {
        family,
        log_likelihood,
        aic: log_likelihood.map(|l| 2.0 * (parameters - l)),
        bic: log_likelihood.map(|l| parameters * (ascending.len() as f64).ln() - 2.0 * l),
        ks: observed.kolmogorov_smirnov,
        ks_p,
        ad: Some(observed.anderson_darling).filter(|a| a.is_finite()),
        ad_p,
        distribution,
    })
}

/// A constant is what differs by rounding only: it needs no draws.
fn constant(ascending: &[f64], rounding: f64, distribution: Distribution) -> Fitted {
    let mean = distribution.mean();
    let holds = is_constant(ascending, rounding);
    let below = ascending.partition_point(|x| *x < mean) as f64 / ascending.len() as f64;
    let (ks, p) = if holds { (0.0, 1.0) } else { (below.max(1.0 - below), 0.0) };
    Fitted {
        family: Family::Constant,
        distribution,
        log_likelihood: None,
        aic: None,
        bic: None,
        ks,
        ks_p: p,
        ad: holds.then_some(0.0),
        ad_p: p,
    }
}

/// Whether values can be the readings of one constant: rounded once, they differ by `rounding` at most. Where that is next
/// to nothing beside them, a clock that ticks at other places than it is written in may have rounded them before.
pub(super) fn is_constant(values: &[f64], rounding: f64) -> bool {
    let (least, most) =
        values.iter().fold((f64::INFINITY, 0.0_f64), |(least, most), x| (least.min(*x), most.max(*x)));
    if most - least <= one_unit(rounding, most).max(1e-12 * most) {
        return true;
    }
    let may_be_twice = rounding < FINE * most && most - least <= one_unit(2.0 * rounding, most);
    may_be_twice && is_rounded_twice(values, 0.5 * (least + most), rounding)
}

/// Whether values within a unit on either side of `middle` can be the readings of one constant, rounded by a clock and once more.
///
/// A clock that ticks no more coarsely than the unit shows two beside each other, the later one with probability p. Where a
/// multiple of the unit lies between them, a of it above the earlier and b below the later, the earlier is written as one
/// unit less with probability a, the later as one more with probability b, and a + b ≤ 1. So the shares (1 − p)·a and p·b
/// of the outer readings have roots whose sum is 1 at most (Cauchy and Schwarz), and any such shares can be. Of two outer
/// readings without any between them the sum is above 1. The sum is known to half the root of 1 / n.
fn is_rounded_twice(values: &[f64], middle: f64, rounding: f64) -> bool {
    let n = values.len() as f64;
    let share = |is_outer: &dyn Fn(f64) -> bool| values.iter().filter(|x| is_outer(**x)).count() as f64 / n;
    let below = share(&|x| x < middle - 0.5 * rounding);
    let above = share(&|x| x > middle + 0.5 * rounding);
    below.sqrt() + above.sqrt() <= 1.0 + 0.5 / n.sqrt()
}

/// A difference of readings, with room for floating point.
pub(super) fn one_unit(rounding: f64, most: f64) -> f64 {
    rounding * (1.0 + 1e-9) + 4.0 * f64::EPSILON * most
}

/// A reading, anywhere within the unit that it stands for.
pub(super) fn spread(reading: f64, unit: f64, generator: &mut impl Rng) -> f64 {
    (reading + unit * (generator.random::<f64>() - 0.5)).abs()
}

/// A time between two readings of a clock that ticks at any moment of it.
fn read(value: f64, unit: f64, generator: &mut impl Rng) -> f64 {
    (value / unit + generator.random::<f64>()).floor() * unit
}

/// How far values are from a member. The ends of a uniform are values themselves: those between them tell.
fn measure(family: Family, ascending: &[f64], member: &Member<'_>) -> Result<Distance, String> {
    let values = match family {
        Family::Uniform => &ascending[1..ascending.len() - 1],
        _ => ascending,
    };
    distance(values, |x| member.tails(x)).map_err(|error| error.to_string())
}

fn counted(family: Family, n: usize) -> usize {
    if family == Family::Uniform { n - 2 } else { n }
}

/// D with Stephens' correction, which takes its law to the limit's for any n.
fn corrected(ks: f64, n: usize) -> f64 {
    let root = (n as f64).sqrt();
    ks * (root + 0.12 + 0.11 / root)
}

/// The p-values of both statistics over `n` values.
fn p_values(
    family: Family,
    member: &Member<'_>,
    n: usize,
    observed: Distance,
    unit: f64,
    seed: u64,
) -> (f64, f64) {
    let mut generator = Xoshiro256PlusPlus::seed_from_u64(seed);
    let size = n.min(DRAWN) + if family == Family::Uniform { 2 } else { 0 };
    let ks = corrected(observed.kolmogorov_smirnov, n);
    let (mut as_far_ks, mut as_far_ad) = (AsFar::default(), AsFar::default());
    let mut drawn = vec![0.0; size];
    for _ in 0..DRAWS {
        drawn.fill_with(|| {
            let value = member.draw(&mut generator);
            if unit > 0.0 {
                let reading = read(value, unit, &mut generator);
                spread(reading, unit, &mut generator)
            } else {
                value
            }
        });
        drawn.sort_unstable_by(f64::total_cmp);
        // What cannot be fitted again is as far as can be.
        let again = family
            .fit(&drawn)
            .and_then(|refitted| measure(family, &drawn, &Member::of(&refitted)))
            .unwrap_or(Distance { kolmogorov_smirnov: 1.0, anderson_darling: f64::INFINITY });
        as_far_ks.count(corrected(again.kolmogorov_smirnov, counted(family, size)), ks);
        as_far_ad.count(again.anderson_darling, observed.anderson_darling);
        if as_far_ks.p.is_some() && as_far_ad.p.is_some() {
            break;
        }
    }
    (as_far_ks.p(), as_far_ad.p())
}

/// How many draws were as far as the trace.
#[derive(Default)]
struct AsFar {
    draws: u32,
    far: u32,
    farthest: f64,
    p: Option<f64>,
}

impl AsFar {
    fn count(&mut self, drawn: f64, observed: f64) {
        if self.p.is_some() {
            return;
        }
        self.draws += 1;
        self.far += u32::from(drawn >= observed);
        self.farthest = self.farthest.max(drawn);
        if self.far == ENOUGH {
            self.p = Some(f64::from(ENOUGH) / f64::from(self.draws));
        } else if self.draws == FIRST && observed >= 2.0 * self.farthest {
            self.p = Some(1.0 / f64::from(DRAWS + 1));
        }
    }

    fn p(&self) -> f64 {
        self.p.unwrap_or(f64::from(self.far + 1) / f64::from(self.draws + 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn quantiles(of: &str, n: u32) -> Vec<f64> {
        // Inverse of the distribution function by halving: no sampler is needed to have a perfect sample.
        let distribution: Distribution = of.parse().unwrap();
        let member = Member::of(&distribution);
        let inverse = |p: f64| {
            let (mut lo, mut hi) = (0.0, 1e6 * distribution.mean());
            for _ in 0..200 {
                let middle = f64::midpoint(lo, hi);
                if member.tails(middle).0 < p { lo = middle } else { hi = middle }
            }
            hi
        };
        (0..n).map(|i| inverse((f64::from(i) + 0.5) / f64::from(n))).collect()
    }

    #[test]
    fn perfect_samples_fit_their_own_family_and_no_other_shape() {
        let exponential = quantiles("exponential(3)", 400);
        let own = fit(Family::Exponential, &exponential, 0.0, 0.0, 1).unwrap();
        assert!(own.ad_p > 0.9 && own.ks_p > 0.9 && own.ks < 0.01, "{own:?}");
        let other = fit(Family::Uniform, &exponential, 0.0, 0.0, 1).unwrap();
        assert_eq!((other.ad_p, other.ks_p), (0.001, 0.001));
        assert!(other.aic > own.aic);
    }

    #[test]
    fn a_seed_is_a_promise() {
        let values = quantiles("gamma(2, 3)", 50);
        assert_eq!(fit(Family::Weibull, &values, 0.0, 0.0, 7), fit(Family::Weibull, &values, 0.0, 0.0, 7));
    }

    #[test]
    fn what_differs_by_rounding_only_is_constant() {
        let mut values = vec![3e-6; 20];
        assert_eq!(fit(Family::Constant, &values, 0.0, 0.0, 1).unwrap().ad_p, 1.0);
        values[19] = 3.001e-6;
        assert_eq!(fit(Family::Constant, &values, 0.0, 0.0, 1).unwrap().ad_p, 0.0);
        assert_eq!(fit(Family::Constant, &values, 1e-9, 0.0, 1).unwrap().ad_p, 1.0);
        // Two ticks of a clock apart, coarse or fine, is no rounding of one constant.
        for (rounding, apart) in [(0.1e-6, 3.2e-6), (1e-9, 3.002e-6)] {
            values[19] = apart;
            assert_eq!(fit(Family::Constant, &values, rounding, 0.0, 1).unwrap().ad_p, 0.0, "{rounding}");
        }
    }

    /// By a clock whose ticks are 0.7 of the unit that readings are written in.
    #[test]
    fn what_was_rounded_twice_is_constant_and_two_values_two_units_apart_are_not() {
        let mut generator = Xoshiro256PlusPlus::seed_from_u64(5);
        let read = |time: f64| ((time / 0.7).floor() * 0.7).round();
        let mut service = || {
            let start = 1e6 * generator.random::<f64>();
            read(start + 1000.0) - read(start)
        };
        let services: Vec<f64> = (0..2000).map(|_| service()).collect();
        let levels = |values: &[f64]| {
            let mut values: Vec<i64> = values.iter().map(|x| *x as i64).collect();
            values.sort_unstable();
            values.dedup();
            values
        };
        assert_eq!(levels(&services), [999, 1000, 1001]);
        assert!(is_constant(&services, 1.0));
        for few in [1, 20, 1000] {
            let two: Vec<f64> = (0..2000).map(|i| if i < few { 1000.0 } else { 1002.0 }).collect();
            assert!(!is_constant(&two, 1.0), "{few}");
        }
    }
}
