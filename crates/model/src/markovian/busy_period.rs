//! How long the server of an M/M/1 stays busy once it has begun: the law of one busy period.
//!
//! The density is a mixture of exponentials (Abate and Whitt 1988, *Simple Spectral Representations for the M/M/1
//! Queue*, section 4), here with rates x(θ) = λ + μ − 2√(λμ) cos θ:
//!
//! f(t) = (2μ/π) ∫₀^π sin²θ e^(−x(θ)t) dθ,
//!
//! which equals e^(−(λ+μ)t) I₁(2t√(λμ)) / (t√ρ). Its integrals are of one sign as well, so that both tails keep their
//! digits. They are summed with a double-exponential substitution (Takahasi and Mori 1974), which finds every scale.

use std::f64::consts::PI;

use crate::Result;
use crate::numeric::quantile;

/// The busy period of an M/M/1 with λ < μ.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BusyPeriod {
    lambda: f64,
    mu: f64,
}

impl BusyPeriod {
    pub(super) fn new(lambda: f64, mu: f64) -> Self {
        Self { lambda, mu }
    }

    /// Mean, seconds: 1/(μ − λ).
    pub fn mean(&self) -> f64 {
        1.0 / (self.mu - self.lambda)
    }

    /// Variance, seconds squared: (λ + μ)/(μ − λ)³.
    pub fn variance(&self) -> f64 {
        (self.lambda + self.mu) / (self.mu - self.lambda).powi(3)
    }

    /// Density at `t` seconds, per second.
    pub fn density(&self, t: f64) -> f64 {
        self.integral(|x| (-x * t).exp())
    }

    /// P(B ≤ t).
    pub fn cdf(&self, t: f64) -> f64 {
        self.integral(|x| -(-x * t).exp_m1() / x).min(1.0)
    }

    /// P(B > t).
    pub fn survival(&self, t: f64) -> f64 {
        self.integral(|x| (-x * t).exp() / x).min(1.0)
    }

    /// The time that a `share` of busy periods do not exceed, seconds.
    ///
    /// # Errors
    /// When the share is not above 0 and below 1.
    pub fn quantile(&self, share: f64) -> Result<f64> {
        quantile::of_survival(|t| self.survival(t), share, 1.0 / self.mu)
    }

    /// (2μ/π) ∫₀^π sin²θ g(x(θ)) dθ.
    fn integral(&self, g: impl Fn(f64) -> f64) -> f64 {
        const STEP: f64 = 1.0 / 256.0;
        // The smallest rate, (√μ − √λ)², without its cancellation.
        let least = ((self.mu - self.lambda) / (self.mu.sqrt() + self.lambda.sqrt())).powi(2);
        let spread = 4.0 * self.lambda.sqrt() * self.mu.sqrt();
        let mut sum = 0.0;
        // At ±4.6 one end of the interval is nearer than 1e-67 of its length.
        for i in -1178..=1178 {
            let u = f64::from(i) * STEP;
            let q = (PI * u.sinh()).exp();
            let near_zero = 1.0 / (1.0 + 1.0 / q);
            let near_pi = 1.0 / (1.0 + q);
            let theta = PI * near_zero;
            let sine = if theta < 2.0 { theta.sin() } else { (PI * near_pi).sin() };
            let rate = least + spread * (0.5 * theta).sin().powi(2);
            sum += PI * u.cosh() * near_pi * near_zero * sine * sine * g(rate);
        }
        2.0 * self.mu * STEP * sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(left: f64, right: f64) {
        assert!((left / right - 1.0).abs() < 1e-10, "{left} {right}");
    }

    #[test]
    fn the_two_tails_are_one() {
        for (lambda, mu) in [(0.5, 1.0), (1e-9, 1.0), (0.999_999, 1.0), (8e14, 1e15), (1e-15, 2e-15)] {
            let busy = BusyPeriod::new(lambda, mu);
            for t in [1e-9, 0.1, 1.0, 50.0, 1e6, 1e9] {
                let t = t / mu;
                assert!((busy.cdf(t) + busy.survival(t) - 1.0).abs() < 1e-11, "{lambda} {mu} {t}");
            }
            close(busy.survival(0.0), 1.0);
            close(busy.density(0.0), mu);
        }
    }

    #[test]
    fn without_arrivals_it_is_one_service() {
        let busy = BusyPeriod::new(1e-15, 1.0);
        for t in [1e-12, 0.5, 3.0, 40.0] {
            close(busy.survival(t), (-t).exp());
            close(busy.cdf(t), -(-t).exp_m1());
            close(busy.density(t), (-t).exp());
        }
    }

    #[test]
    fn the_density_is_that_of_the_bessel_function() {
        // I₁ by its power series.
        let bessel = |x: f64| {
            let mut term = 0.5 * x;
            (1..80).fold(term, |sum, k| {
                term *= 0.25 * x * x / f64::from(k * (k + 1));
                sum + term
            })
        };
        let (lambda, mu): (f64, f64) = (0.7, 1.1);
        let busy = BusyPeriod::new(lambda, mu);
        for t in [0.01, 1.0, 5.0, 12.0] {
            let x = 2.0 * t * (lambda * mu).sqrt();
            close(busy.density(t), bessel(x) * (-(lambda + mu) * t).exp() / (t * (lambda / mu).sqrt()));
        }
    }

    #[test]
    fn the_mean_is_the_area_under_the_tail() {
        let busy = BusyPeriod::new(0.8, 1.0);
        let area: f64 = (0..4000).map(|i| busy.survival((f64::from(i) + 0.5) * 0.1)).sum::<f64>() * 0.1;
        assert!((area / busy.mean() - 1.0).abs() < 1e-3, "{area}");
    }
}
