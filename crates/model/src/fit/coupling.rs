//! Do services depend on gaps? Every model of a queue takes them for independent of each other, and families of either
//! alone cannot tell: a client that waits for its answer, or a cache that cools between requests, shows only here.

use tollway_stats::{Spearman, spearman};

use super::Series;
use super::goodness::is_constant;
use super::series::MOST_TESTED;

/// Fewer pairs say nothing.
const FEWEST: usize = 20;

/// How services go with the gaps beside them.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Coupling {
    /// With the gap from the arrival before to the customer's own.
    pub(super) before: Option<Spearman>,
    /// With the gap from the customer's arrival to the next.
    pub(super) after: Option<Spearman>,
}

impl Coupling {
    /// Of all gaps (of which the first customer of each stretch may have none) and services, in order of arrival.
    pub(super) fn of(gaps: &Series, services: &Series, stretches: &[usize]) -> Coupling {
        let customers = services.values.len();
        let whole = [customers];
        let stretches = if stretches.is_empty() { &whole[..] } else { stretches };
        let missing = customers - gaps.values.len().min(customers);
        if [gaps, services].iter().any(|series| same(series)) || ![0, stretches.len()].contains(&missing) {
            return Coupling::default();
        }
        let (mut before, mut after) = (Vec::new(), Vec::new());
        let (mut gap, mut customer) = (0, 0);
        for length in stretches {
            // Where gaps are one fewer, the first is that of the second customer.
            let fewer = usize::from(missing > 0);
            let gaps = &gaps.values[gap..gap + length - fewer];
            let services = &services.values[customer..customer + length];
            before.extend(gaps.iter().copied().zip(services[fewer..].iter().copied()));
            after.extend(gaps[1 - fewer..].iter().copied().zip(services.iter().copied()));
            gap += gaps.len();
            customer += length;
        }
        Coupling { before: correlation(&before), after: correlation(&after) }
    }

    /// Names of the tests and their outcomes.
    pub(super) fn tests(&self) -> impl Iterator<Item = (&'static str, Spearman)> {
        let named = [("service.gap-before", self.before), ("service.gap-after", self.after)];
        named.into_iter().filter_map(|(name, found)| Some((name, found?)))
    }
}

/// What differs by rounding only has no order.
fn same(series: &Series) -> bool {
    is_constant(&series.values, series.rounding)
}

/// Of pairs evenly spread over the trace; a rank correlation of all of ten million tells no more.
fn correlation(pairs: &[(f64, f64)]) -> Option<Spearman> {
    let count = pairs.len().min(MOST_TESTED);
    let chosen = |i| pairs[(i as u128 * pairs.len() as u128 / count as u128) as usize];
    let (x, y): (Vec<f64>, Vec<f64>) = (0..count).map(chosen).unzip();
    spearman(&x, &y).ok().filter(|_| count >= FEWEST)
}

#[cfg(test)]
mod tests {
    use rand::rngs::Xoshiro256PlusPlus;
    use rand::{RngExt, SeedableRng};

    use super::*;

    fn series(values: Vec<f64>) -> Series {
        Series { values, resolution: 1e-9, rounding: 1e-9 }
    }

    fn random(count: usize, seed: u64) -> Vec<f64> {
        let mut generator = Xoshiro256PlusPlus::seed_from_u64(seed);
        (0..count).map(|_| generator.random()).collect()
    }

    #[test]
    fn a_service_that_follows_its_gap_and_a_gap_that_follows_its_service_are_told_apart() {
        let services = random(1001, 1);
        let cooled = [random(1, 2), services[1..].to_vec()].concat();
        for gaps in [cooled.clone(), cooled[1..].to_vec()] {
            let found = Coupling::of(&series(gaps), &series(services.clone()), &[]);
            assert!(found.before.unwrap().rho > 0.99 && found.after.unwrap().rho.abs() < 0.1, "{found:?}");
        }
        let closed = [random(1, 3), services[..1000].to_vec()].concat();
        for gaps in [closed.clone(), closed[1..].to_vec()] {
            let found = Coupling::of(&series(gaps), &series(services.clone()), &[]);
            assert!(found.after.unwrap().rho > 0.99 && found.before.unwrap().rho.abs() < 0.1, "{found:?}");
        }
    }

    /// 25 of 500 are expected; 99.9 % of the binomial lie within 10 … 43.
    #[test]
    fn independent_ones_are_taken_for_dependent_as_often_as_said() {
        let taken = |seed: u64| {
            let found = Coupling::of(&series(random(200, seed)), &series(random(200, seed + 1000)), &[]);
            found.before.unwrap().p <= 0.05
        };
        let count = (0..500).filter(|seed| taken(*seed)).count();
        assert!((10..=43).contains(&count), "{count}");
    }

    #[test]
    fn a_constant_and_a_few_say_nothing() {
        let gaps = series(random(100, 1));
        assert_eq!(Coupling::of(&gaps, &series(vec![7e-5; 100]), &[]), Coupling::default());
        assert_eq!(Coupling::of(&series(random(9, 1)), &series(random(9, 2)), &[]), Coupling::default());
        assert_eq!(Coupling::of(&series(random(9, 1)), &gaps, &[]), Coupling::default());
    }
}
