//! When a tail has fallen to a given share: the inverse of a survival function.

use crate::numeric::root;
use crate::{ModelError, Result};

/// The shares that the catalogue tells quantiles of, with their names.
pub(crate) const SHARES: [(&str, f64); 4] = [("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p999", 0.999)];

/// The t with `survival(t)` = 1 − `share`, for a survival function that is continuous and falls to zero; 0 where it
/// starts no higher than that. `scale` is a guess of the size of t.
///
/// # Errors
/// When the share is not above 0 and below 1, or the tail does not fall within the range of floating point.
pub(crate) fn of_survival(survival: impl Fn(f64) -> f64, share: f64, scale: f64) -> Result<f64> {
    let tail = tail(share)?;
    let start = survival(0.0);
    if starts_at_zero(start, tail) {
        return Ok(0.0);
    }
    // The logarithm of most tails is nearly a straight line, where interpolation is at home.
    let height = |t: f64| (survival(t) / tail).ln().max(-700.0);
    let mut low = 0.0;
    let (mut high, mut high_height) = (scale, height(scale));
    for _ in 0..2200 {
        if high_height <= 0.0 {
            break;
        }
        low = high;
        high *= 2.0;
        high_height = height(high);
    }
    if high_height.is_nan() || high_height > 0.0 || !high.is_finite() {
        return Err(ModelError::Numerical {
            method: "quantile",
            reason: format!("the tail does not fall to {tail} within the range of floating point"),
        });
    }
    root::bracketed(|t| Ok(height(t)), low, high, 0.0)
}

/// Whether no more than `tail` are above zero, of the `above` who are: then zero is the quantile. What is equal within
/// rounding counts: 1 − 0.9 is a little less than 0.1, and the share of those who wait is worked out as well.
pub(crate) fn starts_at_zero(above: f64, tail: f64) -> bool {
    above <= tail * (1.0 + 1e-12)
}

/// 1 − `share`.
///
/// # Errors
/// When the share is not above 0 and below 1.
pub(crate) fn tail(share: f64) -> Result<f64> {
    if share > 0.0 && share < 1.0 {
        return Ok(1.0 - share);
    }
    Err(ModelError::parameter(
        "share",
        format!("{share} has no quantile"),
        "give a value above 0 and below 1, such as 0.99",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_it_finds_has_that_tail() {
        for rate in [1e-15, 0.3, 1e15] {
            for share in [1e-6, 0.5, 0.99, 1.0 - 1e-9] {
                for scale in [1e-20, 1.0, 1e20] {
                    let t = of_survival(|t| (-rate * t).exp(), share, scale).unwrap();
                    let right = -(-share).ln_1p() / rate;
                    assert!((t / right - 1.0).abs() < 1e-9, "{rate} {share} {scale}: {t} {right}");
                }
            }
        }
    }

    #[test]
    fn an_atom_at_zero_is_its_own_quantile() {
        assert_eq!(of_survival(|t| 0.4 * (-t).exp(), 0.6, 1.0).unwrap(), 0.0);
        assert!(of_survival(|t| 0.4 * (-t).exp(), 0.7, 1.0).unwrap() > 0.0);
        // 1 − 0.9 is less than 0.1 in floating point.
        assert_eq!(of_survival(|t| 0.1 * (-t).exp(), 0.9, 1.0).unwrap(), 0.0);
    }

    #[test]
    fn shares_without_a_quantile_are_named() {
        for share in [0.0, 1.0, -1.0, f64::NAN] {
            assert!(of_survival(|t| (-t).exp(), share, 1.0).is_err());
        }
    }
}
