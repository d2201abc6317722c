//! M/M/c//N: a fixed number of customers who think, ask, wait for an answer, and think again.

use super::birth_death;
use super::figures::Figures;
use super::mmc::MOST_SERVERS;
use super::population::{MOST_CUSTOMERS, Population};
use super::sojourn::Sojourn;
use crate::card::{Family, Given, Kind, Model, Parameter};
use crate::{Result, Solution, Unit, check};

/// N customers, exponential thinking and service, several servers, first come first served.
#[derive(Clone, Debug)]
pub struct FiniteSource {
    mu: f64,
    servers: u64,
    under_way: Population,
    sojourn: Sojourn,
}

impl FiniteSource {
    /// Requests per second of one customer that thinks, services per second of one busy server, servers, customers
    /// (1 to 1000000).
    ///
    /// # Errors
    /// When a parameter is out of range.
    pub fn new(lambda: f64, mu: f64, servers: u64, population: u64) -> Result<Self> {
        let under_way = Population::new(lambda, mu, servers, population, population)?;
        let sojourn = Sojourn::new(servers as usize, mu, &under_way.found);
        Ok(Self { mu, servers, under_way, sojourn })
    }

    /// Share of time that a server is busy.
    pub fn utilization(&self) -> f64 {
        let c = self.servers as f64;
        let busy = |(n, p): (usize, &f64)| (n as f64).min(c) * p;
        check::share_of_time(self.under_way.at_any_time.iter().enumerate().map(busy).sum::<f64>() / c)
    }

    /// π₀: share of time that all think.
    pub fn idle(&self) -> f64 {
        self.under_way.at_any_time[0]
    }

    /// πₙ: share of time with n requests under way; 0 above the population.
    pub fn probability(&self, n: u64) -> f64 {
        self.under_way.probability(n)
    }

    /// Requests answered per second: λ(N − L).
    pub fn throughput(&self) -> f64 {
        self.under_way.asked()
    }

    /// L: mean number of requests under way.
    pub fn mean_number(&self) -> f64 {
        self.under_way.mean()
    }

    /// Mean number waiting.
    pub fn mean_queue(&self) -> f64 {
        birth_death::mean(self.under_way.at_any_time.get(self.servers as usize..).unwrap_or_default())
    }

    /// P(wait > 0).
    pub fn wait_probability(&self) -> f64 {
        self.sojourn.wait_probability()
    }

    /// Mean time before service, seconds.
    pub fn mean_wait(&self) -> f64 {
        self.sojourn.mean_wait()
    }

    /// Second moment of the time before service, seconds squared.
    pub fn wait_second_moment(&self) -> f64 {
        self.sojourn.wait_second_moment()
    }

    /// Mean time from request to answer, seconds.
    pub fn mean_response(&self) -> f64 {
        self.mean_wait() + 1.0 / self.mu
    }

    /// P(wait > t).
    pub fn wait_survival(&self, t: f64) -> f64 {
        self.sojourn.wait_survival(t)
    }

    /// P(response > t).
    pub fn response_survival(&self, t: f64) -> f64 {
        self.sojourn.response_survival(t)
    }

    /// The time that a `share` of requests wait no longer than, seconds.
    ///
    /// # Errors
    /// When the share is not above 0 and below 1.
    pub fn wait_quantile(&self, share: f64) -> Result<f64> {
        self.sojourn.wait_quantile(share)
    }

    /// The time within which a `share` of requests are answered, seconds.
    ///
    /// # Errors
    /// When the share is not above 0 and below 1.
    pub fn response_quantile(&self, share: f64) -> Result<f64> {
        self.sojourn.response_quantile(share)
    }
}

/// In the catalogue.
pub(crate) const MODEL: Model = Model {
    name: "finite-source",
    title: "M/M/c//N",
    family: Family::Markovian,
    summary: "a fixed number of customers who think, are served, and come back",
    formula: "πₙ₊₁/πₙ = (N − n)λ/(min(n + 1, c)μ); throughput λ(N − L); who asks finds n as in steady state with N − 1 customers",
    assumptions: "exponential thinking and services, independent of all else; equal servers; first come, first served",
    source: "Kleinrock (1975), Queueing Systems I, chapter 3; arrival theorem: Sevcik and Mitrani (1981), Journal of the ACM 28(2)",
    holds: "exact at any load; up to 1000000 customers",
    parameters: &[
        Parameter {
            name: "lambda",
            kind: Kind::Rate,
            means: "requests of one customer that thinks",
            default: None,
            example: "1000/s",
        },
        Parameter {
            name: "mu",
            kind: Kind::Rate,
            means: "services of one busy server",
            default: None,
            example: "10000/s",
        },
        Parameter { name: "servers", kind: Kind::Count, means: "servers", default: Some("1"), example: "1" },
        Parameter {
            name: "population",
            kind: Kind::Count,
            means: "customers in all",
            default: None,
            example: "16",
        },
    ],
    solve,
};

fn solve(given: &Given) -> Result<Solution> {
    let servers = given.count("servers", 1, MOST_SERVERS)?;
    let population = given.count("population", 1, MOST_CUSTOMERS)?;
    let system = FiniteSource::new(given.rate("lambda")?, given.rate("mu")?, servers, population)?;
    let figures = Figures {
        utilization: system.utilization(),
        idle: system.idle(),
        throughput: system.throughput(),
        loss: None,
        number: system.mean_number(),
        queue: system.mean_queue(),
        wait: system.mean_wait(),
        response: system.mean_response(),
        wait_probability: system.wait_probability(),
    };
    let wait = |share| system.wait_quantile(share);
    let solution = figures.solution(wait, |share| system.response_quantile(share))?;
    Ok(solution.with("wait.second-moment", system.wait_second_moment(), Unit::SecondsSquared))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::markovian::Mmc;
    use proptest::prelude::*;

    #[test]
    fn alone_nobody_waits() {
        let system = FiniteSource::new(3.0, 2.0, 1, 1).unwrap();
        assert!((system.utilization() - 0.6).abs() < 1e-15);
        assert_eq!(system.mean_wait(), 0.0);
        assert_eq!(system.wait_quantile(0.999).unwrap(), 0.0);
    }

    #[test]
    fn many_who_seldom_ask_are_a_poisson_stream() {
        let n = 1_000_000;
        let (closed, open) =
            (FiniteSource::new(1.5 / n as f64, 1.0, 2, n).unwrap(), Mmc::new(1.5, 1.0, 2).unwrap());
        assert!((closed.mean_wait() / open.mean_wait() - 1.0).abs() < 1e-4);
        let (some, all) = (closed.response_quantile(0.99).unwrap(), open.response_quantile(0.99).unwrap());
        assert!((some / all - 1.0).abs() < 1e-4);
    }

    #[test]
    fn as_many_servers_as_customers_are_independent() {
        let system = FiniteSource::new(1.0, 3.0, 9, 9).unwrap();
        for n in 0..=9u32 {
            let ways: f64 = (0..n).map(|k| f64::from(9 - k) / f64::from(k + 1)).product();
            let right = ways * 0.25f64.powi(n as i32) * 0.75f64.powi(9 - n as i32);
            assert!((system.probability(u64::from(n)) / right - 1.0).abs() < 1e-13);
        }
    }

    proptest! {
        #[test]
        fn laws_hold(load in 1e-6f64..1e6, mu in 1e-9f64..1e9, servers in 1u64..20, population in 1u64..200) {
            let lambda = load * mu;
            let system = FiniteSource::new(lambda, mu, servers, population).unwrap();
            let through = system.throughput();
            prop_assert!((through / (system.utilization() * servers as f64 * mu) - 1.0).abs() < 1e-11);
            // Little's law ties time averages with N customers to arrivals that find N − 1.
            prop_assert!((system.mean_number() / (through * system.mean_response()) - 1.0).abs() < 1e-11);
            let waiting = through * system.mean_wait();
            prop_assert!((system.mean_queue() - waiting).abs() <= 1e-11 * waiting);
        }
    }
}
