//! Roots by a bracket that shrinks, so that every search ends.

use crate::{ModelError, Result};

/// Where `function` changes sign between `low` and `high`, to an error of `tolerance` (absolute) or of rounding.
///
/// Chandrupatla's method: inverse quadratic interpolation where it is safe, halving elsewhere. Each step is inside the
/// bracket. Where the function has the same sign at both ends, the end where it is nearer to zero is the answer: a
/// bracket from exact bounds fails only by rounding, at that end.
///
/// # Errors
/// Those of `function`; when it is not a number; when 300 steps were not enough.
pub(crate) fn bracketed(
    mut function: impl FnMut(f64) -> Result<f64>,
    low: f64,
    high: f64,
    tolerance: f64,
) -> Result<f64> {
    let (mut a, mut b) = (high, low);
    let (mut at_a, mut at_b) = (function(a)?, function(b)?);
    if at_a.is_nan() || at_b.is_nan() {
        return Err(not_a_number());
    }
    if at_a == 0.0 {
        return Ok(a);
    }
    if at_b == 0.0 {
        return Ok(b);
    }
    if (at_a > 0.0) == (at_b > 0.0) {
        return Ok(if at_a.abs() < at_b.abs() { a } else { b });
    }
    let mut share = 0.5;
    for _ in 0..300 {
        let x = a + share * (b - a);
        let at_x = function(x)?;
        if at_x.is_nan() {
            return Err(not_a_number());
        }
        let (c, at_c);
        if (at_x > 0.0) == (at_a > 0.0) {
            (c, at_c) = (a, at_a);
        } else {
            (c, at_c) = (b, at_b);
            (b, at_b) = (a, at_a);
        }
        (a, at_a) = (x, at_x);
        let best = if at_a.abs() < at_b.abs() { a } else { b };
        let smallest = (2.0 * f64::EPSILON * best.abs() + 0.5 * tolerance) / (b - a).abs();
        if at_a == 0.0 || smallest >= 0.5 {
            return Ok(best);
        }
        let xi = (a - b) / (c - b);
        let phi = (at_a - at_b) / (at_c - at_b);
        let safe = phi * phi < xi && (1.0 - phi) * (1.0 - phi) < 1.0 - xi;
        let guess = if safe {
            at_a / (at_b - at_a) * (at_c / (at_b - at_c))
                + (c - a) / (b - a) * (at_a / (at_c - at_a)) * (at_b / (at_c - at_b))
        } else {
            0.5
        };
        share = if guess.is_finite() { guess.clamp(smallest, 1.0 - smallest) } else { 0.5 };
    }
    Err(ModelError::Numerical { method: "root", reason: "300 steps were not enough".into() })
}

fn not_a_number() -> ModelError {
    ModelError::Numerical { method: "root", reason: "the function is not a number in the bracket".into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_roots() {
        let mut steps = 0;
        let root = bracketed(
            |x| {
                steps += 1;
                Ok(x.cos() - x)
            },
            0.0,
            10.0,
            1e-15,
        );
        assert!((root.unwrap() - 0.739_085_133_215_160_6).abs() < 1e-15);
        assert!(steps < 20, "{steps}");
        let step = bracketed(|x| Ok(if x < 0.3 { f64::NEG_INFINITY } else { 1.0 }), 0.0, 1.0, 1e-12).unwrap();
        assert!((step - 0.3).abs() < 2e-12);
    }

    #[test]
    fn without_a_change_of_sign_the_nearer_end() {
        assert_eq!(bracketed(|x| Ok(x + 1.0), 0.0, 5.0, 1e-12).unwrap(), 0.0);
        assert!(bracketed(|_| Ok(f64::NAN), 0.0, 5.0, 1e-12).is_err());
    }
}
