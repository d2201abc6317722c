//! M/M/1: the birth-death chain of one server, whole.

use crate::catalogue::{Family, Given, Kind, Model, Parameter};
use crate::{Result, Solution, Unit, check};

/// One server, exponential gaps and services, first come first served, no limit on the queue.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mm1 {
    lambda: f64,
    mu: f64,
}

impl Mm1 {
    /// Arrivals and services per second.
    ///
    /// # Errors
    /// When a rate is not above zero, or arrivals are as fast as services or faster.
    pub fn new(lambda: f64, mu: f64) -> Result<Self> {
        check::positive("lambda", lambda)?;
        check::positive("mu", mu)?;
        check::stable("lambda", lambda / mu, "give a lambda below mu")?;
        Ok(Self { lambda, mu })
    }

    /// ρ = λ/μ: share of time that the server is busy.
    pub fn utilization(&self) -> f64 {
        self.lambda / self.mu
    }

    /// Mean time in the system, seconds: 1/(μ − λ).
    pub fn mean_response(&self) -> f64 {
        1.0 / (self.mu - self.lambda)
    }
}

/// In the catalogue.
pub(crate) const MODEL: Model = Model {
    name: "mm1",
    title: "M/M/1",
    family: Family::Markovian,
    summary: "one server, memoryless arrivals and services",
    formula: "ρ = λ/μ; πₙ = (1 − ρ)ρⁿ; W = 1/(μ − λ)",
    assumptions: "Poisson arrivals; exponential services, independent of all else; first come, first served; no limit on the queue",
    source: "Kleinrock (1975), Queueing Systems I, section 3.2",
    holds: "exact for λ < μ",
    parameters: &[
        Parameter { name: "lambda", kind: Kind::Rate, means: "arrivals", default: None, example: "8000/s" },
        Parameter {
            name: "mu",
            kind: Kind::Rate,
            means: "services of a busy server",
            default: None,
            example: "10000/s",
        },
    ],
    solve,
};

fn solve(given: &Given) -> Result<Solution> {
    let queue = Mm1::new(given.rate("lambda")?, given.rate("mu")?)?;
    Ok(Solution::new().with("utilization", queue.utilization(), Unit::Share).with(
        "response.mean",
        queue.mean_response(),
        Unit::Seconds,
    ))
}
