//! The Universal Scalability Law: what contention and coherence leave of many tenants.

use crate::card::{Family, Given, Kind, Model, Parameter};
use crate::{Result, Solution, Unit, check};

/// The most tenants that are taken.
const MOST_TENANTS: u64 = 1_000_000_000_000;

/// X(N) = γN/(1 + σ(N − 1) + κN(N − 1)).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Usl {
    one: f64,
    contention: f64,
    coherence: f64,
}

impl Usl {
    /// The rate of one tenant (γ, per second), the share of work that waits for others (σ) and the cost of agreeing with
    /// each other, as a share of the work for every pair (κ).
    ///
    /// # Errors
    /// When the rate is not usable or a share is none.
    pub fn new(one: f64, contention: f64, coherence: f64) -> Result<Self> {
        Ok(Self {
            one: check::positive("one", one)?,
            contention: check::share("contention", contention)?,
            coherence: check::share("coherence", coherence)?,
        })
    }

    /// Sum over this many tenants, 1 or more, per second.
    pub fn throughput(&self, tenants: f64) -> f64 {
        let others = tenants - 1.0;
        // Divided by the tenants throughout, so that their square does not outgrow the rest.
        self.one / ((1.0 + self.contention * others) / tenants + self.coherence * others)
    }

    /// Tenants, not a whole number, at which the sum is largest: √((1 − σ)/κ), at least 1. `None` without coherence: the
    /// sum never falls.
    pub fn peak(&self) -> Option<f64> {
        let peak = ((1.0 - self.contention) / self.coherence).sqrt();
        (self.coherence > 0.0 && peak.is_finite()).then_some(peak.max(1.0))
    }

    /// What the sum comes near with ever more tenants, per second: γ/σ without coherence, else 0; `None` when it grows
    /// without bound.
    pub fn limit(&self) -> Option<f64> {
        match (self.coherence > 0.0, self.contention > 0.0) {
            (true, _) => Some(0.0),
            (false, true) => Some(self.one / self.contention),
            (false, false) => None,
        }
    }
}

/// In the catalogue.
pub(crate) const MODEL: Model = Model {
    name: "usl",
    title: "Universal Scalability Law",
    family: Family::Scaling,
    summary: "contention flattens what tenants add up to, coherence turns it down",
    formula: "X(N) = γN/(1 + σ(N − 1) + κN(N − 1)); peak at N = √((1 − σ)/κ)",
    assumptions: "all tenants do the same; σ and κ do not depend on their number",
    source: "Gunther (2007), Guerrilla Capacity Planning, chapters 4 and 5; Gunther, Puglia, Tomasette (2015), Hadoop Superlinear Scalability",
    holds: "a law fitted to measurements; σ alone is Amdahl's law (the machine-repairman bound)",
    parameters: &[
        Parameter {
            name: "one",
            kind: Kind::Rate,
            means: "rate of one tenant",
            default: None,
            example: "1000/s",
        },
        Parameter {
            name: "contention",
            kind: Kind::Number,
            means: "share of the work that waits for others (σ)",
            default: None,
            example: "0.05",
        },
        Parameter {
            name: "coherence",
            kind: Kind::Number,
            means: "cost of agreeing, as a share of the work for every pair (κ)",
            default: None,
            example: "0.002",
        },
        Parameter { name: "tenants", kind: Kind::Count, means: "tenants", default: None, example: "16" },
    ],
    solve,
};

fn solve(given: &Given) -> Result<Solution> {
    let law = Usl::new(given.rate("one")?, given.number("contention")?, given.number("coherence")?)?;
    let tenants = given.count("tenants", 1, MOST_TENANTS)? as f64;
    let throughput = law.throughput(tenants);
    let solution = Solution::new()
        .with("throughput", throughput, Unit::PerSecond)
        .with("each", throughput / tenants, Unit::PerSecond)
        .with("efficiency", throughput / tenants / law.one, Unit::Share);
    let solution = match law.peak() {
        Some(peak) => solution.with("peak.tenants", peak, Unit::Count).with(
            "peak.throughput",
            law.throughput(peak),
            Unit::PerSecond,
        ),
        None => solution,
    };
    Ok(match law.limit() {
        Some(limit) => solution.with("throughput.limit", limit, Unit::PerSecond),
        None => solution,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(got: f64, want: f64) {
        assert!((got / want - 1.0).abs() <= 1e-13, "{got} for {want}");
    }

    #[test]
    fn the_law_by_hand() {
        close(Usl::new(1000.0, 0.1, 0.01).unwrap().throughput(10.0), 10_000.0 / (1.0 + 0.9 + 0.9));
    }

    #[test]
    fn at_the_peak_neighbours_are_lower() {
        let law = Usl::new(995.0, 0.0267, 0.000_769).unwrap();
        let peak = law.peak().unwrap();
        let most = law.throughput(peak);
        for n in [peak * 0.99, peak * 1.01] {
            assert!(law.throughput(n) < most);
        }
    }

    #[test]
    fn without_coherence_it_is_amdahl_and_without_both_it_is_linear() {
        let amdahl = Usl::new(1000.0, 0.25, 0.0).unwrap();
        assert_eq!((amdahl.peak(), amdahl.limit()), (None, Some(4000.0)));
        close(amdahl.throughput(1e12), 4000.0 / (1.0 + 3e-12));
        close(Usl::new(7.0, 0.0, 0.0).unwrap().throughput(1e12), 7e12);
        assert_eq!(Usl::new(7.0, 0.0, 0.0).unwrap().limit(), None);
        // So much coherence that a second tenant only harms.
        let law = Usl::new(1000.0, 0.5, 1.0).unwrap();
        assert_eq!((law.peak(), law.throughput(1.0)), (Some(1.0), 1000.0));
        assert!(Usl::new(1.0, -0.1, 0.0).is_err() && Usl::new(1.0, 0.0, f64::NAN).is_err());
    }
}
