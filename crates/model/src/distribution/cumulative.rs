//! P(X ≤ t), P(X > t) and quantiles.

use std::f64::consts::SQRT_2;

use statrs::function::erf::{erfc, erfc_inv};
use statrs::function::gamma::{gamma_lr, gamma_ur, ln_gamma};

use super::Distribution;
use crate::numeric::root;
use crate::{ModelError, Result};

impl Distribution {
    /// P(X ≤ t), t in seconds.
    pub fn cdf(&self, t: f64) -> f64 {
        if t.is_nan() || t < 0.0 {
            return 0.0;
        }
        match self {
            Distribution::Exponential { mean } => -(-t / mean).exp_m1(),
            Distribution::Constant { value } => f64::from(u8::from(t >= *value)),
            Distribution::Erlang { shape, mean } => gamma_cdf(f64::from(*shape), *mean, t),
            Distribution::Gamma { shape, mean } => gamma_cdf(*shape, *mean, t),
            Distribution::Hyperexponential { branches } => {
                branches.iter().map(|(p, m)| p * -(-t / m).exp_m1()).sum()
            }
            Distribution::Lognormal { mean, scv } => 0.5 * erfc(-deviate(*mean, *scv, t) / SQRT_2),
            Distribution::Uniform { low, high } => ((t - low) / (high - low)).clamp(0.0, 1.0),
            Distribution::Weibull { shape, mean } => -(-weibull_hazard(*shape, *mean, t)).exp_m1(),
        }
    }

    /// P(X > t), t in seconds, with all its digits in the tail.
    pub fn survival(&self, t: f64) -> f64 {
        if t.is_nan() || t < 0.0 {
            return 1.0;
        }
        match self {
            Distribution::Exponential { mean } => (-t / mean).exp(),
            Distribution::Constant { value } => f64::from(u8::from(t < *value)),
            Distribution::Erlang { shape, mean } => gamma_survival(f64::from(*shape), *mean, t),
            Distribution::Gamma { shape, mean } => gamma_survival(*shape, *mean, t),
            Distribution::Hyperexponential { branches } => {
                branches.iter().map(|(p, m)| p * (-t / m).exp()).sum()
            }
            Distribution::Lognormal { mean, scv } => 0.5 * erfc(deviate(*mean, *scv, t) / SQRT_2),
            Distribution::Uniform { low, high } => ((high - t) / (high - low)).clamp(0.0, 1.0),
            Distribution::Weibull { shape, mean } => (-weibull_hazard(*shape, *mean, t)).exp(),
        }
    }

    /// The smallest t (seconds) with P(X ≤ t) ≥ `share`, for a share from 0 to below 1.
    ///
    /// # Errors
    /// When the share is none of these.
    pub fn quantile(&self, share: f64) -> Result<f64> {
        if !(0.0..1.0).contains(&share) {
            return Err(ModelError::parameter(
                "share",
                format!("there is no quantile at {share}"),
                "give a value from 0 to below 1",
            ));
        }
        if share == 0.0 {
            return Ok(match self {
                Distribution::Constant { value } => *value,
                Distribution::Uniform { low, .. } => *low,
                _ => 0.0,
            });
        }
        match self {
            Distribution::Exponential { mean } => Ok(-mean * (-share).ln_1p()),
            Distribution::Constant { value } => Ok(*value),
            Distribution::Lognormal { mean, scv } => {
                let variance = scv.ln_1p();
                let z = if share < 0.5 {
                    -SQRT_2 * erfc_inv(2.0 * share)
                } else {
                    SQRT_2 * erfc_inv(2.0 * (1.0 - share))
                };
                Ok(mean * (variance.sqrt() * z - 0.5 * variance).exp())
            }
            Distribution::Uniform { low, high } => Ok(low + share * (high - low)),
            Distribution::Weibull { shape, mean } => {
                Ok(mean * ((-(-share).ln_1p()).ln() / shape - ln_gamma(1.0 + 1.0 / shape)).exp())
            }
            Distribution::Erlang { .. }
            | Distribution::Gamma { .. }
            | Distribution::Hyperexponential { .. } => self.searched_quantile(share),
        }
    }

    /// The quantile by a search for ln t, below Markov's bound E[X]/(1 − share), on the smaller of both tails.
    fn searched_quantile(&self, share: f64) -> Result<f64> {
        let excess = |ln_t: f64| {
            let t = ln_t.exp();
            Ok(if share < 0.5 {
                self.cdf(t).ln() - share.ln()
            } else {
                (-share).ln_1p() - self.survival(t).ln()
            })
        };
        let high = (self.mean() / (1.0 - share)).ln();
        let low = f64::MIN_POSITIVE.ln();
        // A gamma of tiny shape has quantiles that floating point holds for 0.
        if excess(low)? >= 0.0 {
            return Ok(0.0);
        }
        Ok(root::bracketed(excess, low, high, 0.0)?.exp())
    }
}

/// (ln t − μ)/σ.
fn deviate(mean: f64, scv: f64, t: f64) -> f64 {
    let variance = scv.ln_1p();
    ((t / mean).ln() + 0.5 * variance) / variance.sqrt()
}

/// (t/scale)^shape.
fn weibull_hazard(shape: f64, mean: f64, t: f64) -> f64 {
    (shape * ((t / mean).ln() + ln_gamma(1.0 + 1.0 / shape))).exp()
}

/// Regularised incomplete gamma functions; statrs takes neither 0 nor infinity.
fn gamma_cdf(shape: f64, mean: f64, t: f64) -> f64 {
    let x = t / mean * shape;
    match x {
        _ if x <= 0.0 => 0.0,
        f64::INFINITY => 1.0,
        _ => gamma_lr(shape, x),
    }
}

pub(super) fn gamma_survival(shape: f64, mean: f64, t: f64) -> f64 {
    let x = t / mean * shape;
    match x {
        _ if x <= 0.0 => 1.0,
        f64::INFINITY => 0.0,
        _ => gamma_ur(shape, x),
    }
}
