//! M/M/∞: a server for everybody.

use crate::card::{Family, Given, Kind, Model, Parameter};
use crate::chain::poisson;
use crate::numeric::quantile;
use crate::{Result, Solution, Unit, check};

/// As many servers as customers; nobody waits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MmInfinity {
    lambda: f64,
    mu: f64,
}

impl MmInfinity {
    /// Arrivals per second, services per second of one server.
    ///
    /// # Errors
    /// When a rate is not above zero.
    pub fn new(lambda: f64, mu: f64) -> Result<Self> {
        check::positive("lambda", lambda)?;
        check::positive("mu", mu)?;
        Ok(Self { lambda, mu })
    }

    /// λ/μ: mean number in the system, and its variance.
    pub fn mean_number(&self) -> f64 {
        self.lambda / self.mu
    }

    /// πₙ = e^(−a) aⁿ/n!, a = λ/μ: share of time with n customers.
    pub fn probability(&self, n: u64) -> f64 {
        poisson::probability(self.mean_number(), n)
    }

    /// The smallest n with P(N ≤ n) ≥ `share`; within one where λ/μ is above 1e10.
    ///
    /// # Errors
    /// When the share is not above 0 and below 1.
    pub fn number_quantile(&self, share: f64) -> Result<f64> {
        quantile::tail(share)?;
        Ok(poisson::quantile(self.mean_number(), share))
    }
}

/// In the catalogue.
pub(crate) const MODEL: Model = Model {
    name: "mminf",
    title: "M/M/∞",
    family: Family::Markovian,
    summary: "a server for everybody, memoryless arrivals and services",
    formula: "πₙ = e^(−a) aⁿ/n!, a = λ/μ: mean and variance a; W = 1/μ",
    assumptions: "Poisson arrivals; services independent of all else; nobody waits",
    source: "Kleinrock (1975), Queueing Systems I, chapter 3",
    holds: "exact, also for services of any other distribution of mean 1/μ; number.p99 within one where λ/μ is above 1e10",
    parameters: &[
        Parameter { name: "lambda", kind: Kind::Rate, means: "arrivals", default: None, example: "30000/s" },
        Parameter {
            name: "mu",
            kind: Kind::Rate,
            means: "services of one server",
            default: None,
            example: "10000/s",
        },
    ],
    solve,
};

fn solve(given: &Given) -> Result<Solution> {
    let system = MmInfinity::new(given.rate("lambda")?, given.rate("mu")?)?;
    Ok(Solution::new()
        .with("idle", system.probability(0), Unit::Share)
        .with("number.mean", system.mean_number(), Unit::Count)
        .with("number.variance", system.mean_number(), Unit::Count)
        .with("number.p99", system.number_quantile(0.99)?, Unit::Count)
        .with("response.mean", 1.0 / system.mu, Unit::Seconds))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::markovian::Mmc;

    #[test]
    fn it_is_what_many_servers_become() {
        let (all, many) = (MmInfinity::new(7.0, 2.0).unwrap(), Mmc::new(7.0, 2.0, 60).unwrap());
        for n in 0..20 {
            assert!((all.probability(n) / many.probability(n) - 1.0).abs() < 1e-12, "{n}");
        }
    }

    #[test]
    fn the_ends_of_the_range_answer() {
        for (lambda, mu) in [(1e-15, 1e15), (1e15, 1e-15), (1e15, 1.0), (1e10, 1.0)] {
            let n = MmInfinity::new(lambda, mu).unwrap().number_quantile(0.99).unwrap();
            assert!((n - lambda / mu).abs() <= 2.4 * (lambda / mu).sqrt() + 1.0);
        }
    }
}
