//! The means of a queue that every model here answers, and how they follow from the wait: by Little's law.

use crate::{Result, Solution, Unit, check};

/// Means in the steady state. Waits and responses are those of all customers; none is lost.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Means {
    /// Share of time that the server serves.
    pub utilization: f64,
    /// Share of time that nobody is in the system.
    pub idle: f64,
    /// Customers per second.
    pub throughput: f64,
    /// Customers in the system.
    pub number: f64,
    /// Customers that wait for their service to begin.
    pub queue: f64,
    /// Time before service, seconds.
    pub wait: f64,
    /// Time in the system, seconds.
    pub response: f64,
    /// Share of customers that wait at all.
    pub wait_probability: f64,
}

impl Means {
    /// As figures under their flat names.
    pub fn solution(&self) -> Solution {
        Solution::new()
            .with("utilization", self.utilization, Unit::Share)
            .with("idle", self.idle, Unit::Share)
            .with("throughput", self.throughput, Unit::PerSecond)
            .with("number.mean", self.number, Unit::Count)
            .with("queue.mean", self.queue, Unit::Count)
            .with("wait.mean", self.wait, Unit::Seconds)
            .with("response.mean", self.response, Unit::Seconds)
            .with("wait.probability", self.wait_probability, Unit::Share)
    }
}

/// What one server with Poisson arrivals is asked to do: the part that all ways of waking it share.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Load {
    /// Customers per second.
    pub(super) lambda: f64,
    /// Mean service time, seconds.
    pub(super) service: f64,
    /// Second moment of the service time, seconds².
    pub(super) service_squared: f64,
}

impl Load {
    /// Checked: the rate is usable and the server keeps up.
    pub(super) fn new(lambda: f64, service: &crate::Distribution) -> Result<Self> {
        check::positive("lambda", lambda)?;
        let service = service.clone().checked("service")?;
        check::stable("lambda", lambda * service.mean(), "give a lambda below 1/(mean service time)")?;
        let load = Self { lambda, service: service.mean(), service_squared: service.moment(2) };
        check::stable("lambda", 1.0 - load.spare(), "give a lambda below 1/(mean service time)")?;
        Ok(load)
    }

    /// ρ = λE\[S\].
    pub(super) fn utilization(&self) -> f64 {
        self.lambda * self.service
    }

    /// 1 − ρ with one rounding.
    pub(super) fn spare(&self) -> f64 {
        (-self.lambda).mul_add(self.service, 1.0)
    }

    /// Mean wait of M/G/1 at this load, seconds: λE\[S²\]/(2(1 − ρ)).
    pub(super) fn pollaczek_khinchine(&self) -> f64 {
        self.lambda * self.service_squared / (2.0 * self.spare())
    }

    /// All means from the mean wait, P(nobody there) and P(an arrival waits).
    pub(super) fn means(&self, wait: f64, idle: f64, wait_probability: f64) -> Means {
        let response = wait + self.service;
        Means {
            utilization: self.utilization(),
            idle,
            throughput: self.lambda,
            number: self.lambda * response,
            queue: self.lambda * wait,
            wait,
            response,
            wait_probability,
        }
    }
}
