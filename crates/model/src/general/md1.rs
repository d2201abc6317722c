//! M/D/1: services that all take the same time, exactly.

use super::figures::{Means, with_quantiles};
use crate::card::{Family, Given, Kind, Model, Parameter};
use crate::numeric::{entire, quantile, root};
use crate::{Result, Solution, Unit, check};

/// Services up to which distributions are summed; beyond, the dominant exponential alone is exact to 1e-9 of itself.
const SUMMED: usize = 100;

/// One server, Poisson arrivals, constant services, first come first served, no limit on the queue.
#[derive(Clone, Debug, PartialEq)]
pub struct Md1 {
    lambda: f64,
    service: f64,
    load: f64,
    /// 1 − ρ, rounded once.
    slack: f64,
    /// πₙ, n = 0 … SUMMED.
    probabilities: Vec<f64>,
    /// P(N > n), n = 0 … SUMMED.
    tails: Vec<f64>,
    /// x: P(wait > t) falls as e^(−x t/D).
    decay: f64,
}

impl Md1 {
    /// Arrivals per second and the time of every service, seconds.
    ///
    /// # Errors
    /// When one is not above zero, or work arrives as fast as it is done or faster.
    pub fn new(lambda: f64, service: f64) -> Result<Self> {
        check::positive("lambda", lambda)?;
        check::positive("service", service)?;
        let load = lambda * service;
        check::stable("lambda", load, "give a lambda below 1/service")?;
        let slack = (-lambda).mul_add(service, 1.0);
        let probabilities = numbers(load, slack);
        let decay = decay(load, slack)?;
        let mut tails = vec![0.0; SUMMED + 1];
        // Beyond, πₙ falls by 1 + x/ρ from one n to the next.
        tails[SUMMED] = probabilities[SUMMED] * load / decay;
        for n in (0..SUMMED).rev() {
            tails[n] = tails[n + 1] + probabilities[n + 1];
        }
        Ok(Self { lambda, service, load, slack, probabilities, tails, decay })
    }

    /// ρ = λD: share of time that the server is busy, and of arrivals that wait.
    pub fn utilization(&self) -> f64 {
        self.load
    }

    /// 1 − ρ: share of time that nobody is there.
    pub fn idle(&self) -> f64 {
        self.slack
    }

    /// Wq = ρD/(2(1 − ρ)): mean wait, seconds.
    pub fn mean_wait(&self) -> f64 {
        0.5 * self.load * self.service / self.slack
    }

    /// 2Wq² + ρD²/(3(1 − ρ)): second moment of the wait, seconds squared.
    pub fn wait_second_moment(&self) -> f64 {
        2.0 * self.mean_wait().powi(2) + self.load * self.service.powi(2) / (3.0 * self.slack)
    }

    /// W = Wq + D: mean time in the system, seconds.
    pub fn mean_response(&self) -> f64 {
        self.mean_wait() + self.service
    }

    /// πₙ: share of time with n customers in the system.
    pub fn probability(&self, n: u64) -> f64 {
        match self.probabilities.get(usize::try_from(n).unwrap_or(usize::MAX)) {
            Some(probability) => *probability,
            None => self.probabilities[SUMMED] * self.beyond(n),
        }
    }

    /// P(N > n).
    pub fn number_survival(&self, n: u64) -> f64 {
        match self.tails.get(usize::try_from(n).unwrap_or(usize::MAX)) {
            Some(tail) => *tail,
            None => self.tails[SUMMED] * self.beyond(n),
        }
    }

    /// πₙ in units of the last one that is kept: (1 + x/ρ)^−(n − SUMMED).
    fn beyond(&self, n: u64) -> f64 {
        (-(n as f64 - SUMMED as f64) * (self.decay / self.load).ln_1p()).exp()
    }

    /// P(wait > t), t in seconds.
    pub fn wait_survival(&self, t: f64) -> f64 {
        if t < 0.0 { 1.0 } else { self.survival_in_services(t / self.service) }
    }

    /// P(response > t) = P(wait > t − D), t in seconds.
    pub fn response_survival(&self, t: f64) -> f64 {
        self.wait_survival(t - self.service)
    }

    /// The time that a `share` of customers wait no longer than, seconds.
    ///
    /// # Errors
    /// When the share is not above 0 and below 1.
    pub fn wait_quantile(&self, share: f64) -> Result<f64> {
        let tail = quantile::tail(share)?;
        if quantile::starts_at_zero(self.load, tail) {
            return Ok(0.0);
        }
        let asymptotic = (self.amplitude() / tail).ln() / self.decay;
        if asymptotic > SUMMED as f64 {
            return Ok(asymptotic * self.service);
        }
        let excess = |services: f64| Ok((self.survival_in_services(services) / tail).ln());
        Ok(root::bracketed(excess, 0.0, SUMMED as f64, 0.0)? * self.service)
    }

    /// The time that a `share` of customers spend at most, seconds.
    ///
    /// # Errors
    /// When the share is not above 0 and below 1.
    pub fn response_quantile(&self, share: f64) -> Result<f64> {
        Ok(self.wait_quantile(share)? + self.service)
    }

    /// C of P(wait > t) → C e^(−xt/D): (1 − ρ)/(ρe^x − 1), where ρe^x = x + ρ.
    fn amplitude(&self) -> f64 {
        self.slack / (self.decay - self.slack)
    }

    /// P(wait > τD). With k the next whole number above τ and y = ρ(k − τ), who waits longer is behind all that are in
    /// the system but those who came in the last k − τ services: Σⱼ e^−y yʲ/j! P(N > k − j). All terms are positive.
    fn survival_in_services(&self, services: f64) -> f64 {
        if services >= SUMMED as f64 - 1.0 {
            return self.amplitude() * (-self.decay * services).exp();
        }
        let k = services as usize + 1;
        let y = self.load * (k as f64 - services);
        let mut arrivals = (-y).exp();
        let mut sum = 0.0;
        for j in 0..k {
            sum += arrivals * self.tails[k - j];
            arrivals *= y / (j + 1) as f64;
        }
        sum + at_least(k, y)
    }
}

/// P(Poisson of mean `y` ≥ `k`) as a sum of its terms, for y ≤ 1.
fn at_least(k: usize, y: f64) -> f64 {
    let mut term = (-y).exp();
    for j in 1..=k {
        term *= y / j as f64;
    }
    let mut sum = 0.0;
    let mut j = k;
    while term > 1e-17 * sum && term > 0.0 {
        sum += term;
        j += 1;
        term *= y / j as f64;
    }
    sum
}

/// πₙ from the balance across each cut of the embedded chain: a₀πₙ₊₁ = π₀P(A > n) + Σᵢ₌₁ⁿ πᵢP(A > n + 1 − i), A the
/// arrivals in a service. Positive terms only.
fn numbers(load: f64, slack: f64) -> Vec<f64> {
    let more: Vec<f64> = (0..=SUMMED).map(|n| at_least(n + 1, load)).collect();
    let mut probabilities = vec![slack];
    for n in 0..SUMMED {
        let up: f64 = (1..=n).map(|i| probabilities[i] * more[n + 1 - i]).sum();
        probabilities.push((slack * more[n] + up) * load.exp());
    }
    probabilities
}

/// The x > 0 with ρ(e^x − 1) = x.
fn decay(load: f64, slack: f64) -> Result<f64> {
    let ln_load = if load < 0.5 { load.ln() } else { (-slack).ln_1p() };
    // ln((e^x − 1)/x), which is between x/2 and x.
    let growth = |x: f64| {
        if x < 1.0 { (x * entire::second((-x).into()).re).ln_1p() } else { x + (-(-x).exp_m1() / x).ln() }
    };
    root::bracketed(|x| Ok(growth(x) / -ln_load - 1.0), -ln_load, -2.0 * ln_load, 0.0)
}

/// In the catalogue.
pub(crate) const MODEL: Model = Model {
    name: "md1",
    title: "M/D/1",
    family: Family::General,
    summary: "one server, memoryless arrivals, services that all take the same time",
    formula: "ρ = λD; Wq = ρD/(2(1 − ρ)); with k = ⌊t/D⌋ + 1, y = λ(kD − t): P(wait > t) = Σⱼ₌₀ᵏ⁻¹ e^(−y) yʲ/j! · P(N > k − j) + Σⱼ≥ₖ e^(−y) yʲ/j!, with πₙ from the embedded chain; response = wait + D",
    assumptions: "Poisson arrivals; constant services; first come, first served; no limit on the queue",
    source: "Erlang (1909); the form without alternating signs: Franx (2001), A simple solution for the M/D/c waiting time distribution, Operations Research Letters 29, 221–229",
    holds: "exact for λD < 1; beyond 99 services the dominant exponential, whose relative error there is below 1e-9 at loads of 0.01 and more",
    parameters: &[
        Parameter { name: "lambda", kind: Kind::Rate, means: "arrivals", default: None, example: "8000/s" },
        Parameter {
            name: "service",
            kind: Kind::Time,
            means: "time of each service",
            default: None,
            example: "100us",
        },
    ],
    solve,
};

fn solve(given: &Given) -> Result<Solution> {
    let queue = Md1::new(given.rate("lambda")?, given.time("service")?)?;
    let means = Means {
        lambda: queue.lambda,
        service: queue.service,
        utilization: queue.load,
        wait: queue.mean_wait(),
    };
    let solution = means.solution(Some(queue.idle()), Some(queue.utilization()));
    let wait = |share| queue.wait_quantile(share);
    let solution = with_quantiles(solution, wait, |share| queue.response_quantile(share))?;
    Ok(solution.with("wait.second-moment", queue.wait_second_moment(), Unit::SecondsSquared))
}
