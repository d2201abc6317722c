//! Many tenants on one resource: the sum rises with each until something is used up.

use crate::card::{Family, Given, Kind, Model, Parameter};
use crate::{Result, Solution, Unit, check};

/// The most tenants that are taken.
const MOST_TENANTS: u64 = 1_000_000_000_000;

/// n tenants, each at a rate of its own as long as the shared resource, and the processors if told, have room.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Saturation {
    one: f64,
    shared: f64,
    cores: Option<Cores>,
}

/// The processors that tenants run on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cores {
    /// How many there are.
    pub cores: f64,
    /// Share of their time that tenants get: what hypervisor, interrupts and others leave.
    pub share: f64,
    /// Processor time per second that one tenant needs at its full rate, in cores.
    pub each: f64,
}

/// What holds the sum where it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// There are too few tenants to use up anything.
    Tenants,
    /// The shared resource.
    Resource,
    /// The processors.
    Cores,
}

impl Saturation {
    /// The rate of one tenant alone and of the shared resource, per second.
    ///
    /// # Errors
    /// When a rate is not usable.
    pub fn new(one: f64, shared: f64) -> Result<Self> {
        Ok(Self {
            one: check::positive("one", one)?,
            shared: check::positive("shared", shared)?,
            cores: None,
        })
    }

    /// With processors as a limit too.
    ///
    /// # Errors
    /// When a number is not usable.
    pub fn on(self, cores: Cores) -> Result<Self> {
        check::positive("cores", cores.cores)?;
        check::positive("share", check::share("share", cores.share)?)?;
        check::positive("each", cores.each)?;
        Ok(Self { cores: Some(cores), ..self })
    }

    /// The rate that cannot be exceeded, per second, and what sets it.
    pub fn ceiling(&self) -> (f64, Limit) {
        match self.cores.map(|c| self.one * (c.cores * c.share / c.each)) {
            Some(by_cores) if by_cores < self.shared => (by_cores, Limit::Cores),
            _ => (self.shared, Limit::Resource),
        }
    }

    /// Sum over all tenants, per second, and what holds it there: min(c₁n, C).
    pub fn throughput(&self, tenants: u64) -> (f64, Limit) {
        let (ceiling, limit) = self.ceiling();
        let wanted = self.one * tenants as f64;
        if wanted < ceiling { (wanted, Limit::Tenants) } else { (ceiling, limit) }
    }

    /// Tenants, not a whole number, at which the limit is reached: C/c₁.
    pub fn break_point(&self) -> f64 {
        self.ceiling().0 / self.one
    }
}

/// In the catalogue.
pub(crate) const MODEL: Model = Model {
    name: "saturation",
    title: "saturation",
    family: Family::Scaling,
    summary: "tenants add up until the shared resource is used up",
    formula: "X(n) = min(c₁n, C); break point C/c₁",
    assumptions: "tenants are alike and do not slow each other below the limit; the resource loses nothing above it and is shared evenly",
    source: "asymptotic bounds: Lazowska et al. (1984), Quantitative System Performance, chapter 5, with a population of tenants",
    holds: "upper bound of any real system: near the break point queueing keeps it below",
    parameters: &[
        Parameter {
            name: "one",
            kind: Kind::Rate,
            means: "rate of one tenant alone",
            default: None,
            example: "3000/s",
        },
        Parameter {
            name: "shared",
            kind: Kind::Rate,
            means: "rate of the shared resource",
            default: None,
            example: "20k/s",
        },
        Parameter { name: "tenants", kind: Kind::Count, means: "tenants", default: None, example: "8" },
    ],
    solve,
};

fn solve(given: &Given) -> Result<Solution> {
    let model = Saturation::new(given.rate("one")?, given.rate("shared")?)?;
    let tenants = given.count("tenants", 1, MOST_TENANTS)?;
    let (throughput, _) = model.throughput(tenants);
    Ok(Solution::new()
        .with("throughput", throughput, Unit::PerSecond)
        .with("each", throughput / tenants as f64, Unit::PerSecond)
        .with("break-point", model.break_point(), Unit::Count))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tenants_add_up_until_the_resource_is_used_up() {
        let model = Saturation::new(3000.0, 20_000.0).unwrap();
        assert_eq!(model.throughput(6), (18_000.0, Limit::Tenants));
        assert_eq!(model.throughput(7), (20_000.0, Limit::Resource));
        assert_eq!(model.break_point(), 20.0 / 3.0);
    }

    #[test]
    fn processors_may_be_the_tighter_limit() {
        // 4 cores of which tenants get 80 %, half a core for each tenant: 6.4 tenants' worth, 9600/s.
        let cores = Cores { cores: 4.0, share: 0.8, each: 0.5 };
        let model = Saturation::new(1500.0, 20_000.0).unwrap().on(cores).unwrap();
        assert_eq!(model.throughput(6), (9000.0, Limit::Tenants));
        assert_eq!(model.throughput(7), (9600.0, Limit::Cores));
        assert_eq!(model.break_point(), 6.4);
        let roomy = Saturation::new(1500.0, 9000.0).unwrap().on(cores).unwrap();
        assert_eq!(roomy.throughput(7), (9000.0, Limit::Resource));
        assert!(model.on(Cores { share: 1.2, ..cores }).is_err());
        assert!(model.on(Cores { share: 0.0, ..cores }).is_err());
    }
}
