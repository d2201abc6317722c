//! What a model answers: figures under flat names that formula, numerical chain and simulation share.
//!
//! Names are `subject.statistic`, in front of them a part of the system where it is not the whole:
//!
//! - `utilization`, `idle`, `throughput`, `loss`: share of time a server is busy, share of time the system is empty,
//!   customers served per second, share of arrivals lost;
//! - `number.mean`, `queue.mean`: customers in the system, customers waiting;
//! - `wait.mean`, `response.mean`, `wait.p50`, `response.p99`, `response.p999`: time before service, time in the
//!   system, quantiles of both; `wait.probability`: share of arrivals that wait at all;
//! - `delay.mean`, `delay.p99`: how long a completion is held back before it is told;
//! - `interrupts.rate`, `batch.mean`: interrupts per second, completions told by one;
//! - `class.NAME.…`, `station.NAME.…`, `source.NAME.…`: the same of one part. The `utilization` of a class is the share of
//!   server time that its own customers take; those of all classes add up to that of the servers.

use std::borrow::Cow;

use serde::Serialize;

use crate::{ModelError, Result, Unit};

/// One figure.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Metric {
    /// Its flat name.
    pub name: Cow<'static, str>,
    /// Its value, in `unit`.
    pub value: f64,
    /// The unit of the value.
    pub unit: Unit,
}

/// All figures of one model at one point, in the order a person reads them.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Solution {
    metrics: Vec<Metric>,
}

impl Solution {
    /// No figure yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// With one more figure.
    #[must_use]
    pub fn with(mut self, name: impl Into<Cow<'static, str>>, value: f64, unit: Unit) -> Self {
        // A difference of equals, times a negative number, is −0; none of these figures has a sign there.
        let value = if value == 0.0 { 0.0 } else { value };
        self.metrics.push(Metric { name: name.into(), value, unit });
        self
    }

    /// The solution, if every figure is a finite number.
    ///
    /// # Errors
    /// When one is not: the model's numbers left the range of floating point.
    pub fn finite(self) -> Result<Self> {
        match self.metrics.iter().find(|m| !m.value.is_finite()) {
            None => Ok(self),
            Some(metric) => Err(ModelError::Numerical {
                method: "formula",
                reason: format!("{} is not finite at these parameters", metric.name),
            }),
        }
    }

    /// The figure of that name.
    pub fn get(&self, name: &str) -> Option<f64> {
        self.metrics.iter().find(|m| m.name == name).map(|m| m.value)
    }

    /// All figures, in order.
    pub fn metrics(&self) -> &[Metric] {
        &self.metrics
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figure_of_nothing_has_no_sign() {
        let solution =
            Solution::new().with("wait.mean", -0.0, Unit::Seconds).with("drift", -1.0, Unit::Ratio);
        assert!(solution.get("wait.mean").unwrap().is_sign_positive());
        assert_eq!(solution.get("drift"), Some(-1.0));
    }
}
