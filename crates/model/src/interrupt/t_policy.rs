//! Interrupts held by a timer: the server begins when the first customer has waited so long.

use num_complex::Complex64;

use crate::card::{Family, Given, Model};
use crate::interrupt::means::{Load, Means};
use crate::interrupt::parameters::{LAMBDA, SERVICE, TIMER};
use crate::interrupt::waits::{Parts, Waits};
use crate::numeric::entire;
use crate::{Distribution, Result, Solution, Unit, check};

/// M/G/1 whose server sleeps when nobody is there and begins when the first customer has waited for `timer`.
#[derive(Clone, Debug, PartialEq)]
pub struct TPolicy {
    load: Load,
    service: Distribution,
    timer: f64,
}

impl TPolicy {
    /// `lambda` customers per second; `timer` in seconds, 0 for at once (M/G/1).
    ///
    /// # Errors
    /// When a parameter is not usable, or customers come as fast as they are served.
    pub fn new(lambda: f64, service: &Distribution, timer: f64) -> Result<Self> {
        let load = Load::new(lambda, service)?;
        Ok(Self { load, service: service.clone(), timer: check::non_negative("timer", timer)? })
    }

    /// The means: W = λE\[S²\]/(2(1 − ρ)) + T(1 + λT/2)/(1 + λT).
    pub fn means(&self) -> Means {
        let load = &self.load;
        let added = self.timer * ((1.0 + 0.5 * load.lambda * self.timer) / self.mean_batch());
        // Where the first begins at once it is M/G/1; else all wait.
        let waits = if self.timer == 0.0 { load.utilization() } else { 1.0 };
        load.means(load.pollaczek_khinchine() + added, load.spare() / self.mean_batch(), waits)
    }

    /// How often the server is woken, per second: λ(1 − ρ)/(1 + λT).
    pub fn interrupt_rate(&self) -> f64 {
        self.load.lambda * self.load.spare() / self.mean_batch()
    }

    /// Customers that are there when the server begins, on average: 1 + λT.
    pub fn mean_batch(&self) -> f64 {
        1.0 + self.load.lambda * self.timer
    }
}

/// The first waits for the timer; who comes while it runs, for the rest of it and for the services of those before.
impl Waits for TPolicy {
    fn service(&self) -> &Distribution {
        &self.service
    }

    fn mean_wait(&self) -> f64 {
        self.means().wait
    }

    fn lumps(&self) -> Vec<(f64, f64)> {
        vec![(self.load.spare() / self.mean_batch(), self.timer)]
    }

    fn others(&self, s: Complex64) -> Result<Complex64> {
        let Parts { service, left_of_service, plain, coming, net } = Parts::at(s, &self.load, &self.service)?;
        let timer = self.timer;
        let come = self.load.lambda * timer;
        let during = come * service * entire::decay(coming * timer) * entire::first(net * timer);
        let begun_with = 1.0 + come * service * entire::first(coming * timer);
        let awake = self.load.utilization() * plain * left_of_service * begun_with;
        Ok((self.load.spare() * during + awake) / self.mean_batch())
    }
}

/// In the catalogue.
pub(crate) const MODEL: Model = Model {
    name: "t-policy",
    title: "M/G/1, T-policy",
    family: Family::Interrupts,
    summary: "the server is woken when the first customer has waited so long, and works until nobody is there",
    formula: "W = λE[S²]/(2(1 − ρ)) + T(1 + λT/2)/(1 + λT); interrupts λ(1 − ρ)/(1 + λT); π₀ = (1 − ρ)/(1 + λT)",
    assumptions: "Poisson arrivals; independent services; first come, first served; no limit on the queue; being woken takes no time; the timer starts with the first customer who waits",
    source: "Fuhrmann and Cooper (1985), Stochastic decompositions in the M/G/1 queue with generalized vacations; the idle phase written out",
    holds: "exact for λE[S] < 1",
    parameters: &[LAMBDA, SERVICE, TIMER],
    solve,
};

fn solve(given: &Given) -> Result<Solution> {
    let queue = TPolicy::new(given.rate("lambda")?, &given.distribution("service")?, given.time("timer")?)?;
    Ok(queue.means().solution().with("interrupts.rate", queue.interrupt_rate(), Unit::PerSecond).with(
        "batch.mean",
        queue.mean_batch(),
        Unit::Count,
    ))
}
