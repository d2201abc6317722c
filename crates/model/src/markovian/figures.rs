//! The figures that every queue of this family answers, in the order a person reads them.

use crate::numeric::quantile::SHARES;
use crate::{Result, Solution, Unit};

/// What is told of a queue in steady state.
pub(super) struct Figures {
    pub utilization: f64,
    pub idle: f64,
    pub throughput: f64,
    /// Share of arrivals lost, where some can be.
    pub loss: Option<f64>,
    pub number: f64,
    pub queue: f64,
    pub wait: f64,
    pub response: f64,
    pub wait_probability: f64,
}

impl Figures {
    /// As a solution, with quantiles at the usual shares.
    pub(super) fn solution(
        self,
        wait_quantile: impl Fn(f64) -> Result<f64>,
        response_quantile: impl Fn(f64) -> Result<f64>,
    ) -> Result<Solution> {
        let mut solution = Solution::new()
            .with("utilization", self.utilization, Unit::Share)
            .with("idle", self.idle, Unit::Share)
            .with("throughput", self.throughput, Unit::PerSecond);
        if let Some(loss) = self.loss {
            solution = solution.with("loss", loss, Unit::Share);
        }
        solution = solution
            .with("number.mean", self.number, Unit::Count)
            .with("queue.mean", self.queue, Unit::Count)
            .with("wait.mean", self.wait, Unit::Seconds)
            .with("response.mean", self.response, Unit::Seconds)
            .with("wait.probability", self.wait_probability, Unit::Share);
        for (name, share) in SHARES {
            solution = solution.with(format!("wait.{name}"), wait_quantile(share)?, Unit::Seconds);
        }
        for (name, share) in SHARES {
            solution = solution.with(format!("response.{name}"), response_quantile(share)?, Unit::Seconds);
        }
        Ok(solution)
    }
}
