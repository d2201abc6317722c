//! M/M/1/K on its way to steady state: π(t) from a known number of customers.

use super::birth_death;
use super::mmck::Mmck;
use crate::card::{Family, Given, Kind, Model, Parameter};
use crate::chain::{Generator, explore};
use crate::{ModelError, Result, Solution, Unit, check};

/// The largest room that is taken.
const MOST_ROOM: u64 = 10_000;

/// One server and room for K, some time after `start` customers were there.
#[derive(Clone, Debug, PartialEq)]
pub struct Mm1Transient {
    lambda: f64,
    mu: f64,
    start: usize,
    steady: Vec<f64>,
}

impl Mm1Transient {
    /// Arrivals and services per second, the most customers in the system (1 to 10000), customers at time 0.
    ///
    /// # Errors
    /// When a parameter is out of range.
    pub fn new(lambda: f64, mu: f64, capacity: u64, start: u64) -> Result<Self> {
        check::count("capacity", capacity, 1, MOST_ROOM)?;
        check::count("start", start, 0, capacity)?;
        let queue = Mmck::new(lambda, mu, 1, capacity)?;
        let steady = (0..=capacity).map(|n| queue.probability(n)).collect();
        Ok(Self { lambda, mu, start: start as usize, steady })
    }

    /// πₙ(t), n = 0 … K: the chance of n customers `time` seconds later.
    ///
    /// By uniformisation, while its steps can be counted out or the steady state comes first; later by the chain's
    /// spectrum, whose terms are of both signs, where what they lose of their digits is certain to be little.
    ///
    /// # Errors
    /// When the time is out of range, or neither way is open (thousands of customers at a load near 1).
    pub fn probabilities(&self, time: f64) -> Result<Vec<f64>> {
        let time = check::non_negative("time", time)?;
        let loss = self.ln_spread() - self.slowest() * time;
        if loss < -40.0 {
            return Ok(self.steady.clone());
        }
        let mut start = vec![0.0; self.steady.len()];
        start[self.start] = 1.0;
        let chain = self.chain()?;
        if !chain.transient_is_affordable(time) && loss < 8.0 {
            return Ok(self.spectral(time));
        }
        chain.transient(&start, time, Some(&self.steady)).map_err(|error| match error {
            ModelError::Numerical { reason, .. } => ModelError::parameter(
                "time",
                reason,
                "give less time, less capacity, or use mm1k for steady state",
            ),
            other => other,
        })
    }

    fn chain(&self) -> Result<Generator> {
        let top = self.steady.len() - 1;
        let found = explore(0, top + 1, |n: &usize, next| {
            next.extend((*n < top).then_some((n + 1, self.lambda)));
            next.extend((*n > 0).then(|| (n - 1, self.mu)));
        });
        Ok(found?.generator)
    }

    /// The rate of the slowest term of the spectrum, per second: λ + μ − 2√(λμ) cos(π/(K + 1)).
    fn slowest(&self) -> f64 {
        self.decay(std::f64::consts::PI / self.steady.len() as f64)
    }

    /// λ + μ − 2√(λμ) cos θ, without its cancellation.
    fn decay(&self, theta: f64) -> f64 {
        let (down, up) = (self.mu.sqrt(), self.lambda.sqrt());
        ((self.mu - self.lambda) / (down + up)).powi(2) + 4.0 * down * up * (0.5 * theta).sin().powi(2)
    }

    /// At least the logarithm of 1/√(π_start π_n), for every n: what a term of the spectrum weighs beside πₙ.
    fn ln_spread(&self) -> f64 {
        let top = self.steady.len() - 1;
        let slope = (self.lambda / self.mu).ln().abs();
        let mode = if self.lambda < self.mu { 0 } else { top };
        (self.steady.len() as f64).ln() + 0.5 * slope * (top + self.start.abs_diff(mode)) as f64
    }

    /// p_ij(t) = π_j + √(π_j/π_i) Σₖ 2λ/((K + 1)γₖ) vₖ(i) vₖ(j) e^(−γₖt), vₖ(n) = sin (n + 1)θₖ − √(μ/λ) sin nθₖ,
    /// θₖ = kπ/(K + 1), k = 1 … K.
    fn spectral(&self, time: f64) -> Vec<f64> {
        let size = self.steady.len() as f64;
        let slope = 0.5 * (self.lambda / self.mu).ln();
        let root = (self.mu / self.lambda).sqrt();
        let mut probabilities = self.steady.clone();
        for k in 1..self.steady.len() {
            let theta = std::f64::consts::PI * k as f64 / size;
            let decay = self.decay(theta);
            if (decay - self.slowest()) * time > 60.0 {
                break;
            }
            let v = |n: usize| ((n + 1) as f64 * theta).sin() - root * (n as f64 * theta).sin();
            let factor = 2.0 * self.lambda / (size * decay) * v(self.start);
            for (n, p) in probabilities.iter_mut().enumerate() {
                *p += factor * v(n) * (slope * (n as f64 - self.start as f64) - decay * time).exp();
            }
        }
        probabilities
    }
}

/// In the catalogue.
pub(crate) const MODEL: Model = Model {
    name: "mm1-transient",
    title: "M/M/1/K after some time",
    family: Family::Markovian,
    summary: "how many are there a while after so many were: one server with room for K",
    formula: "π(t) = π(0)e^(Qt) = Σₙ e^(−Λt)(Λt)ⁿ/n! · π(0)(I + Q/Λ)ⁿ (uniformisation), Λ at least λ + μ; for long times by the spectrum of Q",
    assumptions: "Poisson arrivals; exponential services, independent of all else; at most K customers, the one in service included; who finds K is lost",
    source: "Jensen (1953); Gross and Miller (1984), Operations Research 32(2); spectrum: Morse (1958), Queues, Inventories and Maintenance",
    holds: "exact to rounding at any load; K up to 10000, but refused where K is in the thousands, the load near 1 and the time too long to count steps and too short for steady state",
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
            example: "100",
        },
        Parameter {
            name: "start",
            kind: Kind::Count,
            means: "customers at first",
            default: Some("0"),
            example: "0",
        },
        Parameter { name: "time", kind: Kind::Time, means: "time since then", default: None, example: "1ms" },
    ],
    solve,
};

fn solve(given: &Given) -> Result<Solution> {
    let capacity = given.count("capacity", 1, MOST_ROOM)?;
    let start = given.count("start", 0, capacity)?;
    let queue = Mm1Transient::new(given.rate("lambda")?, given.rate("mu")?, capacity, start)?;
    let probabilities = queue.probabilities(given.time("time")?)?;
    Ok(Solution::new()
        .with("number.mean", birth_death::mean(&probabilities), Unit::Count)
        .with("idle", probabilities[0], Unit::Share)
        .with("full", probabilities[probabilities.len() - 1], Unit::Share))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn it_begins_where_it_starts_and_ends_in_steady_state() {
        let queue = Mm1Transient::new(0.8, 1.0, 30, 7).unwrap();
        assert_eq!(queue.probabilities(0.0).unwrap()[7], 1.0);
        assert_eq!(queue.probabilities(1e15).unwrap(), queue.steady);
    }

    #[test]
    fn steps_and_spectrum_agree_where_both_are_open() {
        for (lambda, start) in [(0.7, 0), (1.0, 40), (1.3, 5)] {
            let queue = Mm1Transient::new(lambda, 1.0, 40, start).unwrap();
            for time in [300.0, 500.0, 900.0] {
                let (stepped, spectral) = (queue.probabilities(time).unwrap(), queue.spectral(time));
                for (a, b) in stepped.iter().zip(&spectral) {
                    assert!((a / b - 1.0).abs() < 1e-10, "{lambda} {time}: {a} {b}");
                }
            }
        }
    }

    #[test]
    fn room_is_no_limit_to_the_young() {
        // From empty, within a short time: the number is that of an M/M/1, whose chance to be idle falls as 1 − λt.
        let queue = Mm1Transient::new(2.0, 3.0, 10_000, 0).unwrap();
        let early = queue.probabilities(1e-9).unwrap();
        assert!((early[1] / 2e-9 - 1.0).abs() < 1e-8);
        assert!((early[0] - (1.0 - 2e-9)).abs() < 1e-15);
    }

    #[test]
    fn any_time_answers_or_names_what_to_change() {
        for time in [1e-15, 1.0, 1e15] {
            for (lambda, mu) in [(1e-15, 1e15), (1e15, 1e-15), (1.0, 1.0)] {
                let queue = Mm1Transient::new(lambda, mu, 50, 50).unwrap();
                let sum: f64 = queue.probabilities(time).unwrap().iter().sum();
                assert!((sum - 1.0).abs() < 1e-9, "{lambda} {mu} {time}: {sum}");
            }
        }
        assert!(Mm1Transient::new(1.0, 1.0, 5, 6).unwrap_err().to_string().starts_with("start"));
    }

    proptest! {
        #[test]
        fn the_mean_moves_as_flows_say(lambda in 0.1f64..3.0, capacity in 1u64..40, at in 0.0f64..1.0, time in 0.01f64..20.0) {
            // d E[N]/dt = λ(1 − π_K) − μ(1 − π₀), by a central difference.
            let queue = Mm1Transient::new(lambda, 1.0, capacity, (at * capacity as f64) as u64).unwrap();
            let mean = |t: f64| birth_death::mean(&queue.probabilities(t).unwrap());
            let step = 1e-4;
            let slope = (mean(time + step) - mean(time - step)) / (2.0 * step);
            let now = queue.probabilities(time).unwrap();
            let flow = lambda * (1.0 - now[capacity as usize]) - (1.0 - now[0]);
            prop_assert!((slope - flow).abs() < 1e-6, "{} {}", slope, flow);
        }
    }
}
