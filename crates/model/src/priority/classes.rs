//! Classes by rank at one server: who comes, how long each is served, and what share of time that takes.

use crate::{Distribution, ModelError, Result, Solution, Unit, check};

/// The most classes that are taken.
const MOST: u64 = 10_000;

/// What is known of each class, the one that is served first in front.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Classes {
    pub(super) ranks: Vec<Rank>,
}

/// One class.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Rank {
    /// Arrivals per second; 0 is allowed.
    pub(super) lambda: f64,
    /// Mean service, seconds.
    pub(super) service: f64,
    /// Mean of what is left of a service at a random moment in it, seconds.
    pub(super) residual: f64,
    /// ρ = λ times the mean service, in shares of one server.
    pub(super) load: f64,
    /// 1 − ρ₁ − … − ρₖ₋₁: what those before leave.
    pub(super) before: f64,
    /// 1 − ρ₁ − … − ρₖ: what is left after this class; 0 or less where it is overloaded.
    pub(super) after: f64,
}

/// Mean times of one class, seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClassMeans {
    /// Arrivals per second.
    pub lambda: f64,
    /// Share of time that one server spends on the class.
    pub utilization: f64,
    /// Time that a customer is in the system but not in service, seconds.
    pub wait: f64,
    /// Time in the system, seconds.
    pub response: f64,
}

impl ClassMeans {
    /// Customers of the class in the system, by Little's law.
    pub fn number(&self) -> f64 {
        self.lambda * self.response
    }
}

impl Classes {
    /// One rate for each service.
    pub(super) fn new(lambdas: &[f64], services: &[Distribution]) -> Result<Self> {
        check::count("lambdas", lambdas.len() as u64, 1, MOST)?;
        if lambdas.len() != services.len() {
            return Err(ModelError::parameter(
                "services",
                format!("there are {} of them and {} rates", services.len(), lambdas.len()),
                "give one for each class, with ; between them",
            ));
        }
        let mut classes = Vec::new();
        for (i, service) in services.iter().enumerate() {
            let service = service.clone().checked(&format!("services: class {}", i + 1))?;
            classes.push((lambdas[i], service.mean(), service.residual_mean()));
        }
        Self::of_means(classes)
    }

    /// Of each class: arrivals per second, mean service in seconds (of all servers, where there are several), mean
    /// residual service.
    pub(super) fn of_means(classes: impl IntoIterator<Item = (f64, f64, f64)>) -> Result<Self> {
        let mut ranks = Vec::new();
        // What is left, and what rounding took from it.
        let (mut left, mut lost) = (1.0f64, 0.0f64);
        for (i, (lambda, service, residual)) in classes.into_iter().enumerate() {
            check::non_negative(&format!("lambdas: class {}", i + 1), lambda)?;
            let before = left + lost;
            let load = lambda * service;
            let next = left - load;
            // Kahan and Neumaier: the sum goes on with the digits that it lost, those of the product among them.
            lost += if left.abs() >= load { (left - next) - load } else { left - (next + load) };
            lost -= lambda.mul_add(service, -load);
            left = next;
            ranks.push(Rank { lambda, service, residual, load, before, after: left + lost });
        }
        if ranks.iter().all(|rank| rank.lambda == 0.0) {
            return Err(ModelError::parameter(
                "lambdas",
                "nobody comes",
                "let one class have a rate above 0",
            ));
        }
        Ok(Self { ranks })
    }

    /// The class of that number, from 1, if it has a steady state.
    ///
    /// # Errors
    /// When there is no such class, or it and those before it bring as much work as can be done.
    pub(super) fn stable(&self, class: usize) -> Result<&Rank> {
        let rank = class.checked_sub(1).and_then(|i| self.ranks.get(i)).ok_or_else(|| {
            let remedy = format!("give one from 1 to {}", self.ranks.len());
            ModelError::parameter("class", format!("there is no class {class}"), remedy)
        })?;
        if rank.after > 0.0 {
            return Ok(rank);
        }
        Err(ModelError::Unstable {
            name: format!("lambdas: class {class}"),
            load: (1.0 - rank.after).max(1.0),
            remedy: "let it and the classes before it bring less work than can be done".into(),
        })
    }

    /// Mean of what is left of the service that an arrival finds, of the first `count` classes: Σ ρᵢ times the
    /// residual, seconds.
    pub(super) fn residual(&self, count: usize) -> f64 {
        self.ranks[..count].iter().map(|rank| rank.load * rank.residual).sum()
    }

    /// Mean of what is left of the service that an arrival finds, all classes: who is overloaded is served in all the
    /// time that those before leave, and who comes after never.
    pub(super) fn residual_of_all(&self) -> f64 {
        match self.ranks.iter().position(|rank| rank.after <= 0.0) {
            None => self.residual(self.ranks.len()),
            Some(at) => self.residual(at) + self.ranks[at].before.max(0.0) * self.ranks[at].residual,
        }
    }

    /// All classes and their total, by the means of each.
    ///
    /// # Errors
    /// Those of `means`, the first class first.
    pub(super) fn solution(
        &self,
        utilization: f64,
        means: impl Fn(usize) -> Result<ClassMeans>,
    ) -> Result<Solution> {
        let classes: Vec<ClassMeans> = (1..=self.ranks.len()).map(means).collect::<Result<_>>()?;
        let lambda: f64 = classes.iter().map(|class| class.lambda).sum();
        let wait = classes.iter().map(|class| class.lambda / lambda * class.wait).sum();
        let response = classes.iter().map(|class| class.lambda / lambda * class.response).sum();
        let mut solution = Solution::new()
            .with("utilization", utilization, Unit::Share)
            .with("throughput", lambda, Unit::PerSecond)
            .with("wait.mean", wait, Unit::Seconds)
            .with("response.mean", response, Unit::Seconds)
            .with("number.mean", lambda * response, Unit::Count)
            .with("queue.mean", lambda * wait, Unit::Count);
        for (i, class) in classes.iter().enumerate() {
            let name = |figure: &str| format!("class.{}.{figure}", i + 1);
            solution = solution
                .with(name("utilization"), class.utilization, Unit::Share)
                .with(name("wait.mean"), class.wait, Unit::Seconds)
                .with(name("response.mean"), class.response, Unit::Seconds)
                .with(name("number.mean"), class.number(), Unit::Count);
        }
        Ok(solution)
    }
}
