//! Closed networks without solving them: between which figures the exact ones must lie.

use super::closed;
use crate::card::{Family, Given, Kind, Model, Parameter};
use crate::{Result, Solution, Unit, check};

/// What is known of a closed network: demands, customers, thinking.
#[derive(Clone, Debug, PartialEq)]
pub struct Bounds {
    total: f64,
    largest: f64,
    mean: f64,
    customers: f64,
    think: f64,
}

/// Two ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Range {
    /// The lower one.
    pub lower: f64,
    /// The upper one.
    pub upper: f64,
}

impl Bounds {
    /// Seconds of service that one passage needs at each station, customers, and seconds that each of them thinks.
    ///
    /// # Errors
    /// When no demand is above zero, or a value is out of range.
    pub fn new(demands: &[f64], customers: u64, think: f64) -> Result<Self> {
        closed::demands("demands", demands)?;
        check::count("customers", customers, 1, 1_000_000_000_000)?;
        check::non_negative("think", think)?;
        let used = demands.iter().filter(|demand| **demand > 0.0).count() as f64;
        let total: f64 = demands.iter().sum();
        let largest = demands.iter().copied().fold(0.0, f64::max);
        Ok(Self { total, largest, mean: total / used, customers: customers as f64, think })
    }

    /// Customers beyond whom the bottleneck must make them wait: (D + Z)/Dmax.
    pub fn saturation(&self) -> f64 {
        (self.total + self.think) / self.largest
    }

    /// Asymptotic bounds of the throughput, per second.
    pub fn throughput(&self) -> Range {
        let alone = self.customers / (self.total + self.think);
        Range {
            lower: self.customers / (self.think + self.customers * self.total),
            upper: alone.min(1.0 / self.largest),
        }
    }

    /// Asymptotic bounds of the response, seconds.
    pub fn response(&self) -> Range {
        let saturated = self.customers * self.largest - self.think;
        Range { lower: self.total.max(saturated), upper: self.customers * self.total }
    }

    /// Balanced-job bounds of the throughput, per second.
    pub fn balanced_throughput(&self) -> Range {
        let Range { lower, upper } = self.balanced_times();
        Range {
            lower: self.customers / (self.think + upper),
            upper: (self.customers / (self.think + lower)).min(1.0 / self.largest),
        }
    }

    /// Balanced-job bounds of the response, seconds.
    pub fn balanced_response(&self) -> Range {
        let Range { lower, upper } = self.balanced_times();
        Range { lower: lower.max(self.customers * self.largest - self.think), upper }
    }

    /// Responses of a network whose stations are all as the mean one, and of one whose stations are all as the largest.
    fn balanced_times(&self) -> Range {
        let others = self.customers - 1.0;
        Range {
            lower: self.total + others * self.mean / (1.0 + self.think / self.total),
            upper: self.total + others * self.largest / (1.0 + self.think / (self.customers * self.total)),
        }
    }
}

/// In the catalogue.
pub(crate) const MODEL: Model = Model {
    name: "bounds",
    title: "Bounds of closed networks",
    family: Family::Networks,
    summary: "between which throughput and response a closed network must lie, by asymptotes and by balanced jobs",
    formula: "N/(Z + N·D) ≤ X ≤ min(N/(D + Z), 1/Dmax); max(D, N·Dmax − Z) ≤ R ≤ N·D; balanced: N/(Z + D + \
              (N−1)Dmax/(1 + Z/(N·D))) ≤ X ≤ min(1/Dmax, N/(Z + D + (N−1)D̄/(1 + Z/D)))",
    assumptions: "asymptotic: stations of one server each, demands that do not depend on the load; balanced: product form \
                  as well; D̄ is the mean demand of the stations that are used",
    source: "Zahorjan, Sevcik, Eager and Galler (1982), Balanced Job Bound Analysis of Queueing Networks, CACM 25(2), \
             134–141; Lazowska et al. (1984), Quantitative System Performance, chapter 5",
    holds: "bounds: no approximation, for any number of customers",
    parameters: &[
        Parameter {
            name: "demands",
            kind: Kind::Times,
            means: "service that one passage needs at each station, over all its visits",
            default: None,
            example: "5ms,4ms,3ms",
        },
        Parameter {
            name: "customers",
            kind: Kind::Count,
            means: "customers in the network",
            default: None,
            example: "16",
        },
        Parameter {
            name: "think",
            kind: Kind::Time,
            means: "mean time away between two passages",
            default: Some("0"),
            example: "20ms",
        },
    ],
    solve,
};

fn solve(given: &Given) -> Result<Solution> {
    let customers = given.count("customers", 1, 1_000_000_000_000)?;
    let bounds = Bounds::new(&given.times("demands")?, customers, given.time("think")?)?;
    let balanced = (bounds.balanced_throughput(), bounds.balanced_response());
    Ok(Solution::new()
        .with("throughput.lower", bounds.throughput().lower, Unit::PerSecond)
        .with("throughput.upper", bounds.throughput().upper, Unit::PerSecond)
        .with("throughput.balanced.lower", balanced.0.lower, Unit::PerSecond)
        .with("throughput.balanced.upper", balanced.0.upper, Unit::PerSecond)
        .with("response.lower", bounds.response().lower, Unit::Seconds)
        .with("response.upper", bounds.response().upper, Unit::Seconds)
        .with("response.balanced.lower", balanced.1.lower, Unit::Seconds)
        .with("response.balanced.upper", balanced.1.upper, Unit::Seconds)
        .with("saturation.customers", bounds.saturation(), Unit::Count))
}

#[cfg(test)]
mod tests {
    use super::super::Mva;
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn balanced_networks_meet_their_bounds() {
        for customers in [1, 5, 300] {
            let exact = Mva::new(vec![3.0; 4], customers, 0.0).unwrap().solve();
            let bounds = Bounds::new(&[3.0; 4], customers, 0.0).unwrap();
            for bound in [bounds.balanced_throughput().lower, bounds.balanced_throughput().upper] {
                assert!((bound / exact.throughput - 1.0).abs() < 1e-12);
            }
        }
    }

    proptest! {
        #[test]
        fn the_exact_figures_lie_between(
            demands in prop::collection::vec(prop_oneof![Just(0.0), 1e-3..10.0f64], 1..6),
            customers in 1u64..300, think in prop_oneof![Just(0.0), 0.0..1e3f64],
        ) {
            prop_assume!(demands.iter().any(|d| *d > 0.0));
            let exact = Mva::new(demands.clone(), customers, think).unwrap().solve();
            let bounds = Bounds::new(&demands, customers, think).unwrap();
            let slack = 1.0 + 1e-10;
            let between = |x: f64, r: Range| r.lower <= x * slack && x <= r.upper * slack;
            prop_assert!(between(exact.throughput, bounds.throughput()));
            prop_assert!(between(exact.throughput, bounds.balanced_throughput()));
            prop_assert!(between(exact.response, bounds.response()));
            prop_assert!(between(exact.response, bounds.balanced_response()));
            // Balanced-job bounds are the tighter ones.
            prop_assert!(bounds.balanced_throughput().upper <= bounds.throughput().upper * slack);
            prop_assert!(bounds.throughput().lower <= bounds.balanced_throughput().lower * slack);
        }
    }
}
