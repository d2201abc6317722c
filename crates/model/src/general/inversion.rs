//! From a transform back to probabilities: P(X > t) from ∫ e^−st P(X > t) dt, and P(N > n) from Σ zⁿ P(N > n).
//!
//! Abate and Whitt (1995), *Numerical inversion of Laplace transforms of probability distributions*, ORSA Journal on
//! Computing 7(1): the Fourier series of f(t)e^−at, whose alternating terms Euler's summation makes converge fast where f
//! is smooth at t. Where f has a kink near t they do not alternate; then more terms are taken, until estimates from
//! ever more terms agree. What is left of the kink's own kind (a known part that is not smooth) is best taken out of
//! the transform beforehand, as [`super::Mg1`] does.

use std::f64::consts::{LN_10, PI};

use num_complex::Complex64;

use crate::numeric::root;
use crate::{ModelError, Result};

/// a = A/(2t): the error of the series is e^−A of the largest value of f, here 2.8e-10.
const A: f64 = 22.0;

/// Of the partial sums the last third is averaged, but no more than this many: 2^−900 is still a number.
const AVERAGED: usize = 900;

/// Terms beyond which there is a kink near t, and less is asked of them.
const MANY: usize = 300;

/// Terms in all before it gives up.
const MOST: usize = 1 << 16;

/// P(X > t) at t > 0 from `transform`, the Laplace transform of that function (1 − φ(s))/s.
///
/// Absolute error about 1e-9 where three estimates in a row agree so well, as they do within some dozens of terms where
/// the function is smooth about t. Near a kink of its slope's slope the terms fall with the cube of their number; there
/// 3e-8 is taken after some hundreds. At a kink they fall with the square only: there 3e-7 between the last three
/// estimates is taken, for an error of 1e-6.
///
/// # Errors
/// Those of `transform`; when 35065 terms do not agree to 3e-7.
pub fn survival(transform: impl Fn(Complex64) -> Result<Complex64>, t: f64) -> Result<f64> {
    survival_of_share(1.0, transform, t)
}

/// `share` times that: the errors are those of the product, so that a small share takes few terms.
///
/// # Errors
/// Those of [`survival`].
pub(crate) fn survival_of_share(
    share: f64,
    transform: impl Fn(Complex64) -> Result<Complex64>,
    t: f64,
) -> Result<f64> {
    if !(t > 0.0 && t.is_finite()) {
        return Err(ModelError::parameter("t", format!("{t} is not usable"), "give a time above 0"));
    }
    let scale = (0.5 * A).exp() / t;
    let mut sum = 0.5 * transform(Complex64::new(0.5 * A / t, 0.0))?.re;
    let mut taken = 0;
    let mut estimates = [f64::NAN; 3];
    let mut length = 24;
    loop {
        // The last partial sums of this length, averaged with binomial weights. None of them was passed before: a length
        // is half as long again as the one before it.
        let averaged = (length / 3).min(AVERAGED);
        let first = length - averaged;
        let mut weight = 0.5f64.powi(averaged as i32);
        let mut average = 0.0;
        while taken < length {
            if taken >= first {
                average += weight * sum;
                let j = taken - first;
                weight *= (averaged - j) as f64 / (j + 1) as f64;
            }
            taken += 1;
            let term = transform(Complex64::new(0.5 * A, taken as f64 * PI) / t)?.re;
            sum += if taken.is_multiple_of(2) { term } else { -term };
        }
        average += weight * sum;
        estimates = [estimates[1], estimates[2], scale * average];
        let [oldest, middle, newest] = estimates;
        let apart = (newest - middle).abs().max((middle - oldest).abs());
        let full = 2 * length > MOST;
        let enough = match length {
            _ if full => 3e-7,
            0..=MANY => 1e-9,
            _ => 3e-8,
        };
        if share * apart <= enough {
            return Ok(share * newest.clamp(0.0, 1.0));
        }
        if full || !newest.is_finite() {
            return Err(ModelError::Numerical {
                method: "transform inversion",
                reason: format!("{taken} terms at t = {t} agree to {apart:.1e} only"),
            });
        }
        length += length / 2;
    }
}

/// The t in [`low`, `high`] (seconds, above 0) where a falling `survival` passes 1 − `share`.
///
/// # Errors
/// Those of `survival`.
pub fn quantile(survival: impl Fn(f64) -> Result<f64>, share: f64, low: f64, high: f64) -> Result<f64> {
    let tail = (-share).ln_1p();
    // Values of the size of the inversion's error say no more than that t is too large.
    let excess = |ln_t: f64| Ok(survival(ln_t.exp())?.max(1e-12).ln() - tail);
    Ok(root::bracketed(excess, low.ln(), high.ln(), 1e-10)?.exp())
}

/// P(N > n) from `generating`, Σ zⁿ P(N > n) for |z| < 1: a Fourier sum over a circle of radius 10^(−5/n). Absolute
/// error 1e-10 (Abate and Whitt 1992, *Numerical inversion of probability generating functions*, Operations Research
/// Letters 12).
///
/// # Errors
/// Those of `generating`.
pub fn survival_of_number(generating: impl Fn(Complex64) -> Result<Complex64>, n: u32) -> Result<f64> {
    if n == 0 {
        return Ok(generating(Complex64::ZERO)?.re);
    }
    let count = f64::from(n);
    let ln_radius = -5.0 * LN_10 / count;
    let radius = ln_radius.exp();
    let mut sum = generating(Complex64::from(radius))?.re;
    let at_minus = generating(Complex64::from(-radius))?.re;
    sum += if n.is_multiple_of(2) { at_minus } else { -at_minus };
    for k in 1..n {
        let term = generating(Complex64::from_polar(radius, PI * f64::from(k) / count))?.re;
        sum += if k.is_multiple_of(2) { 2.0 * term } else { -2.0 * term };
    }
    Ok((sum / (2.0 * count) * 1e5).clamp(0.0, 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_transforms() {
        for t in [1e-9, 0.01, 1.0, 5.0, 20.0] {
            // Exponential, and gamma of shape 1/2, whose density is infinite at 0.
            let found = survival(|s| Ok(1.0 / (1.0 + s)), t).unwrap();
            assert!((found - (-t).exp()).abs() < 1e-9, "{t}: {found}");
            let found = survival(|s| Ok((1.0 - (1.0 + s).powf(-0.5)) / s), t).unwrap();
            let exact = statrs::function::gamma::gamma_ur(0.5, t);
            assert!((found - exact).abs() < 1e-9, "{t}: {found} {exact}");
        }
    }

    #[test]
    fn a_kink_takes_more_terms_but_is_met() {
        // The sum of two uniforms on 0 … 1: its density has a kink at 1, where the survival function is 1/2.
        let transform = |s: Complex64| Ok((1.0 - ((1.0 - (-s).exp()) / s).powi(2)) / s);
        for (t, exact) in [(0.5, 0.875), (1.0, 0.5), (1.999, 0.5e-6), (2.001, 0.0)] {
            let found = survival(transform, t).unwrap();
            assert!((found - exact).abs() < 1e-8, "{t}: {found}");
        }
    }

    #[test]
    fn a_jump_is_refused_rather_than_guessed() {
        let step = |s: Complex64| Ok((1.0 - (-s).exp()) / s);
        assert!(survival(step, 1.0).is_err());
        assert!((survival(step, 3.0).unwrap() - 0.0).abs() < 1e-8);
        assert!(survival(step, f64::NAN).is_err());
    }

    #[test]
    fn a_geometric_number_comes_back() {
        for n in [0, 1, 2, 7, 100] {
            let found = survival_of_number(|z| Ok(0.7 / (1.0 - 0.7 * z)), n).unwrap();
            assert!((found - 0.7f64.powi(n as i32 + 1)).abs() < 2e-10, "{n}: {found}");
        }
    }
}
