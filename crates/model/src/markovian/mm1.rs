//! M/M/1: the birth–death chain of one server, whole.

use super::busy_period::BusyPeriod;
use super::figures::Figures;
use crate::card::{Family, Given, Kind, Model, Parameter};
use crate::numeric::quantile;
use crate::{Result, Solution, Unit, check};

/// One server, exponential gaps and services, first come first served, no limit on the queue.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mm1 {
    lambda: f64,
    mu: f64,
}

impl Mm1 {
    /// Arrivals and services per second.
    ///
    /// # Errors
    /// When a rate is not above zero, or arrivals are as fast as services or faster.
    pub fn new(lambda: f64, mu: f64) -> Result<Self> {
        check::positive("lambda", lambda)?;
        check::positive("mu", mu)?;
        check::stable("lambda", lambda / mu, "give a lambda below mu")?;
        Ok(Self { lambda, mu })
    }

    /// The generator Q of the chain cut off after `top` customers, per second: `Q[n][m]` is the rate from n to m, the
    /// diagonal makes rows add up to zero, and who arrives at `top` customers is lost.
    ///
    /// # Errors
    /// When `top` is 0 or above 10000.
    pub fn generator(&self, top: usize) -> Result<Vec<Vec<f64>>> {
        check::count("top", top as u64, 1, 10_000)?;
        let mut q = vec![vec![0.0; top + 1]; top + 1];
        for n in 0..top {
            q[n][n + 1] = self.lambda;
            q[n + 1][n] = self.mu;
        }
        for (n, row) in q.iter_mut().enumerate() {
            row[n] = -row.iter().sum::<f64>();
        }
        Ok(q)
    }

    /// ρ = λ/μ: share of time that the server is busy.
    pub fn utilization(&self) -> f64 {
        self.lambda / self.mu
    }

    /// π₀ = 1 − ρ: share of time that nobody is there.
    pub fn idle(&self) -> f64 {
        (self.mu - self.lambda) / self.mu
    }

    /// πₙ = (1 − ρ)ρⁿ: share of time with n customers in the system.
    pub fn probability(&self, n: u64) -> f64 {
        self.idle() * (n as f64 * self.ln_load()).exp()
    }

    /// L = ρ/(1 − ρ): mean number in the system.
    pub fn mean_number(&self) -> f64 {
        self.lambda / (self.mu - self.lambda)
    }

    /// 2ρ/(μ − λ)²: second moment of the wait, seconds squared.
    pub fn wait_second_moment(&self) -> f64 {
        2.0 * self.utilization() / (self.mu - self.lambda).powi(2)
    }

    /// ρ/(1 − ρ)²: variance of the number in the system.
    pub fn number_variance(&self) -> f64 {
        self.mean_number() * (self.mu / (self.mu - self.lambda))
    }

    /// P(N ≤ n) = 1 − ρⁿ⁺¹.
    pub fn number_cdf(&self, n: u64) -> f64 {
        -((n as f64 + 1.0) * self.ln_load()).exp_m1()
    }

    /// P(N > n) = ρⁿ⁺¹.
    pub fn number_survival(&self, n: u64) -> f64 {
        ((n as f64 + 1.0) * self.ln_load()).exp()
    }

    /// The smallest n with P(N ≤ n) ≥ `share`, where what is equal within rounding counts as reached.
    ///
    /// # Errors
    /// When the share is not above 0 and below 1.
    pub fn number_quantile(&self, share: f64) -> Result<f64> {
        let powers = quantile::tail(share)?.ln() / self.ln_load();
        Ok((powers * (1.0 - 1e-13)).ceil().max(1.0) - 1.0)
    }

    /// Lq = ρ²/(1 − ρ): mean number waiting.
    pub fn mean_queue(&self) -> f64 {
        self.utilization() * self.mean_number()
    }

    /// W = 1/(μ − λ): mean time in the system, seconds.
    pub fn mean_response(&self) -> f64 {
        1.0 / (self.mu - self.lambda)
    }

    /// Wq = ρ/(μ − λ): mean time before service, seconds.
    pub fn mean_wait(&self) -> f64 {
        self.utilization() / (self.mu - self.lambda)
    }

    /// P(wait > t) = ρ e^(−(μ−λ)t); 1 − ρ of customers do not wait at all.
    pub fn wait_survival(&self, t: f64) -> f64 {
        self.utilization() * self.response_survival(t)
    }

    /// P(wait ≤ t), seconds.
    pub fn wait_cdf(&self, t: f64) -> f64 {
        self.idle() + self.utilization() * self.response_cdf(t)
    }

    /// The time that a `share` of customers wait no longer than, seconds: ln(ρ/(1 − share))/(μ − λ), or 0.
    ///
    /// # Errors
    /// When the share is not above 0 and below 1.
    pub fn wait_quantile(&self, share: f64) -> Result<f64> {
        let tail = quantile::tail(share)?;
        if quantile::starts_at_zero(self.utilization(), tail) {
            return Ok(0.0);
        }
        let waiting = tail * self.mu;
        Ok(((self.lambda - waiting) / waiting).ln_1p() / (self.mu - self.lambda))
    }

    /// P(response > t) = e^(−(μ−λ)t).
    pub fn response_survival(&self, t: f64) -> f64 {
        (-(self.mu - self.lambda) * t).exp()
    }

    /// P(response ≤ t), seconds.
    pub fn response_cdf(&self, t: f64) -> f64 {
        -(-(self.mu - self.lambda) * t).exp_m1()
    }

    /// The time that a `share` of customers spend at most, seconds: −ln(1 − share)/(μ − λ).
    ///
    /// # Errors
    /// When the share is not above 0 and below 1.
    pub fn response_quantile(&self, share: f64) -> Result<f64> {
        quantile::tail(share)?;
        Ok(-(-share).ln_1p() / (self.mu - self.lambda))
    }

    /// From the customer that finds the server idle to the next idleness.
    pub fn busy_period(&self) -> BusyPeriod {
        BusyPeriod::new(self.lambda, self.mu)
    }

    fn ln_load(&self) -> f64 {
        super::ln_load(self.lambda, self.mu, self.mu - self.lambda)
    }
}

/// In the catalogue.
pub(crate) const MODEL: Model = Model {
    name: "mm1",
    title: "M/M/1",
    family: Family::Markovian,
    summary: "one server, memoryless arrivals and services",
    formula: "ρ = λ/μ; πₙ = (1 − ρ)ρⁿ; L = ρ/(1 − ρ); W = 1/(μ − λ); P(response > t) = e^(−(μ−λ)t); P(wait > t) = ρ e^(−(μ−λ)t); busy period: mean 1/(μ − λ), variance (λ + μ)/(μ − λ)³",
    assumptions: "Poisson arrivals; exponential services, independent of all else; first come, first served; no limit on the queue",
    source: "Kleinrock (1975), Queueing Systems I, chapters 3 (numbers) and 5 (waits, busy period)",
    holds: "exact for λ < μ",
    parameters: &[
        Parameter { name: "lambda", kind: Kind::Rate, means: "arrivals", default: None, example: "8000/s" },
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
    let queue = Mm1::new(given.rate("lambda")?, given.rate("mu")?)?;
    let figures = Figures {
        utilization: queue.utilization(),
        idle: queue.idle(),
        throughput: queue.lambda,
        loss: None,
        number: queue.mean_number(),
        queue: queue.mean_queue(),
        wait: queue.mean_wait(),
        response: queue.mean_response(),
        wait_probability: queue.utilization(),
    };
    let busy = queue.busy_period();
    Ok(figures
        .solution(|share| queue.wait_quantile(share), |share| queue.response_quantile(share))?
        .with("wait.second-moment", queue.wait_second_moment(), Unit::SecondsSquared)
        .with("number.variance", queue.number_variance(), Unit::Count)
        .with("number.p99", queue.number_quantile(0.99)?, Unit::Count)
        .with("busy-period.mean", busy.mean(), Unit::Seconds)
        .with("busy-period.variance", busy.variance(), Unit::SecondsSquared))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ModelError;

    const RATES: [(f64, f64); 6] =
        [(0.8, 1.0), (1e-15, 1e15), (1.0 - 1e-15, 1.0), (8e14, 1e15), (1e-15, 2e-15), (0.3, 7.0)];

    fn close(left: f64, right: f64) {
        assert!((left / right - 1.0).abs() < 1e-12, "{left} {right}");
    }

    #[test]
    fn probabilities_balance_the_generator() {
        let queue = Mm1::new(0.6, 1.0).unwrap();
        let q = queue.generator(80).unwrap();
        for m in 0..80 {
            let flow: f64 = q.iter().enumerate().map(|(n, row)| queue.probability(n as u64) * row[m]).sum();
            assert!(flow.abs() < 1e-16, "{m}: {flow}");
        }
        assert!(q.iter().all(|row| row.iter().sum::<f64>().abs() < 1e-15));
    }

    #[test]
    fn littles_law() {
        for (lambda, mu) in RATES {
            let queue = Mm1::new(lambda, mu).unwrap();
            close(queue.mean_number(), lambda * queue.mean_response());
            close(queue.mean_queue(), lambda * queue.mean_wait());
            close(queue.mean_response(), queue.mean_wait() + 1.0 / mu);
        }
    }

    #[test]
    fn the_share_below_a_quantile_is_the_one_asked_for() {
        for (lambda, mu) in RATES {
            let queue = Mm1::new(lambda, mu).unwrap();
            for share in [0.5, 0.99, 0.999] {
                close(queue.response_cdf(queue.response_quantile(share).unwrap()), share);
                let wait = queue.wait_quantile(share).unwrap();
                assert!(queue.wait_cdf(wait) >= share * (1.0 - 1e-12));
                assert!(wait == 0.0 || (queue.wait_cdf(wait) / share - 1.0).abs() < 1e-12);
                let n = queue.number_quantile(share).unwrap() as u64;
                assert!(queue.number_cdf(n) >= share * (1.0 - 1e-12));
                assert!(n == 0 || queue.number_cdf(n - 1) < share);
            }
        }
    }

    #[test]
    fn probabilities_are_those_of_the_number() {
        let queue = Mm1::new(0.9, 1.0).unwrap();
        let up_to: f64 = (0..=20).map(|n| queue.probability(n)).sum();
        close(queue.number_cdf(20), up_to);
        close(queue.number_survival(20), 1.0 - up_to);
        let second: f64 = (0..2000u64).map(|n| (n as f64 - 9.0).powi(2) * queue.probability(n)).sum();
        close(queue.number_variance(), second);
    }

    #[test]
    fn overload_and_nonsense_name_lambda_or_mu() {
        for (lambda, mu, name) in
            [(1.0, 1.0, "lambda"), (2.0, 1.0, "lambda"), (1.0, f64::NAN, "mu"), (-1.0, 1.0, "lambda")]
        {
            let told = Mm1::new(lambda, mu).unwrap_err().to_string();
            assert!(told.starts_with(name), "{told}");
        }
        let unstable = Mm1::new(3.0, 2.0).unwrap_err();
        assert!(matches!(unstable, ModelError::Unstable { load, .. } if load == 1.5));
    }
}
