//! Closed networks of single servers: exact mean value analysis.

use super::closed::{self, Closed, Station};
use crate::card::{Family, Given, Kind, Model, Parameter};
use crate::{Result, Solution, check};

/// Steps of the recursion that are still prompt.
const MOST_STEPS: f64 = 3e7;

/// A fixed number of customers who think, pass stations with one server each, and think again.
#[derive(Clone, Debug, PartialEq)]
pub struct Mva {
    demands: Vec<f64>,
    customers: u64,
    think: f64,
}

impl Mva {
    /// Seconds of service that one passage needs at each station, customers, and seconds that each of them thinks.
    ///
    /// # Errors
    /// When no demand is above zero, a value is out of range, or the recursion would be too long.
    pub fn new(demands: Vec<f64>, customers: u64, think: f64) -> Result<Self> {
        closed::demands("demands", &demands)?;
        check::count("customers", customers, 1, 1_000_000_000)?;
        check::non_negative("think", think)?;
        let steps = customers as f64 * demands.len() as f64;
        closed::affordable("customers", steps, MOST_STEPS, "ask the model `bounds`, which are tight there")?;
        Ok(Self { demands, customers, think })
    }

    /// The steady state: with n customers an arrival finds what n − 1 leave in the mean.
    pub fn solve(&self) -> Closed {
        let mut numbers = vec![0.0; self.demands.len()];
        let mut throughput = 0.0;
        let mut response = 0.0;
        for n in 1..=self.customers {
            response =
                self.demands.iter().zip(&numbers).map(|(demand, number)| demand * (1.0 + number)).sum();
            throughput = n as f64 / (self.think + response);
            for (number, demand) in numbers.iter_mut().zip(&self.demands) {
                *number = throughput * demand * (1.0 + *number);
            }
        }
        let stations = self.demands.iter().zip(&numbers).map(|(demand, number)| Station {
            utilization: check::share_of_time(throughput * demand),
            number: *number,
            response: number / throughput,
        });
        Closed { throughput, response, stations: stations.collect() }
    }
}

/// In the catalogue.
pub(crate) const MODEL: Model = Model {
    name: "mva",
    title: "Closed network, exact MVA",
    family: Family::Networks,
    summary: "a fixed number of customers who think and pass several stations of one server each",
    formula: "Rₖ(n) = Dₖ(1 + Qₖ(n−1)); X(n) = n/(Z + Σ Rₖ(n)); Qₖ(n) = X(n)·Rₖ(n)",
    assumptions: "product form: exponential services at first-come-first-served stations, or any services where the \
                  processor is shared; routes do not depend on the state; one class",
    source: "Reiser and Lavenberg (1980), Mean-Value Analysis of Closed Multichain Queuing Networks, J. ACM 27(2), \
             313–322; Lazowska et al. (1984), Quantitative System Performance, chapter 6",
    holds: "exact; customers × stations up to 3e7. A station's response is that of all its visits in one passage",
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
    let customers = given.count("customers", 1, 1_000_000_000)?;
    Ok(Mva::new(given.times("demands")?, customers, given.time("think")?)?.solve().solution())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn two_equal_stations_by_hand() {
        // Without thinking, K equal stations: X(n) = n / (D (n + K − 1)).
        for customers in [1, 2, 7, 1000] {
            let answer = Mva::new(vec![2.0; 3], customers, 0.0).unwrap().solve();
            let exact = customers as f64 / (2.0 * (customers as f64 + 2.0));
            assert!((answer.throughput / exact - 1.0).abs() < 1e-13);
        }
    }

    #[test]
    fn one_station_with_thinking_is_the_finite_source() {
        // M/M/1//N: weights n!/(n−k)! (S/Z)^k from the balance of flows.
        for (customers, service, think) in [(1u64, 1.0, 3.0), (5, 1.0, 3.0), (40, 0.2, 9.0)] {
            let answer = Mva::new(vec![service], customers, think).unwrap().solve();
            let mut weights = vec![1.0];
            for k in 0..customers {
                weights.push(weights[k as usize] * (customers - k) as f64 * service / think);
            }
            let idle = weights[0] / weights.iter().sum::<f64>();
            assert!((answer.stations[0].utilization / (1.0 - idle) - 1.0).abs() < 1e-12);
        }
    }

    #[test]
    fn a_server_is_busy_all_the_time_and_no_more() {
        // Without thinking a single station never rests: rounding made 1 + 2e-16 of it.
        for customers in 1..300 {
            let answer = Mva::new(vec![8e-5], customers, 0.0).unwrap().solve();
            let busy = answer.stations[0].utilization;
            assert!((1.0 - 1e-14..=1.0).contains(&busy), "{customers}: {busy}");
        }
    }

    #[test]
    fn what_would_not_end_is_refused() {
        let told = Mva::new(vec![1.0; 1000], 1_000_000, 0.0).unwrap_err().to_string();
        assert!(told.starts_with("customers: ") && told.contains("`bounds`"), "{told}");
        assert!(Mva::new(vec![0.0], 1, 1.0).is_err() && Mva::new(vec![], 1, 1.0).is_err());
        assert!(Mva::new(vec![1.0], 0, 1.0).is_err() && Mva::new(vec![f64::NAN], 1, 1.0).is_err());
    }

    proptest! {
        #[test]
        fn operational_laws_hold(
            demands in prop::collection::vec(1e-6..1e3f64, 1..6), customers in 1u64..200, think in 0.0..1e4f64,
        ) {
            let answer = Mva::new(demands.clone(), customers, think).unwrap().solve();
            let inside: f64 = answer.stations.iter().map(|s| s.number).sum();
            // Little, of those who think and of those who do not; utilisation; no server is busy all the time.
            let all = inside + answer.throughput * think;
            prop_assert!((all / customers as f64 - 1.0).abs() < 1e-11);
            prop_assert!((answer.throughput * answer.response / inside - 1.0).abs() < 1e-11);
            for (station, demand) in answer.stations.iter().zip(&demands) {
                prop_assert!((station.utilization / (answer.throughput * demand) - 1.0).abs() < 1e-14);
                prop_assert!(station.utilization <= 1.0);
            }
        }
    }
}
