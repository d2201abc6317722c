//! M/G/1 with classes where who comes interrupts a lower class, whose service goes on later where it stopped.

use super::classes::{ClassMeans, Classes};
use super::{LAMBDAS, SERVICES};
use crate::card::{Family, Given, Model};
use crate::{Distribution, Result, Solution};

/// One server, classes of Poisson arrivals; the first class that is there is served, within a class who came first.
#[derive(Clone, Debug, PartialEq)]
pub struct Mg1Preemptive {
    classes: Classes,
}

impl Mg1Preemptive {
    /// Arrivals per second and distribution of services of each class, the one that is served first in front. Classes
    /// that bring too much work are taken: those before them do not notice.
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

    /// Means of a class, numbered from 1: response mₖ/(1 − σₖ₋₁) + Σᵢ₌₁ᵏ λᵢE(Sᵢ²)/2 / ((1 − σₖ₋₁)(1 − σₖ)),
    /// σₖ = ρ₁ + … + ρₖ. The wait is the response without the service: interruptions count as waiting.
    ///
    /// # Errors
    /// When there is no such class, or it has no steady state.
    pub fn class(&self, class: usize) -> Result<ClassMeans> {
        let rank = self.classes.stable(class)?;
        let interrupted = if class == 1 { 0.0 } else { rank.service * self.load_before(class) / rank.before };
        let wait = interrupted + self.classes.residual(class) / rank.before / rank.after;
        Ok(ClassMeans { lambda: rank.lambda, utilization: rank.load, wait, response: wait + rank.service })
    }

    /// σₖ₋₁.
    fn load_before(&self, class: usize) -> f64 {
        self.classes.ranks[..class - 1].iter().map(|rank| rank.load).sum()
    }
}

/// In the catalogue.
pub(crate) const MODEL: Model = Model {
    name: "mg1-preemptive",
    title: "M/G/1, classes, interrupted and resumed",
    family: Family::Priorities,
    summary: "one server, classes by rank, a higher class interrupts a lower one, which resumes where it stopped",
    formula: "σₖ = ρ₁ + … + ρₖ; response Tₖ = mₖ/(1 − σₖ₋₁) + Σᵢ₌₁ᵏ λᵢE[Sᵢ²]/2 / ((1 − σₖ₋₁)(1 − σₖ)); wait = response − service, interruptions included",
    assumptions: "Poisson arrivals of each class; services independent, of one distribution in each class; an interruption costs nothing and loses no work; within a class first come, first served",
    source: "Kleinrock (1976), Queueing Systems II, chapter 3; Conway, Maxwell and Miller (1967), Theory of Scheduling, chapter 8",
    holds: "exact while all classes together bring less work than can be done; the classes before an overloaded one are solved by the library's own type",
    parameters: &[LAMBDAS, SERVICES],
    solve,
};

fn solve(given: &Given) -> Result<Solution> {
    let queue = Mg1Preemptive::new(&given.rates("lambdas")?, &given.distributions("services")?)?;
    queue.classes.solution(queue.utilization(), |class| queue.class(class))
}
