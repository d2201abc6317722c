//! M/G/1 with setup times: a server that found nobody sleeps, and takes a while to wake when somebody comes.

use super::Mg1;
use super::figures::Means;
use crate::card::{Family, Given, Kind, Model, Parameter};
use crate::{Distribution, Result, Solution, Unit};

/// One server, Poisson arrivals; who comes to an empty system starts a setup, after which the server works until nobody
/// is left.
#[derive(Clone, Debug, PartialEq)]
pub struct Mg1Setup {
    lambda: f64,
    service: Distribution,
    setup: Distribution,
    awake: Mg1,
}

impl Mg1Setup {
    /// Arrivals per second, the distribution of services, the distribution of setups.
    ///
    /// # Errors
    /// When a parameter is out of range, or work arrives as fast as it is done or faster.
    pub fn new(lambda: f64, service: Distribution, setup: Distribution) -> Result<Self> {
        let setup = setup.checked("setup")?;
        let awake = Mg1::new(lambda, service.clone())?;
        Ok(Self { lambda, service, setup, awake })
    }

    /// ρ = λm: share of time that the server serves.
    pub fn utilization(&self) -> f64 {
        self.awake.utilization()
    }

    /// (1 − ρ)/(1 + λE\[D\]): share of time that nobody is there and the server sleeps.
    pub fn idle(&self) -> f64 {
        self.awake.idle() / (1.0 + self.lambda * self.setup.mean())
    }

    /// (1 − ρ)λE\[D\]/(1 + λE\[D\]): share of time that the server wakes.
    pub fn waking(&self) -> f64 {
        self.idle() * self.lambda * self.setup.mean()
    }

    /// λ(1 − ρ)/(1 + λE\[D\]): setups per second, one for each arrival that finds nobody.
    pub fn setups(&self) -> f64 {
        self.lambda * self.idle()
    }

    /// Mean wait, seconds: that of M/G/1, and (2E\[D\] + λE\[D²\])/(2(1 + λE\[D\])).
    pub fn mean_wait(&self) -> f64 {
        let mean = self.setup.mean();
        let load = self.lambda * mean;
        // E[D²]/2 is E[D] times the mean residual.
        self.awake.mean_wait() + (mean + load * self.setup.residual_mean()) / (1.0 + load)
    }
}

/// In the catalogue.
pub(crate) const MODEL: Model = Model {
    name: "mg1-setup",
    title: "M/G/1, setup times",
    family: Family::General,
    summary: "one server that sleeps when nobody is there and takes a while to wake",
    formula: "Wq = λE[S²]/(2(1 − ρ)) + (2E[D] + λE[D²])/(2(1 + λE[D])); P(nobody there) = (1 − ρ)/(1 + λE[D]); setups per second: λ times that",
    assumptions: "Poisson arrivals; independent services and setups; the first customer of a busy period waits for the whole setup; first come, first served; no limit on the queue",
    source: "Welch (1964), On a generalized M/G/1 queuing process in which the first customer of each busy period receives exceptional service, Operations Research 12; Takagi (1991), Queueing Analysis 1, chapter 2",
    holds: "exact for λm < 1",
    parameters: &[
        Parameter { name: "lambda", kind: Kind::Rate, means: "arrivals", default: None, example: "8000/s" },
        Parameter {
            name: "service",
            kind: Kind::Distribution,
            means: "time of one service",
            default: None,
            example: "exponential(100us)",
        },
        Parameter {
            name: "setup",
            kind: Kind::Distribution,
            means: "time from the first arrival to the first service",
            default: None,
            example: "constant(20us)",
        },
    ],
    solve,
};

fn solve(given: &Given) -> Result<Solution> {
    let (service, setup) = (given.distribution("service")?, given.distribution("setup")?);
    let queue = Mg1Setup::new(given.rate("lambda")?, service, setup)?;
    let means = Means {
        lambda: queue.lambda,
        service: queue.service.mean(),
        utilization: queue.utilization(),
        wait: queue.mean_wait(),
    };
    // Who finds nobody waits for the setup, and everybody else for those before.
    Ok(means.solution(Some(queue.idle()), Some(1.0)).with("setups.rate", queue.setups(), Unit::PerSecond))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn setups_that_vanish_leave_mg1_and_long_ones_make_a_vacation() {
        let service: Distribution = "erlang(2, 1)".parse().unwrap();
        let brief = Mg1Setup::new(0.7, service.clone(), Distribution::constant(1e-12).unwrap()).unwrap();
        let plain = Mg1::new(0.7, service.clone()).unwrap();
        assert!((brief.mean_wait() / plain.mean_wait() - 1.0).abs() < 1e-11);
        // Where arrivals are rare all wait for a setup of their own.
        let rare = Mg1Setup::new(1e-9, service.clone(), Distribution::exponential(3.0).unwrap()).unwrap();
        assert!((rare.mean_wait() - 3.0).abs() < 1e-6);
        // A setup that outlasts many gaps: who comes in it waits for what is left of it.
        let long = Mg1Setup::new(0.7, service, Distribution::constant(1e9).unwrap()).unwrap();
        assert!((long.mean_wait() / 0.5e9 - 1.0).abs() < 1e-6);
    }

    #[test]
    fn the_server_always_does_something() {
        let queue =
            Mg1Setup::new(0.6, "constant(1)".parse().unwrap(), "lognormal(2, 3)".parse().unwrap()).unwrap();
        assert!((queue.utilization() + queue.idle() + queue.waking() - 1.0).abs() < 1e-12);
    }

    #[test]
    fn memoryless_all_over_agrees_with_its_chain() {
        // States (asleep or waking, n) and (awake, n): λ = 0.5, μ = 1, setups of rate 0.4, solved by iteration.
        let (lambda, mu, rate) = (0.5, 1.0, 0.4);
        let top = 400;
        let (mut waking, mut awake) = (vec![1.0; top + 1], vec![0.0; top + 1]);
        // Waking states: inflow from one less, outflow by arrival or by the end of the setup.
        for n in 1..=top {
            let out = if n == top { rate } else { lambda + rate };
            waking[n] = waking[n - 1] * lambda / out;
        }
        // Across the cut between n and n + 1: λ(waking + awake)(n) = μ awake(n + 1).
        for n in 0..top {
            awake[n + 1] = lambda * (waking[n] + awake[n]) / mu;
        }
        let total: f64 = waking.iter().sum::<f64>() + awake.iter().sum::<f64>();
        let number: f64 = (0..=top).map(|n| n as f64 * (waking[n] + awake[n])).sum::<f64>() / total;
        let queue = Mg1Setup::new(
            lambda,
            Distribution::exponential(1.0 / mu).unwrap(),
            Distribution::exponential(1.0 / rate).unwrap(),
        )
        .unwrap();
        assert!((number / (lambda * (queue.mean_wait() + 1.0 / mu)) - 1.0).abs() < 1e-9);
        assert!((waking[0] / total / queue.idle() - 1.0).abs() < 1e-9);
    }
}
