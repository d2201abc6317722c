//! Laplace–Stieltjes transforms: E[e^−sX] at complex s, of a distribution and of its residual, without cancellation.
//!
//! The residual (equilibrium) distribution of X has the density P(X > t)/E[X]: what is left of a service when somebody
//! arrives in it. Closed forms where they exist. Log-normal and Weibull have none: there the integral is taken over the
//! logarithm of the time, on a line shifted into the complex plane so that the integrand decays instead of oscillating
//! (a rotation of the ray of integration; Cauchy's theorem), to about 1e-13.

use std::f64::consts::TAU;

use num_complex::Complex64;

use super::{Distribution, weibull};
use crate::numeric::{entire, quadrature};
use crate::{ModelError, Result};

/// What is averaged over the distribution.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Kernel {
    /// e^−sX: the transform.
    Transform,
    /// (X/m)(1 − e^−sX)/(sX): the transform of the residual.
    Residual,
    /// (X/m)(1 − (1 − e^−sX)/(sX)): one minus that.
    Shortfall,
}

impl Kernel {
    /// The function of z = sX that is averaged, without the factor X/m.
    pub(super) fn at(self, z: Complex64) -> Complex64 {
        match self {
            Kernel::Transform => entire::decay(z),
            Kernel::Residual => entire::first(z),
            Kernel::Shortfall if z.norm_sqr() < 1.0 => z * entire::second(z),
            Kernel::Shortfall => 1.0 - entire::first(z),
        }
    }
}

impl Distribution {
    /// φ(s) = E[e^−sX], for Re s ≥ 0 (per second).
    ///
    /// # Errors
    /// When s is not finite or left of the imaginary axis; when the quadrature of a log-normal or Weibull does not
    /// reach its error of 1e-12.
    pub fn transform(&self, s: Complex64) -> Result<Complex64> {
        let s = right_half(s)?;
        if s == Complex64::ZERO {
            return Ok(Complex64::ONE);
        }
        Ok(match self {
            Distribution::Exponential { mean } => 1.0 / (1.0 + s * mean),
            Distribution::Constant { value } => entire::decay(s * value),
            Distribution::Erlang { shape, mean } => gamma(f64::from(*shape), *mean, s),
            Distribution::Gamma { shape, mean } => gamma(*shape, *mean, s),
            Distribution::Hyperexponential { branches } => {
                branches.iter().map(|(p, m)| *p / (1.0 + s * *m)).sum()
            }
            Distribution::Uniform { low, high } => entire::decay(s * low) * entire::first(s * (high - low)),
            Distribution::Lognormal { mean, scv } => lognormal(*mean, *scv, s, Kernel::Transform)?,
            Distribution::Weibull { shape, mean } => weibull::average(*shape, s * *mean, Kernel::Transform)?,
        })
    }

    /// φ(s) at a real s ≥ 0 (per second).
    ///
    /// # Errors
    /// Those of [`Distribution::transform`].
    pub fn transform_real(&self, s: f64) -> Result<f64> {
        Ok(self.transform(Complex64::new(s, 0.0))?.re)
    }

    /// The transform of the residual distribution, (1 − φ(s))/(s E(X)), for Re s ≥ 0; 1 at 0. So 1 − φ(s) without
    /// cancellation is this, times s E(X).
    ///
    /// # Errors
    /// Those of [`Distribution::transform`].
    pub fn residual_transform(&self, s: Complex64) -> Result<Complex64> {
        let s = right_half(s)?;
        if s == Complex64::ZERO {
            return Ok(Complex64::ONE);
        }
        let mean = self.mean();
        Ok(match self {
            Distribution::Exponential { mean } => 1.0 / (1.0 + s * mean),
            Distribution::Constant { value } => entire::first(s * value),
            Distribution::Erlang { shape, mean } => gamma_residual(f64::from(*shape), *mean, s),
            Distribution::Gamma { shape, mean } => gamma_residual(*shape, *mean, s),
            Distribution::Hyperexponential { branches } => {
                branches.iter().map(|(p, m)| p * m / mean / (1.0 + s * *m)).sum()
            }
            Distribution::Uniform { low, high } => {
                let width = high - low;
                let (first, rest) = (entire::first(s * low), entire::second(s * width));
                (first * low + entire::decay(s * low) * rest * width) / mean
            }
            Distribution::Lognormal { mean, scv } => lognormal(*mean, *scv, s, Kernel::Residual)?,
            Distribution::Weibull { shape, mean } => weibull::average(*shape, s * *mean, Kernel::Residual)?,
        })
    }

    /// One minus [`Distribution::residual_transform`], with all its digits where s is small.
    ///
    /// # Errors
    /// Those of [`Distribution::transform`].
    pub fn residual_shortfall(&self, s: Complex64) -> Result<Complex64> {
        let s = right_half(s)?;
        if s == Complex64::ZERO {
            return Ok(Complex64::ZERO);
        }
        let mean = self.mean();
        Ok(match self {
            Distribution::Exponential { mean } => ratio(s * *mean),
            Distribution::Constant { value } => Kernel::Shortfall.at(s * value),
            Distribution::Erlang { shape, mean } => gamma_shortfall(f64::from(*shape), *mean, s),
            Distribution::Gamma { shape, mean } => gamma_shortfall(*shape, *mean, s),
            Distribution::Hyperexponential { branches } => {
                branches.iter().map(|(p, m)| p * m / mean * ratio(s * *m)).sum()
            }
            Distribution::Uniform { low, high } => {
                let width = high - low;
                let (at_low, at_width) = (s * low, s * width);
                (Kernel::Shortfall.at(at_low) * low
                    + entire::first(at_low) * at_low * (0.5 * width)
                    + entire::decay(at_low) * at_width * entire::third(at_width) * width)
                    / mean
            }
            Distribution::Lognormal { mean, scv } => lognormal(*mean, *scv, s, Kernel::Shortfall)?,
            Distribution::Weibull { shape, mean } => weibull::average(*shape, s * *mean, Kernel::Shortfall)?,
        })
    }

    /// Mean of the residual distribution, E(X²)/(2 E(X)), seconds: what is left, on average, of the service that an
    /// arrival at random finds.
    pub fn residual_mean(&self) -> f64 {
        0.5 * self.mean() * (1.0 + self.scv())
    }
}

fn right_half(s: Complex64) -> Result<Complex64> {
    if s.is_finite() && s.re >= 0.0 {
        return Ok(s);
    }
    Err(ModelError::parameter("s", format!("{s} is not usable"), "give a value right of the imaginary axis"))
}

/// z/(1 + z).
fn ratio(z: Complex64) -> Complex64 {
    if z.norm_sqr() > 1.0 { 1.0 / (1.0 + 1.0 / z) } else { z / (1.0 + z) }
}

/// (1 + sm/k)^−k.
fn gamma(shape: f64, mean: f64, s: Complex64) -> Complex64 {
    entire::decay(entire::ln_1p(s * (mean / shape)) * shape)
}

fn gamma_residual(shape: f64, mean: f64, s: Complex64) -> Complex64 {
    -entire::exp_m1(-entire::ln_1p(s * (mean / shape)) * shape) / (s * mean)
}

fn gamma_shortfall(shape: f64, mean: f64, s: Complex64) -> Complex64 {
    let x = s * (mean / shape);
    if x.norm() * shape.max(1.0) > 0.5 {
        return 1.0 - gamma_residual(shape, mean, s);
    }
    // 1 − (1 − (1 + x)^−k)/(kx) = Σ over j ≥ 1 of (k+1)…(k+j)/(j+1)! (−1)^(j+1) x^j.
    let mut term = -Complex64::ONE;
    let mut sum = Complex64::ZERO;
    for j in 1..=60 {
        term *= -x * ((shape + f64::from(j)) / f64::from(j + 1));
        sum += term;
        if term.norm() <= 1e-17 * sum.norm() {
            break;
        }
    }
    sum
}

/// The average of a kernel over X = exp(μ + σZ), Z standard normal.
///
/// The weighted average is one over the same with μ + σ² for μ. The line of integration is Z = x + iη. With
/// η = −arg(s)/σ the argument of sX is 0 and nothing oscillates, but the normal density grows by e^(η²/2), which costs
/// digits where σ is small. There the line goes through the saddle point of the exponent, −W(σ²se^μ)/σ with Lambert's W
/// (Laub, Asmussen, Jensen, Rojas-Nandayapa 2016 take it for real s), where it gives up no more than it must.
fn lognormal(mean: f64, scv: f64, s: Complex64, kernel: Kernel) -> Result<Complex64> {
    let variance = scv.ln_1p();
    let sigma = variance.sqrt();
    let turned = -s.arg() / sigma;
    let may_turn = 0.5 * turned * turned < 4.0;
    if kernel == Kernel::Transform {
        let median = mean * (-0.5 * variance).exp();
        let (eta, peak) = if may_turn {
            (turned, -lambert(Complex64::from(s.norm() * median * variance)).re / sigma)
        } else {
            let saddle = -lambert(s * (median * variance)) / sigma;
            (saddle.im, saddle.re)
        };
        // The exponent −(x + iη)²/2 − sX at the peak; below, what is left of it elsewhere.
        let z = s * median * Complex64::new(sigma * peak, sigma * eta).exp();
        let top = Complex64::new(0.5 * (eta - peak) * (eta + peak), -peak * eta) - z;
        let integrand = |from_peak: f64| {
            let density = Complex64::new(-from_peak * (0.5 * from_peak + peak), -from_peak * eta);
            (density - z * (sigma * from_peak).exp_m1()).exp()
        };
        return scaled(
            top,
            s,
            |least| quadrature::along_line(integrand, -9.5, 9.5, 0.5, least),
            1.0 / TAU.sqrt(),
        );
    }
    if s.norm() * mean > 1.0 {
        let residual = (1.0 - lognormal(mean, scv, s, Kernel::Transform)?) / (s * mean);
        return Ok(if kernel == Kernel::Residual { residual } else { 1.0 - residual });
    }
    // |s| times the mean is at most 1: where σ is small, sX is small as well.
    let eta = if may_turn { turned } else { 0.0 };
    let scale = s * mean * (0.5 * variance).exp() * Complex64::new(0.0, sigma * eta).exp();
    let integrand = |x: f64| {
        Complex64::new(0.5 * (eta * eta - x * x), -x * eta).exp() * kernel.at(scale * (sigma * x).exp())
    };
    // The shortfall grows with X where X is small: its weight is further right, by σ.
    Ok(quadrature::along_line(integrand, -9.5, 9.5 + sigma, 0.5, floor(s))? / TAU.sqrt())
}

/// e^`top` times an integral times `factor`, where the integral need only be as good as the product.
pub(super) fn scaled(
    top: Complex64,
    s: Complex64,
    integral: impl Fn(f64) -> Result<Complex64>,
    factor: f64,
) -> Result<Complex64> {
    if top.re < -745.0 {
        return Ok(Complex64::ZERO);
    }
    let top = top.exp();
    Ok(integral(floor(s) / top.norm())? * top * factor)
}

/// The error below which an average at s counts as exact: none at real s, where small values keep their digits.
pub(super) fn floor(s: Complex64) -> f64 {
    if s.im == 0.0 { 0.0 } else { 1e-17 }
}

/// Lambert's W, its main branch, right of the imaginary axis: W e^W = z.
fn lambert(z: Complex64) -> Complex64 {
    let mut w = if z.norm() < 1.0 { z / (1.0 + z) } else { (1.0 + z).ln() };
    for _ in 0..50 {
        // Newton's step of w + ln w = ln z where z is large, of w e^w = z where it is small.
        let step = if z.norm() < 1.0 {
            (w - z * (-w).exp()) / (1.0 + w)
        } else {
            (w + w.ln() - z.ln()) * w / (1.0 + w)
        };
        w -= step;
        if step.norm() <= 1e-15 * w.norm() {
            break;
        }
    }
    w
}
