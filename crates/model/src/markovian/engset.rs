//! Engset's loss formula: customers of a fixed number who think, ask, and think again at once where all servers are busy.

use super::mmc::MOST_SERVERS;
use super::population::{MOST_CUSTOMERS, Population};
use crate::card::{Family, Given, Kind, Model, Parameter};
use crate::{Result, Solution, Unit, check};

/// M/G/c/c//N: N customers, servers without a queue.
#[derive(Clone, Debug, PartialEq)]
pub struct Engset {
    /// Requests under way: as many servers are busy.
    busy: Population,
    loss: f64,
}

impl Engset {
    /// Requests per second of one customer that thinks, services per second of one busy server, servers, customers
    /// (1 to 1000000 each).
    ///
    /// # Errors
    /// When a parameter is out of range.
    pub fn new(lambda: f64, mu: f64, servers: u64, population: u64) -> Result<Self> {
        let busy = Population::new(lambda, mu, servers, population, servers)?;
        let loss = busy.found.get(servers as usize).copied().unwrap_or(0.0);
        Ok(Self { busy, loss })
    }

    /// Share of requests that find all servers busy and are lost.
    pub fn loss(&self) -> f64 {
        self.loss
    }

    /// Share of time that as many servers as there are, or customers, are busy.
    pub fn full(&self) -> f64 {
        self.busy.at_any_time[self.busy.at_any_time.len() - 1]
    }

    /// πₙ: share of time with n servers busy; 0 beyond servers and customers.
    pub fn probability(&self, n: u64) -> f64 {
        self.busy.probability(n)
    }

    /// Mean number of busy servers.
    pub fn mean_busy(&self) -> f64 {
        self.busy.mean()
    }

    /// Requests per second, lost ones too: λ(N − busy).
    pub fn offered(&self) -> f64 {
        self.busy.asked()
    }
}

/// In the catalogue.
pub(crate) const MODEL: Model = Model {
    name: "engset",
    title: "Engset (M/G/c/c//N)",
    family: Family::Markovian,
    summary: "a fixed number of customers at servers without a queue: the share of requests lost",
    formula: "πₙ = C(N, n)aⁿ/Σₖ₌₀ᶜ C(N, k)aᵏ, a = λ/μ; loss: π_c with N − 1 customers; offered λ(N − busy)",
    assumptions: "exponential thinking; services independent of all else; equal servers; who finds all busy thinks again",
    source: "Engset (1918); Gross, Shortle, Thompson and Harris (2008), Fundamentals of Queueing Theory, section 2.8",
    holds: "exact at any load, for services of any distribution; up to 1000000 servers and customers",
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
            example: "2000/s",
        },
        Parameter { name: "servers", kind: Kind::Count, means: "servers", default: None, example: "4" },
        Parameter {
            name: "population",
            kind: Kind::Count,
            means: "customers in all",
            default: None,
            example: "10",
        },
    ],
    solve,
};

fn solve(given: &Given) -> Result<Solution> {
    let servers = given.count("servers", 1, MOST_SERVERS)?;
    let population = given.count("population", 1, MOST_CUSTOMERS)?;
    let mu = given.rate("mu")?;
    let system = Engset::new(given.rate("lambda")?, mu, servers, population)?;
    let busy = system.mean_busy();
    Ok(Solution::new()
        .with("loss", system.loss(), Unit::Share)
        .with("utilization", check::share_of_time(busy / servers as f64), Unit::Share)
        .with("idle", system.probability(0), Unit::Share)
        .with("throughput", busy * mu, Unit::PerSecond)
        .with("number.mean", busy, Unit::Count)
        .with("response.mean", 1.0 / mu, Unit::Seconds)
        .with("busy.mean", busy, Unit::Count)
        .with("offered.rate", system.offered(), Unit::PerSecond))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::markovian::ErlangB;
    use proptest::prelude::*;

    #[test]
    fn three_customers_at_two_servers_by_hand() {
        // a = 1/2: weights 1, 3/2, 3/4; with two customers 1, 1, 1/4.
        let system = Engset::new(1.0, 2.0, 2, 3).unwrap();
        let close = |left: f64, right: f64| assert!((left / right - 1.0).abs() < 1e-14, "{left} {right}");
        close(system.full(), 0.75 / 3.25);
        close(system.loss(), 0.25 / 2.25);
        close(system.mean_busy(), 3.0 / 3.25);
    }

    #[test]
    fn as_many_servers_as_customers_lose_nothing() {
        assert_eq!(Engset::new(3.0, 2.0, 4, 4).unwrap().loss(), 0.0);
        assert_eq!(Engset::new(3.0, 2.0, 1_000_000, 1).unwrap().loss(), 0.0);
    }

    #[test]
    fn many_who_seldom_ask_are_erlangs() {
        let n = 1_000_000;
        let system = Engset::new(3.0 / n as f64, 1.0, 5, n).unwrap();
        assert!((system.loss() / ErlangB::new(3.0, 5).unwrap().loss() - 1.0).abs() < 1e-4);
    }

    proptest! {
        #[test]
        fn what_is_offered_is_served_or_lost(load in 1e-6f64..1e2, mu in 1e-9f64..1e9, servers in 1u64..20, population in 1u64..200) {
            let system = Engset::new(load * mu, mu, servers, population).unwrap();
            let served = system.mean_busy() * mu;
            prop_assert!((system.offered() * (1.0 - system.loss()) / served - 1.0).abs() < 1e-9);
        }
    }
}
