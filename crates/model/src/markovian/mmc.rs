//! M/M/c: one queue before several servers, with the chance to wait of Erlang's second formula.

use super::birth_death;
use super::figures::Figures;
use crate::card::{Family, Given, Kind, Model, Parameter};
use crate::numeric::quantile;
use crate::{ModelError, Result, Solution, Unit, check};

/// The most servers that are taken.
pub(super) const MOST_SERVERS: u64 = 1_000_000;

/// Several servers, exponential gaps and services, one queue, first come first served, no limit.
#[derive(Clone, Debug, PartialEq)]
pub struct Mmc {
    lambda: f64,
    mu: f64,
    servers: u64,
    /// π₀ … π_{c−1}, and last the chance to wait: all of π_c and above.
    probabilities: Vec<f64>,
}

impl Mmc {
    /// Arrivals per second, services per second of one busy server, servers (1 to 1000000).
    ///
    /// # Errors
    /// When a parameter is out of range, or arrivals are as fast as all servers together or faster.
    pub fn new(lambda: f64, mu: f64, servers: u64) -> Result<Self> {
        check::positive("lambda", lambda)?;
        check::positive("mu", mu)?;
        check::count("servers", servers, 1, MOST_SERVERS)?;
        let drain = drain(lambda, mu, servers);
        if drain <= 0.0 {
            return Err(ModelError::Unstable {
                name: "lambda".into(),
                load: (lambda / (servers as f64 * mu)).max(1.0),
                remedy: "give a lambda below servers times mu, or more servers".into(),
            });
        }
        let load = lambda / mu;
        // All numbers of c and above are a geometric series: (1 − ρ)⁻¹ = cμ/(cμ − λ).
        let tail = servers as f64 * mu / drain;
        let probabilities = birth_death::stationary(servers as usize, |n| load / (n + 1) as f64, tail);
        Ok(Self { lambda, mu, servers, probabilities })
    }

    /// ρ = λ/(cμ): share of time that a server is busy.
    pub fn utilization(&self) -> f64 {
        self.lambda / (self.servers as f64 * self.mu)
    }

    /// π₀: share of time that nobody is there.
    pub fn idle(&self) -> f64 {
        self.probability(0)
    }

    /// πₙ: share of time with n customers in the system.
    pub fn probability(&self, n: u64) -> f64 {
        if n < self.servers {
            return self.probabilities[n as usize];
        }
        let rest = self.drain() / (self.servers as f64 * self.mu);
        self.wait_probability() * rest * self.power(n - self.servers)
    }

    /// P(N > n).
    pub fn number_survival(&self, n: u64) -> f64 {
        if n + 1 < self.servers {
            return self.probabilities[n as usize + 1..].iter().sum();
        }
        self.wait_probability() * self.power(n + 1 - self.servers)
    }

    /// Erlang's C: P(wait > 0).
    pub fn wait_probability(&self) -> f64 {
        self.probabilities[self.servers as usize]
    }

    /// Lq = C ρ/(1 − ρ): mean number waiting.
    pub fn mean_queue(&self) -> f64 {
        self.wait_probability() * self.lambda / self.drain()
    }

    /// L = Lq + λ/μ: mean number in the system.
    pub fn mean_number(&self) -> f64 {
        self.mean_queue() + self.lambda / self.mu
    }

    /// Wq = C/(cμ − λ): mean time before service, seconds.
    pub fn mean_wait(&self) -> f64 {
        self.wait_probability() / self.drain()
    }

    /// 2C/(cμ − λ)²: second moment of the wait, seconds squared.
    pub fn wait_second_moment(&self) -> f64 {
        2.0 * self.wait_probability() / self.drain().powi(2)
    }

    /// W = Wq + 1/μ: mean time in the system, seconds.
    pub fn mean_response(&self) -> f64 {
        self.mean_wait() + 1.0 / self.mu
    }

    /// P(wait > t) = C e^(−(cμ−λ)t).
    pub fn wait_survival(&self, t: f64) -> f64 {
        self.wait_probability() * (-self.drain() * t).exp()
    }

    /// The time that a `share` of customers wait no longer than, seconds: ln(C/(1 − share))/(cμ − λ), or 0.
    ///
    /// # Errors
    /// When the share is not above 0 and below 1.
    pub fn wait_quantile(&self, share: f64) -> Result<f64> {
        let tail = quantile::tail(share)?;
        let waiting = self.wait_probability();
        if quantile::starts_at_zero(waiting, tail) {
            return Ok(0.0);
        }
        Ok(((waiting - tail) / tail).ln_1p() / self.drain())
    }

    /// P(response > t): one service, after a wait of rate δ = cμ − λ for a share C of customers:
    /// e^(−μt) + C μ (e^(−δt) − e^(−μt))/(μ − δ); where δ = μ, the fraction is t e^(−μt).
    pub fn response_survival(&self, t: f64) -> f64 {
        let drain = self.drain();
        let (slow, fast) = (drain.min(self.mu), drain.max(self.mu));
        let apart = fast - slow;
        // (1 − e^(−x))/x, whose limit at 0 is 1.
        let shape = if apart * t > 0.0 { -(-apart * t).exp_m1() / (apart * t) } else { 1.0 };
        (-self.mu * t).exp() + self.wait_probability() * self.mu * t * (-slow * t).exp() * shape
    }

    /// The time that a `share` of customers spend at most, seconds.
    ///
    /// # Errors
    /// When the share is not above 0 and below 1.
    pub fn response_quantile(&self, share: f64) -> Result<f64> {
        quantile::of_survival(|t| self.response_survival(t), share, 1.0 / self.mu)
    }

    /// δ = cμ − λ, per second: how fast a queue drains.
    fn drain(&self) -> f64 {
        drain(self.lambda, self.mu, self.servers)
    }

    /// ρᵏ.
    fn power(&self, k: u64) -> f64 {
        (k as f64 * super::ln_load(self.lambda, self.servers as f64 * self.mu, self.drain())).exp()
    }
}

/// cμ − λ, rounded once.
fn drain(lambda: f64, mu: f64, servers: u64) -> f64 {
    (servers as f64).mul_add(mu, -lambda)
}

/// In the catalogue.
pub(crate) const MODEL: Model = Model {
    name: "mmc",
    title: "M/M/c",
    family: Family::Markovian,
    summary: "several servers on one queue, memoryless arrivals and services",
    formula: "a = λ/μ; ρ = a/c; C = (aᶜ/c!)/(1 − ρ) / (Σₙ₌₀ᶜ⁻¹ aⁿ/n! + (aᶜ/c!)/(1 − ρ)); Wq = C/(cμ − λ); P(wait > t) = C e^(−(cμ−λ)t); response = wait + service",
    assumptions: "Poisson arrivals; exponential services, independent of all else; equal servers; first come, first served; no limit on the queue",
    source: "Erlang (1917); Kleinrock (1975), Queueing Systems I, chapter 3; Gross, Shortle, Thompson and Harris (2008), Fundamentals of Queueing Theory, section 2.3",
    holds: "exact for λ < cμ; up to 1000000 servers",
    parameters: &[
        Parameter { name: "lambda", kind: Kind::Rate, means: "arrivals", default: None, example: "30000/s" },
        Parameter {
            name: "mu",
            kind: Kind::Rate,
            means: "services of one busy server",
            default: None,
            example: "10000/s",
        },
        Parameter { name: "servers", kind: Kind::Count, means: "servers", default: None, example: "4" },
    ],
    solve,
};

fn solve(given: &Given) -> Result<Solution> {
    let servers = given.count("servers", 1, MOST_SERVERS)?;
    let queue = Mmc::new(given.rate("lambda")?, given.rate("mu")?, servers)?;
    let figures = Figures {
        utilization: queue.utilization(),
        idle: queue.idle(),
        throughput: queue.lambda,
        loss: None,
        number: queue.mean_number(),
        queue: queue.mean_queue(),
        wait: queue.mean_wait(),
        response: queue.mean_response(),
        wait_probability: queue.wait_probability(),
    };
    let solution =
        figures.solution(|share| queue.wait_quantile(share), |share| queue.response_quantile(share))?;
    Ok(solution.with("wait.second-moment", queue.wait_second_moment(), Unit::SecondsSquared))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::markovian::Mm1;
    use proptest::prelude::*;

    fn close(left: f64, right: f64) {
        assert!((left / right - 1.0).abs() < 1e-10, "{left} {right}");
    }

    #[test]
    fn one_server_is_mm1() {
        for (lambda, mu) in [(0.8, 1.0), (1.0 - 1e-12, 1.0), (1e-15, 1e15), (3e14, 1e15)] {
            let (many, one) = (Mmc::new(lambda, mu, 1).unwrap(), Mm1::new(lambda, mu).unwrap());
            close(many.idle(), one.idle());
            close(many.mean_number(), one.mean_number());
            close(many.mean_wait(), one.mean_wait());
            for share in [0.5, 0.99] {
                close(many.response_quantile(share).unwrap(), one.response_quantile(share).unwrap());
            }
            close(many.probability(7), one.probability(7));
        }
    }

    #[test]
    fn two_servers_in_closed_form() {
        // C = 2ρ²/(1 + ρ), π₀ = (1 − ρ)/(1 + ρ).
        for rho in [1e-9, 0.3, 0.999_999] {
            let queue = Mmc::new(2.0 * rho, 1.0, 2).unwrap();
            close(queue.wait_probability(), 2.0 * rho * rho / (1.0 + rho));
            close(queue.idle(), (1.0 - rho) / (1.0 + rho));
        }
    }

    #[test]
    fn where_both_rates_coincide_the_tail_is_continuous() {
        // δ = cμ − λ = μ at λ = (c − 1)μ.
        let at = |lambda| Mmc::new(lambda, 1.0, 3).unwrap();
        let exact = at(2.0);
        for t in [0.1f64, 1.0, 10.0] {
            close(exact.response_survival(t), (1.0 + exact.wait_probability() * t) * (-t).exp());
            close(at(2.0 + 1e-13).response_survival(t), exact.response_survival(t));
        }
    }

    #[test]
    fn a_million_servers_answer() {
        let queue = Mmc::new(999_000.0, 1.0, 1_000_000).unwrap();
        // mpmath at 40 digits: C of 999000 Erlang on 1000000 servers.
        close(queue.wait_probability(), 0.223_303_390_291_344_1);
        assert!((queue.probabilities.iter().sum::<f64>() - 1.0).abs() < 1e-12);
    }

    proptest! {
        #[test]
        fn laws_hold(rho in 1e-6f64..0.999_999, mu in 1e-9f64..1e9, servers in 1u64..300) {
            let lambda = rho * mu * servers as f64;
            let queue = Mmc::new(lambda, mu, servers).unwrap();
            let c = servers as f64;
            // Mean busy servers, state by state, are λ/μ.
            let busy: f64 = (0..servers).map(|n| n as f64 * queue.probability(n)).sum::<f64>() + c * queue.wait_probability();
            prop_assert!((busy / (lambda / mu) - 1.0).abs() < 1e-10);
            // Balance across the edge of the queue.
            let (up, down) = (queue.probability(servers - 1) * lambda, queue.probability(servers) * c * mu);
            prop_assert!((up - down).abs() <= 1e-9 * up || down < 1e-290);
            let t = queue.response_quantile(0.9).unwrap();
            prop_assert!((queue.response_survival(t) / 0.1 - 1.0).abs() < 1e-9);
            prop_assert!(queue.wait_quantile(0.9).unwrap() <= t);
            prop_assert!((queue.mean_number() / (lambda * queue.mean_response()) - 1.0).abs() < 1e-12);
        }
    }
}
