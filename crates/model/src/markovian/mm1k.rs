//! M/M/1/K: one server and room for K customers. The chain of [`Mmck`] with one server, and a name of its own.

use super::mmck::{MOST_ROOM, Mmck};
use crate::card::{Family, Given, Kind, Model, Parameter};
use crate::{Result, Solution};

/// In the catalogue.
pub(crate) const MODEL: Model = Model {
    name: "mm1k",
    title: "M/M/1/K",
    family: Family::Markovian,
    summary: "one server with room for K customers, memoryless arrivals and services",
    formula: "ρ = λ/μ; πₙ = ρⁿ/Σₘ₌₀ᴷ ρᵐ; loss = π_K; who is let in finds n with qₙ = πₙ/(1 − π_K) and waits for n services",
    assumptions: "Poisson arrivals; exponential services, independent of all else; first come, first served; at most K customers, the one in service included; who finds K is lost",
    source: "Kleinrock (1975), Queueing Systems I, chapter 3; Gross, Shortle, Thompson and Harris (2008), Fundamentals of Queueing Theory, section 2.5",
    holds: "exact at any load; waits and responses are those of customers that are let in; K up to 1000000",
    parameters: &[
        Parameter { name: "lambda", kind: Kind::Rate, means: "arrivals", default: None, example: "8000/s" },
        Parameter {
            name: "mu",
            kind: Kind::Rate,
            means: "services of a busy server",
            default: None,
            example: "10000/s",
        },
        Parameter {
            name: "capacity",
            kind: Kind::Count,
            means: "customers that it holds, the one in service included",
            default: None,
            example: "16",
        },
    ],
    solve,
};

fn solve(given: &Given) -> Result<Solution> {
    Mmck::new(given.rate("lambda")?, given.rate("mu")?, 1, given.count("capacity", 1, MOST_ROOM)?)?.solution()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_truncated_geometric_law() {
        for rho in [1e-6f64, 0.5, 0.999_999_9, 1.0, 1.7, 30.0] {
            let queue = Mmck::new(rho, 1.0, 1, 12).unwrap();
            let sum: f64 = (0..=12).map(|n| rho.powi(n)).sum();
            for n in 0..=12 {
                let right = rho.powi(n) / sum;
                assert!((queue.probability(n as u64) / right - 1.0).abs() < 1e-13, "{rho} {n}");
            }
        }
    }

    #[test]
    fn in_the_catalogue_it_is_one_server() {
        let given = MODEL.given([("lambda", "3/s"), ("mu", "2/s"), ("capacity", "5")]).unwrap();
        let solution = MODEL.solve(&given).unwrap();
        let right = 1.5f64.powi(5) / (0..=5).map(|n| 1.5f64.powi(n)).sum::<f64>();
        assert!((solution.get("loss").unwrap() / right - 1.0).abs() < 1e-13);
    }
}
