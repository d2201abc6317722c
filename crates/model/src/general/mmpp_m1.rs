//! MMPP/M/1: arrivals whose rate a hidden chain switches, exponential services.

use super::figures::Means;
use crate::card::{Family, Given, Kind, Model, Parameter};
use crate::numeric::elimination::{Matrix, solve as eliminate, stationary};
use crate::{ModelError, Result, Solution, check};

/// The most states of the hidden chain.
const MOST_STATES: u64 = 64;

/// One server; a Poisson stream that changes its rate at random from state to state, each in its turn and then again
/// from the first; first come first served, no limit on the queue.
#[derive(Clone, Debug, PartialEq)]
pub struct MmppM1 {
    lambda: f64,
    mu: f64,
    load: f64,
    slack: f64,
    queue: f64,
    wait_probability: f64,
    empty: Vec<f64>,
}

impl MmppM1 {
    /// Arrivals per second in each state (0 is allowed), the mean stay in each state in seconds, services per second of
    /// the busy server.
    ///
    /// # Errors
    /// When a parameter is out of range, there are not as many stays as rates, or customers arrive as fast as they are
    /// served or faster.
    pub fn new(rates: &[f64], stays: &[f64], mu: f64) -> Result<Self> {
        check::count("rates", rates.len() as u64, 1, MOST_STATES)?;
        if rates.len() != stays.len() {
            let reason = format!("there are {} of them and {} rates", stays.len(), rates.len());
            return Err(ModelError::parameter("stays", reason, "give one for each rate"));
        }
        for (rate, stay) in rates.iter().zip(stays) {
            check::non_negative("rates", *rate)?;
            check::positive("stays", *stay)?;
        }
        check::positive("mu", mu)?;
        let cycle: f64 = stays.iter().sum();
        let shares: Vec<f64> = stays.iter().map(|stay| stay / cycle).collect();
        let lambda: f64 = shares.iter().zip(rates).map(|(share, rate)| share * rate).sum();
        if lambda == 0.0 {
            return Err(ModelError::parameter("rates", "nobody comes", "let one be above 0"));
        }
        let load = lambda / mu;
        check::stable("rates", load, "give rates whose mean over time is below mu")?;
        let slack = (mu - lambda) / mu;
        check::stable("rates", 1.0 - slack, "give rates whose mean over time is below mu")?;

        let passages = first_passages(rates, stays, mu)?;
        let size = rates.len();
        // The chain watched while nobody is there: it moves on, or comes back after a busy period in another state.
        let mut watched = switching(stays);
        for i in 0..size {
            for j in 0..size {
                watched[i][j] += rates[i] * passages[i][j];
            }
        }
        let empty: Vec<f64> = stationary(watched).iter().map(|share| share * slack).collect();
        // pR, share by share: with Neuts' R = ΛG/μ, pRⁿ is the probability of n customers or more in each state.
        let flow: Matrix =
            (0..size).map(|i| passages[i].iter().map(|g| shares[i] * rates[i] / mu * g).collect()).collect();
        let busy: Vec<f64> = (0..size).map(|j| (0..size).map(|i| flow[i][j]).sum()).collect();
        // Lq = pR (I − R)⁻¹ R 1. The row pR (I − R)⁻¹ is x diag(p) with x diag(p)(I − R) = pR, a matrix whose columns add
        // up to p(I − R), which is `empty`.
        let transposed: Matrix = (0..size).map(|j| (0..size).map(|i| flow[i][j]).collect()).collect();
        let right: Matrix = busy.iter().map(|share| vec![*share]).collect();
        let weights = eliminate(transposed, empty.clone(), right);
        let queue = (0..size).map(|i| weights[i][0] * shares[i] * rates[i] / mu).sum();
        let wait_probability = busy.iter().zip(rates).map(|(share, rate)| share * rate).sum::<f64>() / lambda;
        Ok(Self { lambda, mu, load, slack, queue, wait_probability, empty })
    }

    /// λ: arrivals per second, over all states.
    pub fn throughput(&self) -> f64 {
        self.lambda
    }

    /// ρ = λ/μ: share of time that the server is busy.
    pub fn utilization(&self) -> f64 {
        self.load
    }

    /// 1 − ρ: share of time that nobody is there.
    pub fn idle(&self) -> f64 {
        self.slack
    }

    /// Share of time that the stream is in each state and nobody is there.
    pub fn idle_by_state(&self) -> &[f64] {
        &self.empty
    }

    /// Lq: mean number waiting.
    pub fn mean_queue(&self) -> f64 {
        self.queue
    }

    /// Wq = Lq/λ: mean wait, seconds.
    pub fn mean_wait(&self) -> f64 {
        self.queue / self.lambda
    }

    /// W = Wq + 1/μ: mean time in the system, seconds.
    pub fn mean_response(&self) -> f64 {
        self.mean_wait() + 1.0 / self.mu
    }

    /// Share of arrivals that wait: more come in states where somebody is there.
    pub fn wait_probability(&self) -> f64 {
        self.wait_probability
    }
}

/// Rates of the hidden chain.
fn switching(stays: &[f64]) -> Matrix {
    let size = stays.len();
    let mut rates = vec![vec![0.0; size]; size];
    for (i, stay) in stays.iter().enumerate() {
        rates[i][(i + 1) % size] += 1.0 / stay;
    }
    rates
}

/// G: the chance that the queue, one longer now and in state i, is in state j when it is as short as before.
///
/// Logarithmic reduction (Latouche and Ramaswami 1993, Journal of Applied Probability 30), each step a system without
/// subtraction: up and down together are sure, so what is neither up-down nor down-up is up-up or down-down.
fn first_passages(rates: &[f64], stays: &[f64], mu: f64) -> Result<Matrix> {
    let size = rates.len();
    let diagonal = |value: &dyn Fn(usize) -> f64| -> Matrix {
        (0..size).map(|i| (0..size).map(|j| if i == j { value(i) } else { 0.0 }).collect()).collect()
    };
    let leave: Vec<f64> = rates.iter().map(|rate| rate + mu).collect();
    let mut up = eliminate(switching(stays), leave.clone(), diagonal(&|i| rates[i]));
    let mut down = eliminate(switching(stays), leave, diagonal(&|_| mu));
    let (mut passages, mut through) = (down.clone(), up.clone());
    for _ in 0..120 {
        let (twice_up, twice_down) = (product(&up, &up), product(&down, &down));
        let back = sum(&product(&up, &down), &product(&down, &up));
        let rest: Vec<f64> =
            (0..size).map(|i| twice_up[i].iter().sum::<f64>() + twice_down[i].iter().sum::<f64>()).collect();
        up = eliminate(back.clone(), rest.clone(), twice_up);
        down = eliminate(back, rest, twice_down);
        passages = sum(&passages, &product(&through, &down));
        through = product(&through, &up);
        let open = through.iter().map(|row| row.iter().sum::<f64>()).fold(0.0, f64::max);
        if open <= 1e-17 {
            return Ok(passages);
        }
    }
    Err(ModelError::Numerical {
        method: "logarithmic reduction",
        reason: "120 doublings of the queue were not enough".into(),
    })
}

fn product(left: &Matrix, right: &Matrix) -> Matrix {
    let size = left.len();
    let entry = |i: usize, j: usize| (0..size).map(|k| left[i][k] * right[k][j]).sum();
    (0..size).map(|i| (0..size).map(|j| entry(i, j)).collect()).collect()
}

fn sum(left: &Matrix, right: &Matrix) -> Matrix {
    left.iter().zip(right).map(|(a, b)| a.iter().zip(b).map(|(x, y)| x + y).collect()).collect()
}

/// In the catalogue.
pub(crate) const MODEL: Model = Model {
    name: "mmpp-m1",
    title: "MMPP/M/1",
    family: Family::General,
    summary: "one server, bursts: arrivals whose rate switches from state to state, memoryless services",
    formula: "p: shares of the states, in proportion to the stays; λ = Σ pᵢλᵢ; ρ = λ/μ; G: first passage by one down, by logarithmic reduction; R = ΛG/μ; P(n or more, by state) = pRⁿ; Lq = pR²(I − R)⁻¹1; wait = Lq/λ; P(wait) = pRΛ1/λ",
    assumptions: "Poisson arrivals at the rate of the state; stays exponential, states one after the other and again from the first; exponential services; first come, first served; no limit on the queue",
    source: "Neuts (1981), Matrix-Geometric Solutions in Stochastic Models, chapter 6; Latouche and Ramaswami (1993), Journal of Applied Probability 30, 650–674",
    holds: "exact for λ < μ; up to 64 states",
    parameters: &[
        Parameter {
            name: "rates",
            kind: Kind::Rates,
            means: "arrivals in each state",
            default: None,
            example: "20000/s, 1000/s",
        },
        Parameter {
            name: "stays",
            kind: Kind::Times,
            means: "mean stay in each state",
            default: None,
            example: "10ms, 30ms",
        },
        Parameter {
            name: "mu",
            kind: Kind::Rate,
            means: "services of a busy server",
            default: None,
            example: "10000/s",
        },
    ],
    solve,
};

fn solve(given: &Given) -> Result<Solution> {
    let queue = MmppM1::new(&given.rates("rates")?, &given.times("stays")?, given.rate("mu")?)?;
    let means = Means {
        lambda: queue.lambda,
        service: 1.0 / queue.mu,
        utilization: queue.load,
        wait: queue.mean_wait(),
    };
    Ok(means.solution(Some(queue.idle()), Some(queue.wait_probability())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::markovian::Mm1;
    use proptest::prelude::*;

    fn close(found: f64, known: f64) {
        assert!((found / known - 1.0).abs() < 1e-9, "{found} instead of {known}");
    }

    #[test]
    fn states_alike_or_fast_make_mm1() {
        for (rates, stays) in [
            (vec![0.8], vec![3.0]),
            (vec![0.8, 0.8, 0.8], vec![1.0, 1e-6, 1e6]),
            // So fast that services see the mean.
            (vec![0.0, 1.6], vec![1e-12, 1e-12]),
        ] {
            let queue = MmppM1::new(&rates, &stays, 1.0).unwrap();
            let one = Mm1::new(0.8, 1.0).unwrap();
            close(queue.mean_wait(), one.mean_wait());
            close(queue.wait_probability(), 0.8);
        }
    }

    #[test]
    fn slow_states_are_queues_of_their_own() {
        // Stays so long that each state has its own steady state: the mean queue is the mean of both.
        let queue = MmppM1::new(&[0.2, 0.7], &[1e13, 3e13], 1.0).unwrap();
        let alone = |rho: f64| rho * rho / (1.0 - rho);
        close(queue.mean_queue(), 0.25 * alone(0.2) + 0.75 * alone(0.7));
        close(queue.idle_by_state()[0], 0.25 * 0.8);
    }

    #[test]
    fn what_cannot_be_is_named() {
        for (rates, stays, mu, name) in [
            (vec![1.0, 2.0], vec![1.0], 3.0, "stays: "),
            (vec![1.0, 4.0], vec![1.0, 1.0], 2.5, "rates: no steady state"),
            (vec![0.0, 0.0], vec![1.0, 1.0], 2.5, "rates: nobody comes"),
            (vec![-1.0], vec![1.0], 2.5, "rates: "),
            (vec![1.0], vec![0.0], 2.5, "stays: "),
        ] {
            let told = MmppM1::new(&rates, &stays, mu).unwrap_err().to_string();
            assert!(told.starts_with(name), "{told}");
        }
    }

    proptest! {
        #[test]
        fn agrees_with_the_long_chain(
            states in prop::collection::vec((0.0..2.0f64, 0.2..5.0f64), 2..4), load in 0.1..0.7f64
        ) {
            let (rates, stays): (Vec<f64>, Vec<f64>) = states.into_iter().unzip();
            let mean = rates.iter().zip(&stays).map(|(r, s)| r * s).sum::<f64>() / stays.iter().sum::<f64>();
            prop_assume!(mean > 0.05);
            let mu = mean / load;
            let queue = MmppM1::new(&rates, &stays, mu).unwrap();
            // The queue cut off at 60, solved state by state.
            let (size, top) = (rates.len(), 60);
            let mut chain = vec![vec![0.0; size * (top + 1)]; size * (top + 1)];
            for n in 0..=top {
                for i in 0..size {
                    let at = n * size + i;
                    chain[at][n * size + (i + 1) % size] += 1.0 / stays[i];
                    if n < top { chain[at][at + size] += rates[i]; }
                    if n > 0 { chain[at][at - size] += mu; }
                }
            }
            let shares = stationary(chain);
            let last: f64 = shares[size * top..].iter().sum();
            let waiting: f64 =
                (size..shares.len()).map(|at| (at / size - 1) as f64 * shares[at]).sum();
            let empty: f64 = shares[..size].iter().sum();
            let allowed = 1e-9 + 1e4 * last;
            prop_assert!((waiting / queue.mean_queue() - 1.0).abs() < allowed, "{waiting} {}", queue.mean_queue());
            prop_assert!((empty - queue.idle()).abs() < allowed);
        }
    }
}
