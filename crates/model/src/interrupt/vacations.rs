//! A server that looks only now and then: vacations of any kind, and polling, which is vacations of constant length.

use num_complex::Complex64;

use crate::card::{Family, Given, Kind, Model, Parameter};
use crate::interrupt::means::{Load, Means};
use crate::interrupt::parameters::{LAMBDA, SERVICE};
use crate::interrupt::waits::{Parts, Waits};
use crate::{Distribution, Result, Solution, Unit, check};

/// M/G/1 whose server leaves when nobody is there, comes back after a vacation, and leaves again as often as it finds
/// nobody (multiple vacations, exhaustive service).
#[derive(Clone, Debug, PartialEq)]
pub struct Vacations {
    load: Load,
    service: Distribution,
    vacation: Distribution,
    /// (1 − V*(λ))/(λE\[V\]): share of vacation time before the first arrival in it.
    nobody: f64,
}

impl Vacations {
    /// `lambda` customers per second.
    ///
    /// # Errors
    /// When a parameter is not usable, or customers come as fast as they are served.
    pub fn new(lambda: f64, service: &Distribution, vacation: &Distribution) -> Result<Self> {
        let load = Load::new(lambda, service)?;
        let vacation = vacation.clone().checked("vacation")?;
        let nobody = vacation.residual_transform(lambda.into())?.re;
        Ok(Self { load, service: service.clone(), vacation, nobody })
    }

    /// The means: W = λE\[S²\]/(2(1 − ρ)) + E\[V²\]/(2E\[V\]).
    pub fn means(&self) -> Means {
        let wait = self.load.pollaczek_khinchine() + self.vacation.residual_mean();
        self.load.means(wait, self.load.spare() * self.nobody, 1.0)
    }

    /// Vacations per second: (1 − ρ)/E\[V\].
    pub fn rate(&self) -> f64 {
        self.load.spare() / self.vacation.mean()
    }

    /// Share of vacations after which nobody is there: V*(λ) = 1 − λE\[V\]·(share of their time with nobody there).
    fn in_vain(&self) -> f64 {
        (1.0 - self.load.lambda * self.vacation.mean() * self.nobody).max(0.0)
    }
}

/// The wait of M/G/1 and, independent of it, what is left of a vacation.
impl Waits for Vacations {
    fn service(&self) -> &Distribution {
        &self.service
    }

    fn mean_wait(&self) -> f64 {
        self.means().wait
    }

    fn lumps(&self) -> Vec<(f64, f64)> {
        Vec::new()
    }

    /// Who finds the server away and nobody's service before the own.
    fn leftovers(&self) -> Vec<(f64, &Distribution)> {
        vec![(self.load.spare(), &self.vacation)]
    }

    fn others(&self, s: Complex64) -> Result<Complex64> {
        Ok(Parts::at(s, &self.load, &self.service)?.plain * self.vacation.residual_transform(s)?)
    }
}

/// In the catalogue.
pub(crate) const MODEL: Model = Model {
    name: "vacations",
    title: "M/G/1 with multiple vacations",
    family: Family::Interrupts,
    summary: "the server leaves when nobody is there and looks again after a vacation",
    formula: "W = λE[S²]/(2(1 − ρ)) + E[V²]/(2E[V]); vacations (1 − ρ)/E[V] per second; π₀ = (1 − ρ)(1 − V*(λ))/(λE[V])",
    assumptions: "Poisson arrivals; independent services and vacations; first come, first served; served until nobody is there; no limit on the queue",
    source: "Fuhrmann and Cooper (1985), Stochastic decompositions in the M/G/1 queue with generalized vacations; Takagi (1991), Queueing Analysis 1, chapter 2",
    holds: "exact for λE[S] < 1",
    parameters: &[
        LAMBDA,
        SERVICE,
        Parameter {
            name: "vacation",
            kind: Kind::Distribution,
            means: "time from leaving to looking again",
            default: None,
            example: "exponential(200us)",
        },
    ],
    solve: |given| {
        let service = given.distribution("service")?;
        let queue = Vacations::new(given.rate("lambda")?, &service, &given.distribution("vacation")?)?;
        Ok(queue.means().solution().with("vacations.rate", queue.rate(), Unit::PerSecond))
    },
};

/// In the catalogue.
pub(crate) const POLLING: Model = Model {
    name: "polling",
    title: "M/G/1 polled periodically",
    family: Family::Interrupts,
    summary: "a server that found nobody looks again after a fixed period",
    formula: "W = λE[S²]/(2(1 − ρ)) + D/2; polls (1 − ρ)/D per second, e^−λD of them in vain; π₀ = (1 − ρ)(1 − e^−λD)/(λD)",
    assumptions: "Poisson arrivals; independent services; first come, first served; who is found is served, and all who come meanwhile, until nobody is there: the next period starts then; looking takes no time",
    source: "Fuhrmann and Cooper (1985), Stochastic decompositions in the M/G/1 queue with generalized vacations, with constant vacations",
    holds: "exact for λE[S] < 1; a clock that ticks on while the server works differs where a period is not long against a busy period",
    parameters: &[
        LAMBDA,
        SERVICE,
        Parameter {
            name: "period",
            kind: Kind::Time,
            means: "time from finding nobody to looking again, above 0 (without polling it is mg1)",
            default: None,
            example: "200us",
        },
    ],
    solve: polling,
};

fn polling(given: &Given) -> Result<Solution> {
    let period = Distribution::Constant { value: check::positive("period", given.time("period")?)? };
    let queue = Vacations::new(given.rate("lambda")?, &given.distribution("service")?, &period)?;
    Ok(queue.means().solution().with("polls.rate", queue.rate(), Unit::PerSecond).with(
        "polls.in-vain",
        queue.in_vain(),
        Unit::Share,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interrupt::trials::{Arrivals, woken};

    fn close(got: f64, want: f64, tolerance: f64) {
        assert!((got / want - 1.0).abs() <= tolerance, "{got} for {want}");
    }

    /// The end of the first vacation after `now` at which somebody is there; each vacation is counted.
    fn looked(now: f64, arrivals: &mut Arrivals, count: &mut f64, vacation: impl Fn(f64) -> f64) -> f64 {
        let mut at = now;
        while arrivals.peek(0) > at {
            at += vacation(arrivals.random.uniform());
            *count += 1.0;
        }
        at
    }

    #[test]
    fn vacations_and_polling_agree_with_trials() {
        let service: Distribution = "uniform(0.1, 1.1)".parse().unwrap();
        for (vacation, sample) in [
            ("exponential(0.8)", (|u: f64| -0.8 * u.ln()) as fn(f64) -> f64),
            ("constant(2)", |_| 2.0),
            ("uniform(0, 3)", |u| 3.0 * u),
        ] {
            let queue = Vacations::new(0.9, &service, &vacation.parse().unwrap()).unwrap();
            let trial = woken(0.9, |u| 0.1 + u, |now, arrivals, count| looked(now, arrivals, count, sample));
            trial.wait.holds(queue.means().wait);
            trial.idle.holds(queue.means().idle);
            trial.counted.holds(queue.rate());
            trial.waited.holds(queue.means().wait_probability);
            trial.distributed(|time| queue.wait_survival(time).unwrap());
        }
    }

    #[test]
    fn short_periods_leave_mg1() {
        let service = Distribution::constant(60e-6).unwrap();
        let queue = Vacations::new(1e4, &service, &Distribution::constant(1e-15).unwrap()).unwrap();
        close(queue.means().wait, 45e-6, 1e-10);
        close(queue.means().idle, 0.4, 1e-10);
        close(queue.in_vain(), 1.0, 1e-10);
        // And long ones are found by somebody, always.
        let slow = Vacations::new(1e4, &service, &Distribution::constant(1.0).unwrap()).unwrap();
        assert!(slow.in_vain() < 1e-12);
        close(slow.means().wait, 45e-6 + 0.5, 1e-14);
    }
}
