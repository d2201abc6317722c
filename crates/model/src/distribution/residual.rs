//! What is left of a time when somebody comes by: P(R > t), R the residual of X with the density P(X > t)/E\[X\], and
//! P(X + R > t), X and R independent. In closed form, but for the second of log-normals and Weibulls.
//!
//! They are the first terms of a wait and of a response behind one server, and the only ones whose slopes jump where
//! X is constant or nearly so: with them known, the rest of a transform is easily inverted.

use std::f64::consts::SQRT_2;

use num_complex::Complex64;
use statrs::function::erf::erfc;
use statrs::function::gamma::ln_gamma;

use super::Distribution;
use super::cumulative::gamma_survival;
use crate::Result;
use crate::numeric::quadrature;

/// Standard deviations, and exponents of e, beyond which nothing is left to add up.
const NORMAL_END: f64 = 8.0;
const EXPONENT_END: f64 = 33.0;

/// Absolute error of what is integrated.
const LEAST: f64 = 1e-11;

impl Distribution {
    /// P(R > t), t in seconds: share of the mean that lies beyond t, E\[(X − t)⁺\]/E\[X\].
    pub fn residual_survival(&self, t: f64) -> f64 {
        if t.is_nan() || t <= 0.0 {
            return 1.0;
        }
        if t.is_infinite() {
            return 0.0;
        }
        let mean = self.mean();
        let beyond = match self {
            Distribution::Exponential { mean } => (-t / mean).exp(),
            Distribution::Constant { value } => 1.0 - t / value,
            Distribution::Erlang { shape, mean } => gamma_beyond(f64::from(*shape), *mean, t) / mean,
            Distribution::Gamma { shape, mean } => gamma_beyond(*shape, *mean, t) / mean,
            Distribution::Hyperexponential { branches } => {
                branches.iter().map(|(p, m)| p * m / mean * (-t / m).exp()).sum()
            }
            Distribution::Lognormal { mean, scv } => {
                let sigma = scv.ln_1p().sqrt();
                let deviate = (t / mean).ln() / sigma;
                let above = |deviate: f64| 0.5 * erfc(deviate / SQRT_2);
                above(deviate - 0.5 * sigma) - t / mean * above(deviate + 0.5 * sigma)
            }
            Distribution::Uniform { low, high } => {
                let width = high - low;
                let place = (t - low) / width;
                width / mean * uniform_beyond(place)
            }
            Distribution::Weibull { shape, mean } => {
                let power = 1.0 / shape;
                let hazard = (shape * ((t / mean).ln() + ln_gamma(1.0 + power))).exp();
                gamma_survival(1.0 + power, 1.0 + power, hazard) - t / mean * (-hazard).exp()
            }
        };
        beyond.clamp(0.0, 1.0)
    }

    /// P(X + R > t), t in seconds.
    ///
    /// # Errors
    /// When the quadrature of a log-normal or Weibull does not reach its error of 1e-11.
    pub(crate) fn with_residual_survival(&self, t: f64) -> Result<f64> {
        if t.is_nan() || t <= 0.0 {
            return Ok(1.0);
        }
        if t.is_infinite() {
            return Ok(0.0);
        }
        let mean = self.mean();
        // The density of X + R is (P(X₁ + X₂ > t) − P(X > t))/E[X].
        let beyond = match self {
            Distribution::Exponential { mean } => (1.0 + t / mean) * (-t / mean).exp(),
            Distribution::Constant { value } => 2.0 - t / value,
            Distribution::Erlang { shape, mean } => gamma_twice(f64::from(*shape), *mean, t),
            Distribution::Gamma { shape, mean } => gamma_twice(*shape, *mean, t),
            Distribution::Hyperexponential { branches } => {
                let weighted = |(p, a): &(f64, f64)| -> f64 {
                    branches.iter().map(|(q, b)| p * q * b / mean * stages(*a, *b, t)).sum()
                };
                branches.iter().map(weighted).sum()
            }
            Distribution::Uniform { low, high } => {
                let width = high - low;
                let both = two_uniforms_beyond((t - 2.0 * low) / width);
                width / mean * (both - uniform_beyond((t - low) / width))
            }
            Distribution::Lognormal { mean, scv } => {
                let sigma = scv.ln_1p().sqrt();
                let last = ((t / mean).ln() / sigma + 0.5 * sigma).clamp(-NORMAL_END, NORMAL_END);
                let sooner = |z: f64| {
                    let x = mean * (sigma * (z - 0.5 * sigma)).exp();
                    (-0.5 * z * z).exp() / (std::f64::consts::TAU).sqrt() * self.residual_survival(t - x)
                };
                self.survival(t) + sum_of(sooner, -NORMAL_END, last)?
            }
            Distribution::Weibull { shape, mean } => {
                let power = 1.0 / shape;
                let ln_scale = -ln_gamma(1.0 + power);
                // X = mean · scale · V^power, V exponential, w = ln V.
                let last = shape * ((t / mean).ln() - ln_scale);
                let sooner = |w: f64| {
                    let x = mean * (ln_scale + w * power).exp();
                    (w - w.exp()).exp() * self.residual_survival(t - x)
                };
                let first = -EXPONENT_END;
                self.survival(t) + sum_of(sooner, first, last.clamp(first, EXPONENT_END.ln()))?
            }
        };
        Ok(beyond.clamp(0.0, 1.0))
    }
}

/// ∫ of a smooth function that is nowhere above 1.
fn sum_of(function: impl Fn(f64) -> f64, low: f64, high: f64) -> Result<f64> {
    if high <= low {
        return Ok(0.0);
    }
    let panels = ((high - low) / 4.0).ceil() as u32;
    Ok(quadrature::integral(|x| Complex64::from(function(x)), low, high, panels, LEAST)?.re)
}

/// E\[(X − t)⁺\] of a gamma, t > 0.
fn gamma_beyond(shape: f64, mean: f64, t: f64) -> f64 {
    // The gamma of one stage more has the same scale.
    let scale = mean / shape;
    let more = gamma_survival(shape + 1.0, scale * (shape + 1.0), t);
    mean * more - t * gamma_survival(shape, mean, t)
}

/// P(X + R > t) of a gamma: X₁ + X₂ has twice its shape.
fn gamma_twice(shape: f64, mean: f64, t: f64) -> f64 {
    (gamma_beyond(2.0 * shape, 2.0 * mean, t) - gamma_beyond(shape, mean, t)) / mean
}

/// P(A + B > t), two exponentials of these means.
fn stages(a: f64, b: f64, t: f64) -> f64 {
    let (long, short) = (a.max(b), a.min(b));
    let apart = t * ((long - short) / long) / short;
    let share = if apart > 0.0 { -(-apart).exp_m1() / apart } else { 1.0 };
    (-t / long).exp() * (1.0 + t / long * share)
}

/// E\[(U − y)⁺\], U uniform on 0 … 1.
fn uniform_beyond(y: f64) -> f64 {
    if y <= 0.0 { 0.5 - y } else { 0.5 * (1.0 - y).max(0.0).powi(2) }
}

/// E\[(U₁ + U₂ − y)⁺\].
fn two_uniforms_beyond(y: f64) -> f64 {
    match y {
        _ if y <= 0.0 => 1.0 - y,
        _ if y <= 1.0 => 1.0 - y + y.powi(3) / 6.0,
        _ => (2.0 - y).max(0.0).powi(3) / 6.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::general::inversion;

    const ALL: [&str; 14] = [
        "exponential(3)",
        "erlang(4, 3)",
        "erlang(10000, 3)",
        "hyperexponential(0.9, 1, 0.1, 20)",
        "hyperexponential(0.5, 2, 0.5, 2)",
        "gamma(0.5, 3)",
        "lognormal(3, 2)",
        "lognormal(3, 0.000001)",
        "lognormal(3, 10000)",
        "uniform(1, 5)",
        "uniform(0, 6)",
        "weibull(0.3, 3)",
        "weibull(1.5, 3)",
        "weibull(10000, 3)",
    ];

    #[test]
    fn they_are_what_their_transforms_invert_to() {
        for text in ALL {
            let law: Distribution = text.parse().unwrap();
            for t in [0.01, 1.7, 2.9, 3.3, 4.5, 5.9, 7.0, 60.0] {
                let residual = |s: Complex64| Ok(law.residual_shortfall(s)? / s);
                let inverted = inversion::survival(residual, t).unwrap();
                assert!((inverted - law.residual_survival(t)).abs() < 1e-6, "{text} at {t}: {inverted}");
                let both = |s: Complex64| Ok((1.0 - law.transform(s)? * law.residual_transform(s)?) / s);
                let inverted = inversion::survival(both, t).unwrap();
                let found = law.with_residual_survival(t).unwrap();
                assert!((inverted - found).abs() < 1e-6, "{text} at {t}: {inverted}, not {found}");
            }
        }
    }

    #[test]
    fn nearly_constant_is_nearly_the_constant() {
        let constant = Distribution::constant(3.0).unwrap();
        for text in ["uniform(2.9999999999999, 3.0000000000001)", "erlang(10000, 3)", "weibull(10000, 3)"] {
            let law: Distribution = text.parse().unwrap();
            for t in [1e-9, 1.0, 2.0, 3.1, 4.0, 5.5, 6.5] {
                assert!(
                    (law.residual_survival(t) - constant.residual_survival(t)).abs() < 1e-2,
                    "{text} {t}"
                );
                let (near, at) = (law.with_residual_survival(t), constant.with_residual_survival(t));
                assert!((near.unwrap() - at.unwrap()).abs() < 1e-2, "{text} {t}");
            }
        }
    }
}
