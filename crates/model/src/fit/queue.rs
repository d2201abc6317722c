//! Which models of a queue a trace leaves standing, and what those predict.

use serde::Serialize;
use tollway_stats::Location;

use super::estimate::Moments;
use super::series::Examined;
use super::text::{argument, rate_argument};
use crate::{Distribution, Solution, catalogue};

/// What a model takes arrivals or services for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Takes {
    /// Exponential.
    Memoryless,
    /// All equal.
    Constant,
    /// Any distribution.
    Any,
}

/// A model that is put to the test.
pub(super) struct Candidate {
    /// Its name in the catalogue.
    pub(super) name: &'static str,
    pub(super) gaps: Takes,
    pub(super) services: Takes,
    /// Servers beside each other; else one.
    pub(super) several: bool,
    /// A server that ran out of work has to be woken first.
    pub(super) setup: bool,
}

/// Those with the fewest free parameters first.
pub(super) const CANDIDATES: [Candidate; 8] = [
    Candidate {
        name: "mm1",
        gaps: Takes::Memoryless,
        services: Takes::Memoryless,
        several: false,
        setup: false,
    },
    Candidate {
        name: "md1",
        gaps: Takes::Memoryless,
        services: Takes::Constant,
        several: false,
        setup: false,
    },
    Candidate {
        name: "mmc",
        gaps: Takes::Memoryless,
        services: Takes::Memoryless,
        several: true,
        setup: false,
    },
    Candidate { name: "mg1", gaps: Takes::Memoryless, services: Takes::Any, several: false, setup: false },
    Candidate {
        name: "mg1-setup",
        gaps: Takes::Memoryless,
        services: Takes::Any,
        several: false,
        setup: true,
    },
    Candidate { name: "gim1", gaps: Takes::Any, services: Takes::Memoryless, several: false, setup: false },
    Candidate {
        name: "kramer-langenbach-belz",
        gaps: Takes::Any,
        services: Takes::Any,
        several: false,
        setup: false,
    },
    Candidate { name: "allen-cunneen", gaps: Takes::Any, services: Takes::Any, several: true, setup: false },
];

/// A model and what the trace says of it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Judged {
    /// Its name in the catalogue.
    pub model: &'static str,
    /// Its name in the field.
    pub title: &'static str,
    /// Whether the trace contradicts it.
    pub rejected: bool,
    /// By what; empty where it is not rejected.
    pub reasons: Vec<String>,
    /// p-value against the model: the least of those of all that it takes for granted, times their number
    /// (Bonferroni).
    pub p: f64,
    /// The same, adjusted for all models (Benjamini and Hochberg).
    pub q: f64,
    /// Mean response that it predicts (of how completions are told: mean delay), seconds.
    pub predicted_mean: Option<f64>,
    /// Prediction over observation, less 1.
    pub mean_off: Option<f64>,
    /// p-value against "the mean is as predicted", the errors of both taken as independent.
    pub mean_p: Option<f64>,
    /// 99th percentile of the same, seconds.
    pub predicted_p99: Option<f64>,
    /// Prediction over observation, less 1.
    pub p99_off: Option<f64>,
    /// The command that asks it; `None` where it has no answer, as where no steady state is.
    pub command: Option<String>,
}

/// What is known of the traffic, for predictions.
pub(super) struct Traffic {
    /// Arrivals per second, and the standard error of its logarithm.
    pub(super) lambda: (f64, f64),
    /// Mean service, seconds, and the standard error of its logarithm.
    pub(super) service: (f64, f64),
    /// cv² of gaps, and the standard error of its logarithm.
    pub(super) ca2: (f64, f64),
    /// cv² of services, and the standard error of its logarithm.
    pub(super) cs2: (f64, f64),
    /// What gaps are taken for, with the mean of all of them: a load hangs on the mean, and families are fitted to a part of
    /// a long trace.
    pub(super) gap: Distribution,
    /// The same of services.
    pub(super) service_distribution: Distribution,
    /// What waking an idle server takes, where that was seen to take something, and the standard error of its mean,
    /// seconds.
    pub(super) setup: Option<(Distribution, f64)>,
    pub(super) servers: u32,
}

impl Traffic {
    pub(super) fn of(
        gaps: &Examined,
        services: &Examined,
        setups: Option<&Moments>,
        servers: u32,
    ) -> Traffic {
        let variation = |e: &Examined| (e.moments.scv, e.moments.scv_error.unwrap_or(0.0));
        Traffic {
            lambda: (1.0 / gaps.moments.mean, gaps.moments.mean_error),
            service: (services.moments.mean, services.moments.mean_error),
            ca2: variation(gaps),
            cs2: variation(services),
            gap: with_mean(&gaps.distribution(), gaps.moments.mean),
            service_distribution: with_mean(&services.distribution(), services.moments.mean),
            setup: setups.map(|moments| (moments.distribution(), moments.mean * moments.mean_error)),
            servers,
        }
    }

    /// Share of time that a server is busy.
    pub(super) fn utilization(&self) -> f64 {
        self.lambda.0 * self.service.0 / f64::from(self.servers)
    }

    /// What the calculator is asked with.
    fn arguments(&self, of: &Candidate) -> Vec<(&'static str, String)> {
        let lambda = ("lambda", rate_argument(self.lambda.0));
        let mu = ("mu", rate_argument(1.0 / self.service.0));
        let servers = ("servers", self.servers.to_string());
        // Next to nothing is nothing: the calculator takes no cv² below 1e-15.
        let plain = |x: f64| super::text::number(if x < 1e-12 { 0.0 } else { x });
        match of.name {
            "mm1" => vec![lambda, mu],
            "md1" => vec![lambda, ("service", argument(self.service.0))],
            "mmc" => vec![lambda, mu, servers],
            "mg1" => vec![lambda, ("service", self.service_distribution.short())],
            "mg1-setup" => vec![
                lambda,
                ("service", self.service_distribution.short()),
                ("setup", self.setup.as_ref().map_or_else(String::new, |(setup, _)| setup.short())),
            ],
            "gim1" => vec![("interarrival", self.gap.short()), mu],
            "allen-cunneen" => {
                vec![lambda, mu, servers, ("ca2", plain(self.ca2.0)), ("cs2", plain(self.cs2.0))]
            }
            _ => vec![lambda, mu, ("ca2", plain(self.ca2.0)), ("cs2", plain(self.cs2.0))],
        }
    }

    /// Standard error of the logarithm of a predicted mean response, by the delta method on Kingman's approximation
    /// R = s + ρ/(1 − ρ) · (ca² + cs²)/2 · s.
    fn prediction_error(&self, of: &Candidate) -> f64 {
        let load = self.utilization();
        let s = self.service.0;
        let own = |takes: Takes, (value, error): (f64, f64)| match takes {
            Takes::Memoryless => (1.0, 0.0),
            Takes::Constant => (0.0, 0.0),
            Takes::Any => (value, value * error),
        };
        let (ca2, ca2_error) = own(of.gaps, self.ca2);
        let (cs2, cs2_error) = own(of.services, self.cs2);
        let variation = 0.5 * (ca2 + cs2);
        let response = s * (1.0 + load / (1.0 - load) * variation);
        let by_load = s * load / (1.0 - load).powi(2) * variation;
        let by_variation = 0.5 * s * load / (1.0 - load);
        let parts = [
            by_load * self.lambda.1,
            (response + by_load) * self.service.1,
            by_variation * ca2_error,
            by_variation * cs2_error,
            // Most of who finds the server idle waits for the whole of it, nobody for more than about that.
            self.setup.as_ref().filter(|_| of.setup).map_or(0.0, |(_, error)| *error),
        ];
        parts.iter().map(|p| p * p).sum::<f64>().sqrt() / response
    }
}

/// The same distribution in another unit, such that it has this mean.
fn with_mean(of: &Distribution, mean: f64) -> Distribution {
    let factor = mean / of.mean();
    match of.clone() {
        Distribution::Exponential { .. } => Distribution::Exponential { mean },
        Distribution::Constant { .. } => Distribution::Constant { value: mean },
        Distribution::Erlang { shape, .. } => Distribution::Erlang { shape, mean },
        Distribution::Gamma { shape, .. } => Distribution::Gamma { shape, mean },
        Distribution::Weibull { shape, .. } => Distribution::Weibull { shape, mean },
        Distribution::Lognormal { scv, .. } => Distribution::Lognormal { mean, scv },
        Distribution::Uniform { low, high } => {
            Distribution::Uniform { low: low * factor, high: high * factor }
        }
        Distribution::Hyperexponential { branches } => Distribution::Hyperexponential {
            branches: branches.into_iter().map(|(p, m)| (p, m * factor)).collect(),
        },
    }
}

/// Responses as they were seen.
pub(super) struct Observed {
    /// Mean, seconds, with the error that batch means have.
    pub(super) mean: Location,
    /// 99th percentile, seconds.
    pub(super) p99: f64,
}

/// Asks the calculator; `None` where the catalogue has no such model. Nothing is judged or read from the answer yet.
pub(super) fn asked(
    name: &'static str,
    arguments: &[(&'static str, String)],
) -> Option<(Judged, Option<Solution>)> {
    let model = catalogue::find(name).ok()?;
    let given = model.given(arguments.iter().map(|(name, value)| (*name, value.as_str())));
    let solution = given.and_then(|given| model.solve(&given)).ok();
    let quoted = arguments.iter().map(|(name, value)| {
        if value.contains(['(', ' ']) { format!("{name}='{value}'") } else { format!("{name}={value}") }
    });
    let command = format!("tollway model {name} {}", quoted.collect::<Vec<_>>().join(" "));
    let judged = Judged {
        model: name,
        title: model.title,
        rejected: false,
        reasons: Vec::new(),
        p: 1.0,
        q: 1.0,
        predicted_mean: None,
        mean_off: None,
        mean_p: None,
        predicted_p99: None,
        p99_off: None,
        command: solution.is_some().then_some(command),
    };
    Some((judged, solution))
}

/// What a model predicts; `None` where the catalogue has no such model. Whether it is rejected is judged elsewhere.
pub(super) fn predict(of: &Candidate, traffic: &Traffic, observed: Option<&Observed>) -> Option<Judged> {
    let (mut judged, solution) = asked(of.name, &traffic.arguments(of))?;
    let figure = |name: &str| solution.as_ref().and_then(|s| s.get(name));
    judged.predicted_mean = figure("response.mean");
    judged.predicted_p99 = figure("response.p99");
    if let Some(observed) = observed {
        judged.mean_off = judged.predicted_mean.map(|mean| mean / observed.mean.estimate - 1.0);
        judged.mean_p = judged.predicted_mean.map(|mean| {
            let error = mean * traffic.prediction_error(of);
            let both = observed.mean.standard_error.hypot(error);
            Location { standard_error: both, ..observed.mean }.p_different(mean)
        });
        judged.p99_off = judged.predicted_p99.map(|p99| p99 / observed.p99 - 1.0);
    }
    Some(judged)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_mean_is_another_unit() {
        for text in [
            "exponential(3us)",
            "constant(3us)",
            "erlang(4, 3us)",
            "hyperexponential(0.9, 1us, 0.1, 20us)",
            "gamma(0.5, 3us)",
            "lognormal(3us, 2)",
            "uniform(1us, 5us)",
            "weibull(1.5, 3us)",
        ] {
            let of: Distribution = text.parse().unwrap();
            let scaled = with_mean(&of, 7e-3);
            assert!((scaled.mean() / 7e-3 - 1.0).abs() < 1e-12, "{text}");
            assert!((scaled.scv() - of.scv()).abs() < 1e-9, "{text}");
        }
    }
}
