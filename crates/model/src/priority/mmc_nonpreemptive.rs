//! M/M/c with classes where a service begun is finished, and all services are alike.

use super::LAMBDAS;
use super::classes::{ClassMeans, Classes};
use crate::card::{Family, Given, Kind, Model, Parameter};
use crate::markovian::Mmc;
use crate::{Result, Solution, Unit, check};

/// Several servers on one queue, classes of Poisson arrivals, exponential services of one rate.
#[derive(Clone, Debug, PartialEq)]
pub struct MmcNonPreemptive {
    classes: Classes,
    mu: f64,
    servers: u64,
    wait_probability: f64,
}

impl MmcNonPreemptive {
    /// Arrivals per second of each class, the one that is served first in front; services per second of one busy
    /// server; servers (1 to 1000000). Classes that bring too much work are taken: those before them have a steady
    /// state all the same.
    ///
    /// # Errors
    /// When a parameter is out of range.
    pub fn new(lambdas: &[f64], mu: f64, servers: u64) -> Result<Self> {
        check::positive("mu", mu)?;
        check::count("servers", servers, 1, 1_000_000)?;
        let all = 1.0 / (servers as f64 * mu);
        // Between ends of services, while all servers are busy: exponential, so its residual is its mean.
        let classes = Classes::of_means(lambdas.iter().map(|lambda| (*lambda, all, all)))?;
        let overloaded = classes.ranks.iter().any(|rank| rank.after <= 0.0);
        let wait_probability = match Mmc::new(lambdas.iter().sum(), mu, servers) {
            Ok(together) if !overloaded => together.wait_probability(),
            // An overloaded class keeps all servers busy.
            _ => 1.0,
        };
        Ok(Self { classes, mu, servers, wait_probability })
    }

    /// ρ: share of time that a server is busy.
    pub fn utilization(&self) -> f64 {
        self.classes.ranks.iter().map(|rank| rank.load).sum::<f64>().min(1.0)
    }

    /// Erlang's C of all classes together: share of arrivals, of any class, that find all servers busy.
    pub fn wait_probability(&self) -> f64 {
        self.wait_probability
    }

    /// Means of a class, numbered from 1: Wₖ = C/(cμ) / ((1 − σₖ₋₁)(1 − σₖ)), σₖ = (λ₁ + … + λₖ)/(cμ).
    ///
    /// # Errors
    /// When there is no such class, or it has no steady state.
    pub fn class(&self, class: usize) -> Result<ClassMeans> {
        let rank = self.classes.stable(class)?;
        let wait = self.wait_probability * rank.service / rank.before / rank.after;
        let response = wait + 1.0 / self.mu;
        Ok(ClassMeans { lambda: rank.lambda, utilization: rank.load, wait, response })
    }

    /// Servers.
    pub fn servers(&self) -> u64 {
        self.servers
    }
}

/// In the catalogue.
pub(crate) const MODEL: Model = Model {
    name: "mmc-nonpreemptive",
    title: "M/M/c, classes, a service begun is finished",
    family: Family::Priorities,
    summary: "several servers on one queue, classes by rank with like services, no interruption of a service",
    formula: "σₖ = (λ₁ + … + λₖ)/(cμ); Wₖ = C(c, Σλ/μ)/(cμ) / ((1 − σₖ₋₁)(1 − σₖ)), C Erlang's chance to wait; response = wait + 1/μ",
    assumptions: "Poisson arrivals of each class; exponential services of the same rate in all classes; no server idles while somebody waits; within a class first come, first served",
    source: "Cobham (1954), Priority assignment in waiting line problems, Operations Research 2, 70–76; Gross, Shortle, Thompson and Harris (2008), Fundamentals of Queueing Theory, section 3.4",
    holds: "exact while all classes together bring less work than can be done; the classes before an overloaded one are solved by the library's own type",
    parameters: &[
        Parameter { example: "10000/s, 15000/s", ..LAMBDAS },
        Parameter {
            name: "mu",
            kind: Kind::Rate,
            means: "services of one busy server",
            default: None,
            example: "10000/s",
        },
        Parameter { name: "servers", kind: Kind::Count, means: "servers", default: None, example: "4" },
    ],
    solve,
};

fn solve(given: &Given) -> Result<Solution> {
    let servers = given.count("servers", 1, 1_000_000)?;
    let queue = MmcNonPreemptive::new(&given.rates("lambdas")?, given.rate("mu")?, servers)?;
    Ok(queue.classes.solution(queue.utilization(), |class| queue.class(class))?.with(
        "wait.probability",
        queue.wait_probability(),
        Unit::Share,
    ))
}
