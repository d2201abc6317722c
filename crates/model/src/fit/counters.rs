//! Rates from counters alone, where no trace was kept: exact intervals under the assumption that the counters cannot
//! test.

use serde::Serialize;
use tollway_stats::{Interval, counts};

use super::estimate::{CONFIDENCE, Estimate};
use super::text::rate_argument;
use crate::{ModelError, Result, Unit, check};

/// What was counted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Counters {
    /// Customers that came.
    pub arrivals: u64,
    /// Seconds in which they did.
    pub seconds: f64,
    /// Customers that were served; `None`: as many as came.
    pub served: Option<u64>,
    /// Seconds of all servers together in which they were busy.
    pub busy: Option<f64>,
    /// Servers side by side.
    pub servers: u32,
}

/// What counters say.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Counted {
    /// Figures with exact 95 % intervals.
    pub estimates: Vec<Estimate>,
    /// The command that asks the model that was assumed; `None` where it has no steady state, or services are unknown.
    pub command: Option<String>,
    /// What was taken for granted.
    pub notes: Vec<String>,
}

impl Counters {
    /// λ with the exact interval of a Poisson count; μ with that of exponential services.
    ///
    /// # Errors
    /// When a counter is not usable, or servers were busy for longer than there was time.
    pub fn fit(&self) -> Result<Counted> {
        let seconds = check::positive("seconds", self.seconds)?;
        if self.servers == 0 {
            return Err(ModelError::parameter("servers", "there is none", "give one or more"));
        }
        let internal = |error: tollway_stats::StatsError| {
            ModelError::parameter("counters", error.to_string(), "give counts above zero")
        };
        let lambda = counts::poisson_rate(self.arrivals, seconds, CONFIDENCE).map_err(internal)?;
        let mut counted = Counted {
            estimates: vec![Estimate::of("lambda", lambda, Unit::PerSecond)],
            command: None,
            notes: vec![
                "the interval of lambda takes arrivals for Poisson, which counters cannot test".into(),
            ],
        };
        let Some(busy) = self.busy else { return Ok(counted) };
        let busy = check::positive("busy", busy)?;
        let capacity = seconds * f64::from(self.servers);
        if busy > capacity * (1.0 + 1e-9) {
            return Err(ModelError::parameter(
                "busy",
                format!("{busy} s are more than the {capacity} s that there were"),
                "give the time that servers were busy, and --servers if they are several",
            ));
        }
        let mu = counts::gamma_rate(self.served.unwrap_or(self.arrivals), busy, CONFIDENCE)
            .map_err(|_| ModelError::parameter("served", "nobody was", "count for longer"))?;
        let service = Interval { estimate: 1.0 / mu.estimate, lo: 1.0 / mu.hi, hi: 1.0 / mu.lo, ..mu };
        counted.estimates.push(Estimate::of("mu", mu, Unit::PerSecond));
        counted.estimates.push(Estimate::of("service.mean", service, Unit::Seconds));
        counted.estimates.push(Estimate::alone("utilization", busy / capacity, Unit::Share));
        counted.notes.push(
            "the interval of mu takes services for exponential; where they vary less it is too wide, and M/M/1 too slow".into(),
        );
        if lambda.estimate > 0.0 && lambda.estimate < mu.estimate * f64::from(self.servers) {
            let rates =
                format!("lambda={} mu={}", rate_argument(lambda.estimate), rate_argument(mu.estimate));
            counted.command = Some(match self.servers {
                1 => format!("tollway model mm1 {rates}"),
                servers => format!("tollway model mmc {rates} servers={servers}"),
            });
        }
        Ok(counted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEN_SECONDS: Counters =
        Counters { arrivals: 400, seconds: 10.0, served: None, busy: Some(8.0), servers: 1 };

    #[test]
    fn rates_with_exact_intervals_and_a_command() {
        let counted = TEN_SECONDS.fit().unwrap();
        let [lambda, mu, service, load] = &counted.estimates[..] else { panic!("{counted:?}") };
        assert_eq!((lambda.value, mu.value, service.value, load.value), (40.0, 50.0, 0.02, 0.8));
        assert!(lambda.lo.unwrap() > 36.1 && lambda.hi.unwrap() < 44.2);
        assert_eq!(counted.command.as_deref(), Some("tollway model mm1 lambda=40/s mu=50/s"));
    }

    #[test]
    fn what_cannot_have_been_counted_is_refused() {
        for (counters, place) in [
            (Counters { seconds: 0.0, ..TEN_SECONDS }, "seconds: "),
            (Counters { seconds: f64::NAN, ..TEN_SECONDS }, "seconds: "),
            (Counters { busy: Some(11.0), ..TEN_SECONDS }, "busy: "),
            (Counters { busy: Some(-1.0), ..TEN_SECONDS }, "busy: "),
            (Counters { served: Some(0), ..TEN_SECONDS }, "served: "),
            (Counters { servers: 0, ..TEN_SECONDS }, "servers: "),
        ] {
            let told = counters.fit().unwrap_err().to_string();
            assert!(told.starts_with(place), "{told}");
        }
        let silent = Counters { arrivals: 0, busy: None, ..TEN_SECONDS }.fit().unwrap();
        assert_eq!((silent.estimates[0].lo, silent.command), (Some(0.0), None));
    }
}
