//! M/G/1: Poisson arrivals, any services; Pollaczek and Khinchine.

use num_complex::Complex64;

use super::figures::{Means, with_quantiles};
use super::{Md1, inversion};
use crate::card::{Family, Given, Kind, Model, Parameter};
use crate::numeric::quantile;
use crate::{Distribution, Result, Solution, Unit, check};

/// One server, Poisson arrivals, independent services of one distribution, first come first served, no limit on the
/// queue.
#[derive(Clone, Debug, PartialEq)]
pub struct Mg1 {
    lambda: f64,
    service: Distribution,
    load: f64,
    /// 1 − ρ, rounded once.
    slack: f64,
    /// Constant services have jumps, and a solution without inversion.
    constant: Option<Md1>,
}

impl Mg1 {
    /// Arrivals per second, and the distribution of services.
    ///
    /// # Errors
    /// When a parameter is out of range, or work arrives as fast as it is done or faster.
    pub fn new(lambda: f64, service: Distribution) -> Result<Self> {
        check::positive("lambda", lambda)?;
        let service = service.checked("service")?;
        let load = lambda * service.mean();
        check::stable("lambda", load, "give a lambda below 1 over the mean service")?;
        let slack = (-lambda).mul_add(service.mean(), 1.0);
        let constant = match service {
            Distribution::Constant { value } => Some(Md1::new(lambda, value)?),
            _ => None,
        };
        Ok(Self { lambda, service, load, slack, constant })
    }

    /// ρ = λm: share of time that the server is busy, and of arrivals that wait.
    pub fn utilization(&self) -> f64 {
        self.load
    }

    /// 1 − ρ: share of time that nobody is there.
    pub fn idle(&self) -> f64 {
        self.slack
    }

    /// Wq = λm₂/(2(1 − ρ)): mean wait, seconds.
    pub fn mean_wait(&self) -> f64 {
        self.load * self.service.residual_mean() / self.slack
    }

    /// Var wait = Wq² + λm₃/(3(1 − ρ)), seconds squared.
    pub fn wait_variance(&self) -> f64 {
        self.mean_wait().powi(2) + self.lambda * self.service.moment(3) / (3.0 * self.slack)
    }

    /// 2Wq² + λm₃/(3(1 − ρ)): second moment of the wait, seconds squared.
    pub fn wait_second_moment(&self) -> f64 {
        self.wait_variance() + self.mean_wait().powi(2)
    }

    /// W = Wq + m: mean time in the system, seconds.
    pub fn mean_response(&self) -> f64 {
        self.mean_wait() + self.service.mean()
    }

    /// Var response = Var wait + Var service, seconds squared.
    pub fn response_variance(&self) -> f64 {
        self.wait_variance() + self.service.variance()
    }

    /// L = λW: mean number in the system.
    pub fn mean_number(&self) -> f64 {
        self.lambda * self.mean_response()
    }

    /// Var N = λW + λ² Var response: those in the system are those who came during a response (distributional form of
    /// Little's law).
    pub fn number_variance(&self) -> f64 {
        self.mean_number() + self.lambda * self.lambda * self.response_variance()
    }

    /// m/(1 − ρ): mean busy period, seconds.
    pub fn mean_busy_period(&self) -> f64 {
        self.service.mean() / self.slack
    }

    /// (Var service + ρm²)/(1 − ρ)³: variance of the busy period, seconds squared.
    pub fn busy_period_variance(&self) -> f64 {
        let mean = self.service.mean();
        (self.service.variance() + self.load * mean * mean) / self.slack.powi(3)
    }

    /// E[e^(−s wait)] = (1 − ρ)/(1 − ρR(s)), R the transform of the residual service, for Re s ≥ 0.
    ///
    /// # Errors
    /// Those of [`Distribution::transform`].
    pub fn wait_transform(&self, s: Complex64) -> Result<Complex64> {
        Ok(self.slack / (self.slack + self.load * self.service.residual_shortfall(s)?))
    }

    /// P(wait > t), t in seconds, to 1e-6.
    ///
    /// A wait is the sum of residual services, n of them with (1 − ρ)ρⁿ (Beneš 1956). That of one has a slope that falls
    /// steeply where services are nearly constant, and is known: only the others come from the transform.
    ///
    /// # Errors
    /// When the transform cannot be had or inverted to that error.
    pub fn wait_survival(&self, t: f64) -> Result<f64> {
        if t <= 0.0 {
            return Ok(if t < 0.0 { 1.0 } else { self.load });
        }
        match &self.constant {
            Some(constant) => Ok(constant.wait_survival(t)),
            None => {
                let rest = |s| Ok(self.shortfall_of_two(s)?.1 / s);
                let one = self.slack * self.load * self.service.residual_survival(t);
                Ok(one + self.beyond_two(rest, t)?)
            }
        }
    }

    /// P(response > t), t in seconds, to 1e-6.
    ///
    /// As [`Mg1::wait_survival`]: the service alone, and behind one residual service, are known.
    ///
    /// # Errors
    /// When the transform cannot be had or inverted to that error.
    pub fn response_survival(&self, t: f64) -> Result<f64> {
        if t <= 0.0 {
            return Ok(1.0);
        }
        if let Some(constant) = &self.constant {
            return Ok(constant.response_survival(t));
        }
        // Those for whom nothing is left of anybody's service, or of one alone; the others.
        let known = self.service.survival(t) + self.load * self.service.with_residual_survival(t)?;
        let rest = |s: Complex64| {
            let (residual, short) = self.shortfall_of_two(s)?;
            // 1 − Aφ = (1 − A) + A(1 − φ), A the transform of their waits.
            Ok(short / s + (1.0 - short) * self.service.mean() * residual)
        };
        Ok(self.slack * known + self.beyond_two(rest, t)?)
    }

    /// ρ²P(T > t) from the transform of P(T > t), T no shorter than a residual service, whose density is 1/m at most.
    fn beyond_two(&self, transform: impl Fn(Complex64) -> Result<Complex64>, t: f64) -> Result<f64> {
        let share = self.load * self.load;
        if t < 1e-17 * self.service.mean() {
            return Ok(share);
        }
        inversion::survival_of_share(share, transform, t)
    }

    /// The time that a `share` of customers wait no longer than, seconds.
    ///
    /// # Errors
    /// When the share is not above 0 and below 1; those of [`Mg1::wait_survival`].
    pub fn wait_quantile(&self, share: f64) -> Result<f64> {
        let tail = quantile::tail(share)?;
        if quantile::starts_at_zero(self.load, tail) {
            return Ok(0.0);
        }
        if let Some(constant) = &self.constant {
            return constant.wait_quantile(share);
        }
        // The density of the wait is at most λ; above is Markov's bound.
        let low = (self.load - tail) / self.lambda;
        let high = self.mean_wait() / tail;
        inversion::quantile(|t| self.wait_survival(t), share, low.min(high), high)
    }

    /// The time that a `share` of customers spend at most, seconds.
    ///
    /// # Errors
    /// When the share is not above 0 and below 1; those of [`Mg1::response_survival`].
    pub fn response_quantile(&self, share: f64) -> Result<f64> {
        let tail = quantile::tail(share)?;
        if let Some(constant) = &self.constant {
            return constant.response_quantile(share);
        }
        // No less than the service alone; above is Markov's bound.
        let high = self.mean_response() / tail;
        let low = self.service.quantile(share)?.clamp(f64::MIN_POSITIVE, high);
        inversion::quantile(|t| self.response_survival(t), share, low, high)
    }

    /// P(N > n), n customers in the system, to 1e-9. Takes a time in proportion to n.
    ///
    /// # Errors
    /// When the transform cannot be had.
    pub fn number_survival(&self, n: u32) -> Result<f64> {
        if let Some(constant) = &self.constant {
            return Ok(constant.number_survival(u64::from(n)));
        }
        // Σ zⁿ P(N > n) = (1 − P(z))/(1 − z), and P(z) is the response's transform at λ(1 − z).
        let generating = |z: Complex64| {
            let s = self.lambda * (1.0 - z);
            let service = self.service.mean() * self.service.residual_transform(s)?;
            Ok(self.lambda * (self.wait_survival_transform(s)? + self.wait_transform(s)? * service))
        };
        inversion::survival_of_number(generating, n)
    }

    /// R, the transform of the residual service, and 1 − R²E[e^(−s wait)], one minus that of the waits of two residuals
    /// or more, without that difference.
    fn shortfall_of_two(&self, s: Complex64) -> Result<(Complex64, Complex64)> {
        let short = self.service.residual_shortfall(s)?;
        let of_two = short * (self.load + self.slack * (2.0 - short)) / (self.slack + self.load * short);
        Ok((1.0 - short, of_two))
    }

    /// ∫ e^−st P(wait > t) dt = (1 − E[e^(−s wait)])/s, without that difference.
    fn wait_survival_transform(&self, s: Complex64) -> Result<Complex64> {
        let short = self.load * self.service.residual_shortfall(s)?;
        Ok(short / (s * (self.slack + short)))
    }
}

/// In the catalogue.
pub(crate) const MODEL: Model = Model {
    name: "mg1",
    title: "M/G/1",
    family: Family::General,
    summary: "one server, memoryless arrivals, services of any distribution",
    formula: "ρ = λm; Wq = λE[S²]/(2(1 − ρ)); E[e^(−s·wait)] = (1 − ρ)/(1 − ρ(1 − φ(s))/(sm)), φ the transform of the service; response = wait + service; busy period: mean m/(1 − ρ), variance (Var S + ρm²)/(1 − ρ)³",
    assumptions: "Poisson arrivals; services independent of each other and of all else; first come, first served; no limit on the queue",
    source: "Pollaczek (1930), Khinchine (1932); Kleinrock (1975), Queueing Systems I, chapter 5; inversion: Abate and Whitt (1995), ORSA Journal on Computing 7(1)",
    holds: "exact for λm < 1; probabilities behind the quantiles to 1e-6 (constant services: to 1e-9, as M/D/1)",
    parameters: &[
        Parameter { name: "lambda", kind: Kind::Rate, means: "arrivals", default: None, example: "8000/s" },
        Parameter {
            name: "service",
            kind: Kind::Distribution,
            means: "time of one service",
            default: None,
            example: "lognormal(100us, 2)",
        },
    ],
    solve,
};

fn solve(given: &Given) -> Result<Solution> {
    let queue = Mg1::new(given.rate("lambda")?, given.distribution("service")?)?;
    let means = Means {
        lambda: queue.lambda,
        service: queue.service.mean(),
        utilization: queue.load,
        wait: queue.mean_wait(),
    };
    let solution = means.solution(Some(queue.idle()), Some(queue.utilization()));
    let wait = |share| queue.wait_quantile(share);
    Ok(with_quantiles(solution, wait, |share| queue.response_quantile(share))?
        .with("wait.second-moment", queue.wait_second_moment(), Unit::SecondsSquared)
        .with("busy-period.mean", queue.mean_busy_period(), Unit::Seconds)
        .with("busy-period.variance", queue.busy_period_variance(), Unit::SecondsSquared))
}
