//! M/G/1 with processor sharing: all are served at once, each at an equal share of the server.

use crate::card::{Family, Given, Kind, Model, Parameter};
use crate::{Distribution, Result, Solution, Unit, check};

/// One server that all customers share evenly, Poisson arrivals.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mg1Ps {
    lambda: f64,
    service: f64,
    load: f64,
    /// 1 − ρ, rounded once.
    slack: f64,
}

impl Mg1Ps {
    /// Arrivals per second, and the distribution of the time that a service takes alone.
    ///
    /// # Errors
    /// When a parameter is out of range, or work arrives as fast as it is done or faster.
    pub fn new(lambda: f64, service: &Distribution) -> Result<Self> {
        check::positive("lambda", lambda)?;
        let service = service.clone().checked("service")?.mean();
        let load = lambda * service;
        check::stable("lambda", load, "give a lambda below 1 over the mean service")?;
        Ok(Self { lambda, service, load, slack: (-lambda).mul_add(service, 1.0) })
    }

    /// ρ = λm: share of time that the server is busy.
    pub fn utilization(&self) -> f64 {
        self.load
    }

    /// 1 − ρ: share of time that nobody is there.
    pub fn idle(&self) -> f64 {
        self.slack
    }

    /// m/(1 − ρ): mean time in the system, seconds, whatever the distribution of services.
    pub fn mean_response(&self) -> f64 {
        self.service / self.slack
    }

    /// x/(1 − ρ): mean time in the system of a customer whose service takes x seconds alone.
    pub fn mean_response_of(&self, x: f64) -> f64 {
        x / self.slack
    }

    /// 1/(1 − ρ): mean response over service, the same for services of any length.
    pub fn mean_slowdown(&self) -> f64 {
        1.0 / self.slack
    }

    /// ρ/(1 − ρ): mean number in the system.
    pub fn mean_number(&self) -> f64 {
        self.load / self.slack
    }

    /// (1 − ρ)ρⁿ: share of time with n customers in the system.
    pub fn probability(&self, n: u64) -> f64 {
        let ln_load = if self.load < 0.5 { self.load.ln() } else { (-self.slack).ln_1p() };
        self.slack * (n as f64 * ln_load).exp()
    }
}

/// In the catalogue.
pub(crate) const MODEL: Model = Model {
    name: "mg1-ps",
    title: "M/G/1, processor sharing",
    family: Family::General,
    summary: "one server that serves all at once, each at an equal share",
    formula: "ρ = λm; πₙ = (1 − ρ)ρⁿ; W = m/(1 − ρ), of a service of x seconds x/(1 − ρ); slowdown = response/service = 1/(1 − ρ)",
    assumptions: "Poisson arrivals; independent services; n customers are each served at 1/n of the speed; switching costs nothing",
    source: "Sakata, Noguchi and Oizumi (1971), An analysis of the M/G/1 queue under round-robin scheduling, Operations Research 19; Kleinrock (1976), Queueing Systems II, chapter 4",
    holds: "exact for λm < 1; only the mean of the services matters",
    parameters: &[
        Parameter { name: "lambda", kind: Kind::Rate, means: "arrivals", default: None, example: "8000/s" },
        Parameter {
            name: "service",
            kind: Kind::Distribution,
            means: "time that one service takes alone",
            default: None,
            example: "lognormal(100us, 2)",
        },
    ],
    solve,
};

fn solve(given: &Given) -> Result<Solution> {
    let queue = Mg1Ps::new(given.rate("lambda")?, &given.distribution("service")?)?;
    Ok(Solution::new()
        .with("utilization", queue.utilization(), Unit::Share)
        .with("idle", queue.idle(), Unit::Share)
        .with("throughput", queue.lambda, Unit::PerSecond)
        .with("number.mean", queue.mean_number(), Unit::Count)
        .with("response.mean", queue.mean_response(), Unit::Seconds)
        .with("slowdown.mean", queue.mean_slowdown(), Unit::Ratio))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::markovian::Mm1;

    #[test]
    fn memoryless_services_do_not_care_for_the_order() {
        let shared = Mg1Ps::new(0.8, &"exponential(1)".parse().unwrap()).unwrap();
        let queued = Mm1::new(0.8, 1.0).unwrap();
        assert!((shared.mean_response() / queued.mean_response() - 1.0).abs() < 1e-12);
        assert!((shared.mean_number() / (0.8 * shared.mean_response()) - 1.0).abs() < 1e-12);
        assert!((shared.probability(3) / queued.probability(3) - 1.0).abs() < 1e-12);
        let mean: f64 = (0..400u32).map(|n| f64::from(n) * shared.probability(n.into())).sum();
        assert!((mean / shared.mean_number() - 1.0).abs() < 1e-9);
        assert!(Mg1Ps::new(1.0, &"constant(1)".parse().unwrap()).is_err());
    }
}
