//! Interrupts held by count: the server begins when so many customers wait.

use num_complex::Complex64;

use crate::card::{Family, Given, Model};
use crate::interrupt::means::{Load, Means};
use crate::interrupt::parameters::{COUNT, LAMBDA, MOST_HELD, SERVICE};
use crate::interrupt::waits::{Parts, Waits, powers_between};
use crate::{Distribution, Result, Solution, Unit, check};

/// M/G/1 whose server sleeps when nobody is there and begins again with the `count`-th customer.
#[derive(Clone, Debug, PartialEq)]
pub struct NPolicy {
    load: Load,
    service: Distribution,
    count: f64,
}

impl NPolicy {
    /// `lambda` customers per second; `count` from 1 (M/G/1) to 10⁶.
    ///
    /// # Errors
    /// When a parameter is not usable, or customers come as fast as they are served.
    pub fn new(lambda: f64, service: &Distribution, count: u64) -> Result<Self> {
        let load = Load::new(lambda, service)?;
        let count = check::count("count", count, 1, MOST_HELD)? as f64;
        Ok(Self { load, service: service.clone(), count })
    }

    /// The means: W = λE\[S²\]/(2(1 − ρ)) + (N − 1)/(2λ).
    pub fn means(&self) -> Means {
        let wait = self.load.pollaczek_khinchine() + (self.count - 1.0) / (2.0 * self.load.lambda);
        // With more than one, even who wakes the server waits for those before.
        let waits = if self.count == 1.0 { self.load.utilization() } else { 1.0 };
        self.load.means(wait, self.load.spare() / self.count, waits)
    }

    /// How often the server is woken, per second: λ(1 − ρ)/N.
    pub fn interrupt_rate(&self) -> f64 {
        self.load.lambda * self.load.spare() / self.count
    }
}

/// Who is the j-th while the server sleeps waits until N − j more have come, and for j − 1 services.
impl Waits for NPolicy {
    fn service(&self) -> &Distribution {
        &self.service
    }

    fn mean_wait(&self) -> f64 {
        self.means().wait
    }

    /// The N-th, who wakes the server, waits for N − 1 services, which may be constant.
    fn lumps(&self) -> Vec<(f64, f64)> {
        match self.service {
            _ if self.count == 1.0 => vec![(self.load.spare(), 0.0)],
            Distribution::Constant { value } => {
                vec![(self.load.spare() / self.count, (self.count - 1.0) * value)]
            }
            _ => Vec::new(),
        }
    }

    fn others(&self, s: Complex64) -> Result<Complex64> {
        let parts = Parts::at(s, &self.load, &self.service)?;
        let n = self.count as u64;
        let gap = self.load.lambda / (self.load.lambda + s);
        let asleep = if self.lumps().is_empty() {
            powers_between(gap, parts.service, n)
        } else {
            gap * powers_between(gap, parts.service, n - 1)
        };
        let awake = parts.plain * parts.left_of_service * powers_between(Complex64::ONE, parts.service, n);
        Ok((self.load.spare() * asleep + self.load.utilization() * awake) / self.count)
    }
}

/// In the catalogue.
pub(crate) const MODEL: Model = Model {
    name: "n-policy",
    title: "M/G/1, N-policy",
    family: Family::Interrupts,
    summary: "the server is woken when so many customers wait, and works until nobody is there",
    formula: "W = λE[S²]/(2(1 − ρ)) + (N − 1)/(2λ); interrupts λ(1 − ρ)/N; π₀ = (1 − ρ)/N",
    assumptions: "Poisson arrivals; independent services; first come, first served; no limit on the queue; being woken takes no time",
    source: "Yadin and Naor (1963), Queueing systems with a removable service station; Takagi (1991), Queueing Analysis 1, chapter 2",
    holds: "exact for λE[S] < 1",
    parameters: &[LAMBDA, SERVICE, COUNT],
    solve,
};

fn solve(given: &Given) -> Result<Solution> {
    let queue = NPolicy::new(
        given.rate("lambda")?,
        &given.distribution("service")?,
        given.count("count", 1, MOST_HELD)?,
    )?;
    Ok(queue.means().solution().with("interrupts.rate", queue.interrupt_rate(), Unit::PerSecond))
}
