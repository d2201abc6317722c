//! GI/M/1: any gaps between arrivals, exponential services.

use num_complex::Complex64;

use super::figures::{Means, with_quantiles};
use crate::card::{Family, Given, Kind, Model, Parameter};
use crate::numeric::{quantile, root};
use crate::{Distribution, Result, Solution, Unit, check};

/// One server, independent gaps of one distribution, exponential services, first come first served, no limit on the
/// queue.
#[derive(Clone, Debug, PartialEq)]
pub struct GiM1 {
    interarrival: Distribution,
    mu: f64,
    load: f64,
    /// 1 − ρ, rounded once.
    slack: f64,
    sigma: f64,
    /// 1 − σ, with all its digits.
    rest: f64,
}

impl GiM1 {
    /// The distribution of gaps, and services per second of the busy server.
    ///
    /// # Errors
    /// When a parameter is out of range, or customers arrive as fast as they are served or faster.
    pub fn new(interarrival: Distribution, mu: f64) -> Result<Self> {
        let interarrival = interarrival.checked("interarrival")?;
        check::positive("mu", mu)?;
        let gap = interarrival.mean();
        let load = 1.0 / (gap * mu);
        check::stable("interarrival", load, "give a mean gap above 1/mu")?;
        let slack = gap.mul_add(mu, -1.0) / (gap * mu);
        // σ = φ(μ(1 − σ)) is, for δ = 1 − σ > 0, 1 − R(μδ) = 1 − ρ with the residual gap's transform R. The left side
        // rises with δ; it is at most μδ times the mean residual gap.
        let low = slack / (mu * interarrival.residual_mean());
        let shortfall = |s: f64| interarrival.residual_shortfall(Complex64::new(s, 0.0));
        let excess = |ln_rest: f64| Ok((shortfall(mu * ln_rest.exp())?.re / slack).ln());
        let mut rest = root::bracketed(excess, low.min(1.0).ln(), 0.0, 0.0)?.exp();
        let mut sigma = 1.0 - rest;
        // Where σ is small 1 − δ has few of its digits, but φ hardly changes with δ: the equation's own steps add them.
        for _ in 0..if sigma < 0.5 { 60 } else { 0 } {
            let next = interarrival.transform_real(mu * (1.0 - sigma))?;
            let apart = (next - sigma).abs();
            (sigma, rest) = (next, 1.0 - next);
            if apart <= 2.0 * f64::EPSILON * sigma {
                break;
            }
        }
        Ok(Self { interarrival, mu, load, slack, sigma, rest })
    }

    /// ρ = 1/(mμ), m the mean gap: share of time that the server is busy.
    pub fn utilization(&self) -> f64 {
        self.load
    }

    /// 1 − ρ: share of time that nobody is there.
    pub fn idle(&self) -> f64 {
        self.slack
    }

    /// σ: share of arrivals that wait. They find n customers with probability (1 − σ)σⁿ.
    pub fn wait_probability(&self) -> f64 {
        self.sigma
    }

    /// Wq = σ/(μ(1 − σ)): mean wait, seconds.
    pub fn mean_wait(&self) -> f64 {
        self.sigma / (self.mu * self.rest)
    }

    /// 2σ/(μ(1 − σ))²: second moment of the wait, seconds squared.
    pub fn wait_second_moment(&self) -> f64 {
        2.0 * self.sigma / (self.mu * self.rest).powi(2)
    }

    /// W = 1/(μ(1 − σ)): mean time in the system, seconds.
    pub fn mean_response(&self) -> f64 {
        1.0 / (self.mu * self.rest)
    }

    /// πₙ: share of time with n customers in the system, ρ(1 − σ)σⁿ⁻¹ for n ≥ 1.
    pub fn probability(&self, n: u64) -> f64 {
        if n == 0 { self.slack } else { self.load * self.rest * self.power(n - 1) }
    }

    /// P(N > n) = ρσⁿ, over time.
    pub fn number_survival(&self, n: u64) -> f64 {
        self.load * self.power(n)
    }

    /// P(wait > t) = σ e^(−μ(1−σ)t), t in seconds.
    pub fn wait_survival(&self, t: f64) -> f64 {
        if t < 0.0 { 1.0 } else { self.sigma * (-self.mu * self.rest * t).exp() }
    }

    /// P(response > t) = e^(−μ(1−σ)t), t in seconds.
    pub fn response_survival(&self, t: f64) -> f64 {
        if t < 0.0 { 1.0 } else { (-self.mu * self.rest * t).exp() }
    }

    /// The time that a `share` of customers wait no longer than, seconds.
    ///
    /// # Errors
    /// When the share is not above 0 and below 1.
    pub fn wait_quantile(&self, share: f64) -> Result<f64> {
        let tail = quantile::tail(share)?;
        if quantile::starts_at_zero(self.sigma, tail) {
            return Ok(0.0);
        }
        Ok(((self.sigma - tail) / tail).ln_1p() / (self.mu * self.rest))
    }

    /// The time that a `share` of customers spend at most, seconds.
    ///
    /// # Errors
    /// When the share is not above 0 and below 1.
    pub fn response_quantile(&self, share: f64) -> Result<f64> {
        quantile::tail(share)?;
        Ok(-(-share).ln_1p() / (self.mu * self.rest))
    }

    /// σⁿ.
    fn power(&self, n: u64) -> f64 {
        let ln_sigma = if self.sigma < 0.5 { self.sigma.ln() } else { (-self.rest).ln_1p() };
        if n == 0 { 1.0 } else { (n as f64 * ln_sigma).exp() }
    }
}

/// In the catalogue.
pub(crate) const MODEL: Model = Model {
    name: "gim1",
    title: "GI/M/1",
    family: Family::General,
    summary: "one server, gaps of any distribution, memoryless services",
    formula: "σ = φ(μ(1 − σ)) in (0, 1), φ the transform of the gaps; arrivals find n with probability (1 − σ)σⁿ; P(wait > t) = σ e^(−μ(1−σ)t); W = 1/(μ(1 − σ)); over time πₙ = ρ(1 − σ)σⁿ⁻¹",
    assumptions: "independent gaps of one distribution; exponential services, independent of all else; first come, first served; no limit on the queue",
    source: "Kendall (1953); Kleinrock (1975), Queueing Systems I, chapter 6",
    holds: "exact for a mean gap above 1/μ",
    parameters: &[
        Parameter {
            name: "interarrival",
            kind: Kind::Distribution,
            means: "gap between two arrivals",
            default: None,
            example: "erlang(4, 125us)",
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
    let queue = GiM1::new(given.distribution("interarrival")?, given.rate("mu")?)?;
    let means = Means {
        lambda: 1.0 / queue.interarrival.mean(),
        service: 1.0 / queue.mu,
        utilization: queue.load,
        wait: queue.mean_wait(),
    };
    let solution = means.solution(Some(queue.idle()), Some(queue.wait_probability()));
    let wait = |share| queue.wait_quantile(share);
    let solution = with_quantiles(solution, wait, |share| queue.response_quantile(share))?;
    Ok(solution.with("wait.second-moment", queue.wait_second_moment(), Unit::SecondsSquared))
}
