//! M/G/1 with classes where a service begun is finished.

use super::classes::{ClassMeans, Classes};
use super::{LAMBDAS, SERVICES};
use crate::card::{Family, Given, Model};
use crate::{Distribution, Result, Solution};

/// One server, classes of Poisson arrivals; the first class that waits is served next, within a class who came first.
#[derive(Clone, Debug, PartialEq)]
pub struct Mg1NonPreemptive {
    classes: Classes,
}

impl Mg1NonPreemptive {
    /// Arrivals per second and distribution of services of each class, the one that is served first in front. Classes
    /// that bring too much work are taken: those before them have a steady state all the same.
    ///
    /// # Errors
    /// When a parameter is out of range, or there are not as many services as rates.
    pub fn new(lambdas: &[f64], services: &[Distribution]) -> Result<Self> {
        Ok(Self { classes: Classes::new(lambdas, services)? })
    }

    /// ρ: share of time that the server is busy.
    pub fn utilization(&self) -> f64 {
        self.classes.ranks.iter().map(|rank| rank.load).sum::<f64>().min(1.0)
    }

    /// Means of a class, numbered from 1: Wₖ = W₀/((1 − σₖ₋₁)(1 − σₖ)), σₖ = ρ₁ + … + ρₖ, W₀ = Σ λᵢE(Sᵢ²)/2 over all
    /// classes. Where a later class is overloaded, it is in service whenever the server has nothing better to do: W₀
    /// has its share of that time.
    ///
    /// # Errors
    /// When there is no such class, or it has no steady state.
    pub fn class(&self, class: usize) -> Result<ClassMeans> {
        let rank = self.classes.stable(class)?;
        let wait = self.classes.residual_of_all() / rank.before / rank.after;
        Ok(ClassMeans { lambda: rank.lambda, utilization: rank.load, wait, response: wait + rank.service })
    }
}

/// In the catalogue.
pub(crate) const MODEL: Model = Model {
    name: "mg1-nonpreemptive",
    title: "M/G/1, classes, a service begun is finished",
    family: Family::Priorities,
    summary: "one server, classes by rank, no interruption of a service",
    formula: "σₖ = ρ₁ + … + ρₖ; Wₖ = Σᵢ λᵢE[Sᵢ²]/2 / ((1 − σₖ₋₁)(1 − σₖ)); response = wait + service",
    assumptions: "Poisson arrivals of each class; services independent, of one distribution in each class; the server does not idle while somebody waits; within a class first come, first served",
    source: "Cobham (1954), Priority assignment in waiting line problems, Operations Research 2, 70–76; Kleinrock (1976), Queueing Systems II, chapter 3",
    holds: "exact while all classes together bring less work than can be done; the classes before an overloaded one are solved by the library's own type",
    parameters: &[LAMBDAS, SERVICES],
    solve,
};

fn solve(given: &Given) -> Result<Solution> {
    let queue = Mg1NonPreemptive::new(&given.rates("lambdas")?, &given.distributions("services")?)?;
    queue.classes.solution(queue.utilization(), |class| queue.class(class))
}
