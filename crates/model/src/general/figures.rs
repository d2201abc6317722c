//! The figures that every queue here answers, in the order a person reads them.

use crate::numeric::quantile::SHARES;
use crate::{Result, Solution, Unit};

/// The means of a queue in steady state that loses nobody, all from the mean wait by Little's law.
pub(crate) struct Means {
    /// Arrivals per second.
    pub lambda: f64,
    /// Mean service, seconds.
    pub service: f64,
    /// Share of time that one server is busy.
    pub utilization: f64,
    /// Mean wait, seconds.
    pub wait: f64,
}

impl Means {
    /// As a solution. `idle` and `wait_probability` only where they are known.
    pub(crate) fn solution(self, idle: Option<f64>, wait_probability: Option<f64>) -> Solution {
        let response = self.wait + self.service;
        let mut solution = Solution::new().with("utilization", self.utilization, Unit::Share);
        if let Some(idle) = idle {
            solution = solution.with("idle", idle, Unit::Share);
        }
        solution = solution
            .with("throughput", self.lambda, Unit::PerSecond)
            .with("number.mean", self.lambda * response, Unit::Count)
            .with("queue.mean", self.lambda * self.wait, Unit::Count)
            .with("wait.mean", self.wait, Unit::Seconds)
            .with("response.mean", response, Unit::Seconds);
        if let Some(probability) = wait_probability {
            solution = solution.with("wait.probability", probability, Unit::Share);
        }
        solution
    }
}

/// With the quantiles of wait and response at the usual shares.
pub(super) fn with_quantiles(
    mut solution: Solution,
    wait: impl Fn(f64) -> Result<f64>,
    response: impl Fn(f64) -> Result<f64>,
) -> Result<Solution> {
    for (name, share) in SHARES {
        solution = solution.with(format!("wait.{name}"), wait(share)?, Unit::Seconds);
    }
    for (name, share) in SHARES {
        solution = solution.with(format!("response.{name}"), response(share)?, Unit::Seconds);
    }
    Ok(solution)
}
