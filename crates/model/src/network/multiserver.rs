//! Closed networks whose stations may have several servers.
//!
//! The recursion that load-dependent mean value analysis adds for these stations gets the probability of an empty
//! station as 1 less all others; with many customers that loses every digit. Here the same product form is summed by
//! convolution: all terms are positive, nothing is subtracted, and the constants have exponents wide enough.

use super::closed::{self, Closed, Station};
use super::wide::Wide;
use crate::card::{Family, Given, Kind, Model, Parameter};
use crate::{ModelError, Result, Solution, check};

/// Steps, and constants kept, that are still prompt.
const MOST_STEPS: f64 = 5e6;
const MOST_KEPT: f64 = 4e6;

/// The most servers of a station; more than there are customers make no difference.
const MOST_SERVERS: u64 = 1_000_000_000;

/// A fixed number of customers who think, pass stations of one or more servers, and think again.
#[derive(Clone, Debug, PartialEq)]
pub struct MultiserverMva {
    stations: Vec<ServedAt>,
    customers: u64,
    think: f64,
}

/// One station as it is asked for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ServedAt {
    /// Mean service of one visit, seconds.
    pub service: f64,
    /// Visits of one passage.
    pub visits: f64,
    /// Servers.
    pub servers: u64,
}

impl ServedAt {
    /// Seconds of service that one passage needs here.
    fn demand(&self) -> f64 {
        self.service * self.visits
    }
}

impl MultiserverMva {
    /// The stations, the customers, and the seconds that each of them thinks.
    ///
    /// # Errors
    /// When no demand is above zero, a value is out of range, or the sums would be too long.
    pub fn new(stations: Vec<ServedAt>, customers: u64, think: f64) -> Result<Self> {
        for station in &stations {
            check::non_negative("services", station.service)?;
            check::non_negative("visits", station.visits)?;
            check::count("servers", station.servers, 1, MOST_SERVERS)?;
        }
        let demands: Vec<f64> = stations.iter().map(ServedAt::demand).collect();
        closed::demands("services × visits", &demands)?;
        check::count("customers", customers, 1, 1_000_000_000)?;
        check::non_negative("think", think)?;
        let instead = "ask for fewer customers, or the model `bounds`";
        let each: f64 = stations.iter().map(|s| s.servers.min(customers) as f64).sum();
        closed::affordable("customers", customers as f64 * each, MOST_STEPS, instead)?;
        closed::affordable("customers", customers as f64 * stations.len() as f64, MOST_KEPT, instead)?;
        Ok(Self { stations, customers, think })
    }

    /// The steady state.
    pub fn solve(&self) -> Closed {
        let all = self.customers as usize;
        // What the stations after each one contribute.
        let mut after = vec![vec![Wide::ZERO; all + 1]; self.stations.len()];
        after[self.stations.len() - 1][0] = Wide::ONE;
        for at in (1..self.stations.len()).rev() {
            after[at - 1] = Factor::of(&self.stations[at], all).times(&after[at]);
        }
        // What thinking and the stations before contribute.
        let mut before = thinking(self.think, all);
        let mut numbers = Vec::with_capacity(self.stations.len());
        for (station, after) in self.stations.iter().zip(&after) {
            let factor = Factor::of(station, all);
            let counted = factor.counted_times(&before);
            numbers.push((0..=all).fold(Wide::ZERO, |sum, n| sum + counted[n] * after[all - n]));
            before = factor.times(&before);
        }
        let constant = before[all];
        let throughput = before[all - 1].over(constant);
        let numbers: Vec<f64> = numbers.into_iter().map(|number| number.over(constant)).collect();
        let stations = self.stations.iter().zip(&numbers).map(|(station, number)| Station {
            utilization: check::share_of_time(throughput * station.demand() / station.servers as f64),
            number: *number,
            response: if station.visits > 0.0 { number / (throughput * station.visits) } else { 0.0 },
        });
        let stations = stations.collect();
        Closed { throughput, response: numbers.iter().sum::<f64>() / throughput, stations }
    }
}

/// Zⁿ/n!: the weight of n customers who think.
fn thinking(think: f64, all: usize) -> Vec<Wide> {
    let mut weights = vec![Wide::ONE];
    for n in 1..=all {
        weights.push(weights[n - 1] * Wide::new(think / n as f64));
    }
    weights
}

/// The weights of a station: D^j / Π min(i, c) for j customers there, which from c on is a geometric series.
struct Factor {
    /// The weights of 0 … c customers.
    weights: Vec<Wide>,
    /// From one to the next beyond.
    ratio: Wide,
}

impl Factor {
    fn of(station: &ServedAt, all: usize) -> Self {
        let servers = station.servers.min(all as u64) as usize;
        let mut weights = vec![Wide::ONE];
        for j in 1..=servers {
            weights.push(weights[j - 1] * Wide::new(station.demand() / j as f64));
        }
        Factor { weights, ratio: Wide::new(station.demand() / servers as f64) }
    }

    /// The convolution with other weights: Σⱼ f(j)·g(n−j).
    fn times(&self, others: &[Wide]) -> Vec<Wide> {
        self.convolve(others, |_, weight| weight, false)
    }

    /// The convolution with each weight counted as often as it has customers: Σⱼ j·f(j)·g(n−j).
    fn counted_times(&self, others: &[Wide]) -> Vec<Wide> {
        self.convolve(others, |j, weight| weight * Wide::new(j as f64), true)
    }

    fn convolve(&self, others: &[Wide], weigh: impl Fn(usize, Wide) -> Wide, counted: bool) -> Vec<Wide> {
        let servers = self.weights.len() - 1;
        let weights: Vec<Wide> = self.weights.iter().enumerate().map(|(j, w)| weigh(j, *w)).collect();
        // The part of c customers and more, plain and as weighed.
        let (mut tail, mut weighed) = (Wide::ZERO, Wide::ZERO);
        let sum = |n: usize| {
            let head = (0..servers.min(n + 1)).fold(Wide::ZERO, |sum, j| sum + weights[j] * others[n - j]);
            let (mut first, mut first_weighed) = (Wide::ZERO, Wide::ZERO);
            if n >= servers {
                first = self.weights[servers] * others[n - servers];
                first_weighed = weights[servers] * others[n - servers];
            }
            let once_more = if counted { tail } else { Wide::ZERO };
            weighed = first_weighed + self.ratio * (weighed + once_more);
            tail = first + self.ratio * tail;
            head + weighed
        };
        (0..others.len()).map(sum).collect()
    }
}

/// In the catalogue.
pub(crate) const MODEL: Model = Model {
    name: "mva-multiserver",
    title: "Closed network with several servers a station",
    family: Family::Networks,
    summary: "a fixed number of customers who think and pass stations of one or more servers each",
    formula: "π(n₁ … n_K) ∝ Z^{n₀}/n₀! · Πₖ fₖ(nₖ), fₖ(j) = Dₖ^j / Π_{i≤j} min(i, cₖ), Dₖ = Vₖ·Sₖ; X = G(N−1)/G(N)",
    assumptions: "product form: exponential services, first come, first served, any server of the station; routes do not \
                  depend on the state; one class",
    source: "Buzen (1973), Computational Algorithms for Closed Queueing Networks with Exponential Servers, CACM 16(9), \
             527–531, with Reiser (1981), Mean Value Analysis and Convolution Method for Queue-Dependent Servers in \
             Closed Queueing Networks, Performance Evaluation 1(1), 7–18, on why not by the recursion of MVA",
    holds: "exact, by convolution without a subtraction, so stable for many customers; customers × servers up to 5e6. A \
            station's response is that of one visit",
    parameters: &[
        Parameter {
            name: "services",
            kind: Kind::Times,
            means: "mean service of one visit to each station",
            default: None,
            example: "50us,120us,10us",
        },
        Parameter {
            name: "visits",
            kind: Kind::Numbers,
            means: "visits of one passage to each station; a single number is that of all",
            default: Some("1"),
            example: "1,0.7,2",
        },
        Parameter {
            name: "servers",
            kind: Kind::Numbers,
            means: "servers of each station; a single number is that of all",
            default: Some("1"),
            example: "1,4,1",
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
            example: "200us",
        },
    ],
    solve,
};

fn solve(given: &Given) -> Result<Solution> {
    let services = given.times("services")?;
    let visits = for_each("visits", given.numbers("visits")?, services.len())?;
    let servers = for_each("servers", given.counts("servers", 1, MOST_SERVERS)?, services.len())?;
    let stations = services.into_iter().zip(visits).zip(servers);
    let stations = stations.map(|((service, visits), servers)| ServedAt { service, visits, servers });
    let customers = given.count("customers", 1, 1_000_000_000)?;
    Ok(MultiserverMva::new(stations.collect(), customers, given.time("think")?)?.solve().solution())
}

/// One value for each of `count` stations: as given, or the only one for all.
fn for_each<T: Copy>(name: &str, values: Vec<T>, count: usize) -> Result<Vec<T>> {
    match values[..] {
        [one] => Ok(vec![one; count]),
        _ if values.len() == count => Ok(values),
        _ => Err(ModelError::parameter(
            name,
            format!("it has {} entries, and there are {count} stations", values.len()),
            "give one for each entry of services, or one for all",
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::super::Mva;
    use super::*;
    use proptest::prelude::*;

    /// Load-dependent mean value analysis as in the books, which is exact where customers are few.
    fn by_recursion(stations: &[ServedAt], customers: usize, think: f64) -> (f64, Vec<f64>) {
        let mut shares = vec![vec![1.0]; stations.len()];
        let mut throughput = 0.0;
        for n in 1..=customers {
            let responses: Vec<f64> = stations
                .iter()
                .zip(&shares)
                .map(|(s, p)| {
                    (1..=n).map(|j| j as f64 * s.demand() / (j as f64).min(s.servers as f64) * p[j - 1]).sum()
                })
                .collect();
            throughput = n as f64 / (think + responses.iter().sum::<f64>());
            for (s, p) in stations.iter().zip(shares.iter_mut()) {
                let busy = |j: usize| throughput * s.demand() / (j as f64).min(s.servers as f64) * p[j - 1];
                let mut next = vec![0.0; n + 1];
                for (j, share) in next.iter_mut().enumerate().skip(1) {
                    *share = busy(j);
                }
                next[0] = 1.0 - next[1..].iter().sum::<f64>();
                *p = next;
            }
        }
        let numbers = shares.iter().map(|p| p.iter().enumerate().map(|(j, p)| j as f64 * p).sum()).collect();
        (throughput, numbers)
    }

    #[test]
    fn many_customers_lose_no_digit() {
        // The bottleneck is busy all the time: X = c/S, to the last digits, where the recursion has none left.
        let stations = vec![
            ServedAt { service: 1.0, visits: 1.0, servers: 8 },
            ServedAt { service: 0.05, visits: 1.0, servers: 1 },
        ];
        let answer = MultiserverMva::new(stations, 20_000, 3.0).unwrap().solve();
        assert!((answer.throughput / 8.0 - 1.0).abs() < 1e-12, "{answer:?}");
        // What is left, an M/M/1 at a load of 0.4.
        assert!((answer.stations[1].number / (0.4 / 0.6) - 1.0).abs() < 1e-9, "{answer:?}");
    }

    #[test]
    fn constants_beyond_all_floats() {
        let stations = vec![ServedAt { service: 1e-9, visits: 1.0, servers: 2 }; 2];
        let answer = MultiserverMva::new(stations, 2000, 1e9).unwrap().solve();
        assert!((answer.throughput / 2e-6 - 1.0).abs() < 1e-12, "{answer:?}");
    }

    #[test]
    fn servers_for_everybody_are_no_queue() {
        let stations = vec![ServedAt { service: 2.0, visits: 1.5, servers: 1000 }];
        let answer = MultiserverMva::new(stations, 10, 7.0).unwrap().solve();
        assert!((answer.throughput - 1.0).abs() < 1e-13 && (answer.stations[0].response - 2.0).abs() < 1e-12);
    }

    proptest! {
        #[test]
        fn with_one_server_each_it_is_plain_mva(
            demands in prop::collection::vec(1e-4..1e2f64, 1..5), customers in 1u64..60, think in 0.0..1e3f64,
        ) {
            let stations = demands.iter().map(|d| ServedAt { service: *d, visits: 1.0, servers: 1 }).collect();
            let convolved = MultiserverMva::new(stations, customers, think).unwrap().solve();
            let recursed = Mva::new(demands, customers, think).unwrap().solve();
            prop_assert!((convolved.throughput / recursed.throughput - 1.0).abs() < 1e-11);
            for (a, b) in convolved.stations.iter().zip(&recursed.stations) {
                prop_assert!((a.number / b.number - 1.0).abs() < 1e-10);
            }
        }

        #[test]
        fn with_few_customers_it_is_the_recursion(
            stations in prop::collection::vec((0.1..2.0f64, 0.2..3.0f64, 1u64..5), 1..4),
            customers in 1u64..12, think in 0.0..10.0f64,
        ) {
            let stations: Vec<ServedAt> = stations.into_iter()
                .map(|(service, visits, servers)| ServedAt { service, visits, servers }).collect();
            let (throughput, numbers) = by_recursion(&stations, customers as usize, think);
            let answer = MultiserverMva::new(stations, customers, think).unwrap().solve();
            prop_assert!((answer.throughput / throughput - 1.0).abs() < 1e-9);
            for (a, b) in answer.stations.iter().zip(&numbers) {
                prop_assert!((a.number - b).abs() < 1e-7 * customers as f64);
            }
            // Little, of all.
            let inside: f64 = answer.stations.iter().map(|s| s.number).sum();
            prop_assert!(((inside + answer.throughput * think) / customers as f64 - 1.0).abs() < 1e-11);
        }
    }
}
