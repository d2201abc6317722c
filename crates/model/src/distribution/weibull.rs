//! Transforms of the Weibull: averages over X = c V^(1/k), V exponential of mean 1, by quadrature.
//!
//! Where k is 1 or more the line of integration is w = ln V, where V ends and e^−sX does not: it is the smoother of the
//! two there. Below 1 it is y = ln X, and e^−sX ends. Either line is shifted into the complex plane by an angle that V
//! and sX share, so that both decay and neither oscillates much.

use num_complex::Complex64;
use statrs::function::gamma::ln_gamma;

use super::transform::{Kernel, floor, scaled};
use crate::Result;
use crate::numeric::{entire, quadrature, root};

/// Exponent of e at which an integrand is negligible against its peak.
const NEGLIGIBLE: f64 = -38.0;

/// Below this |s| the transform of a shape below 1 is reckoned from that of the residual: φ(s) = 1 − s E(X) φ_residual(s).
const SMALL: f64 = 1e-3;

/// A kernel averaged over a Weibull of mean 1; `s` times the mean is the argument.
pub(super) fn average(shape: f64, s: Complex64, kernel: Kernel) -> Result<Complex64> {
    if kernel != Kernel::Transform && s.norm() > 1.0 {
        let residual = (1.0 - average(shape, s, Kernel::Transform)?) / s;
        return Ok(if kernel == Kernel::Residual { residual } else { 1.0 - residual });
    }
    // Of a small s the quadrature's error would be many times what s takes from 1.
    if kernel == Kernel::Transform && shape < 1.0 && s.norm() < SMALL {
        return Ok(1.0 - s * average(shape, s, Kernel::Residual)?);
    }
    match kernel {
        _ if shape < 1.0 => Heavy::new(shape, s).average(kernel),
        Kernel::Transform => transform(shape, s),
        _ => weighted(shape, s, kernel),
    }
}

/// ∫ over the line of a function that decays as e^x on the left, or faster: in x = v − e^−v it decays twice as fast.
fn with_slow_left(function: impl Fn(f64) -> Complex64, low: f64, high: f64, least: f64) -> Result<Complex64> {
    let integrand = |v: f64| {
        let bent = (-v).exp();
        function(v - bent) * (1.0 + bent)
    };
    quadrature::along_line(integrand, -(-low).max(1.0).ln(), high + 1.0, 0.3, least)
}

/// β: the angle of V, which leaves the same to sX; held to 1, so that e^−V decays well.
fn turn(shape: f64, s: Complex64) -> Complex64 {
    Complex64::new(0.0, -(s.arg() * shape / (1.0 + shape)).clamp(-1.0, 1.0))
}

/// E\[e^−sX\], shape 1 or more.
fn transform(shape: f64, s: Complex64) -> Result<Complex64> {
    let power = 1.0 / shape;
    let ln_scale = -ln_gamma(1.0 + power);
    let turn = turn(shape, s);
    // e^(w − V − sX) from its peak on the line, where the real parts of V and of sX/k add up to 1.
    let parts = |x: f64| ((x + turn).exp(), s * (ln_scale + (x + turn) * power).exp());
    let slope = |x: f64| {
        let (v, z) = parts(x);
        Ok((v.re + z.re * power - 1.0).min(1e300))
    };
    let low = (-shape * (s.norm().ln() + ln_scale)).clamp(-710.0, 0.0) - 34.0;
    let peak = root::bracketed(slope, low, 2.0, 1e-2)?;
    let (v, z) = parts(peak);
    let exponent = |d: f64| d - v * d.exp_m1() - z * (d * power).exp_m1();
    let (left, right) = edges(|d| exponent(d).re);
    let integral = |least| with_slow_left(|d| exponent(d).exp(), left, right, least);
    scaled(peak + turn - v - z, s, integral, 1.0)
}

/// Where a concave function that is about 0 at its peak, 0, becomes negligible.
fn edges(exponent: impl Fn(f64) -> f64) -> (f64, f64) {
    let edge = |mut d: f64| {
        while exponent(d) > NEGLIGIBLE {
            d *= 1.25;
        }
        d
    };
    (edge(-10.0), edge(1.0))
}

/// The average of X times a kernel, shape 1 or more, |s| at most 1.
fn weighted(shape: f64, s: Complex64, kernel: Kernel) -> Result<Complex64> {
    let power = 1.0 / shape;
    let ln_scale = -ln_gamma(1.0 + power);
    let turn = turn(shape, s);
    let integrand = |x: f64| {
        let w = x + turn;
        let ln_x = w * power + ln_scale;
        let weight = w - w.exp() + ln_x;
        if weight.re < -750.0 { Complex64::ZERO } else { weight.exp() * kernel.at(s * ln_x.exp()) }
    };
    with_slow_left(integrand, NEGLIGIBLE, (75.0 / turn.im.cos()).ln(), floor(s))
}

/// Shapes below 1, on the line of y = ln X.
struct Heavy {
    shape: f64,
    s: Complex64,
    ln_scale: f64,
    /// Angle of X on the line.
    turn: Complex64,
}

impl Heavy {
    fn new(shape: f64, s: Complex64) -> Self {
        let turn = Complex64::new(0.0, -s.arg() / (1.0 + shape));
        Self { shape, s, ln_scale: -ln_gamma(1.0 + 1.0 / shape), turn }
    }

    /// V, that is −ln P(X > e^y), on the line.
    fn hazard(&self, x: f64) -> Complex64 {
        ((x - self.ln_scale + self.turn) * self.shape).exp()
    }

    /// sX on the line.
    fn scaled(&self, x: f64) -> Complex64 {
        self.s * (x + self.turn).exp()
    }

    fn average(&self, kernel: Kernel) -> Result<Complex64> {
        let (s, least) = (self.s, floor(self.s));
        let ln_s = s.norm().ln();
        if kernel == Kernel::Transform {
            // ∫ P(X ≤ y) d(−e^−sy), from where |s|X is 1.
            let integrand = |x: f64| {
                let z = self.scaled(x - ln_s);
                below(self.hazard(x - ln_s)) * z * entire::decay(z)
            };
            return with_slow_left(integrand, NEGLIGIBLE, 4.1, least);
        }
        // ∫ P(X > y)e^−sy dy, or ∫ P(X > y)(1 − e^−sy) dy, which rises with y² up to 1/|s|.
        let residual = kernel == Kernel::Residual;
        let falls = |x: f64| if residual { self.scaled(x).re } else { 0.0 };
        let rises = |x: f64| !residual && x < -ln_s;
        let slope = |x: f64| {
            let falling = self.hazard(x).re * self.shape + falls(x);
            Ok(falling.min(1e300) - 1.0 - f64::from(u8::from(rises(x))))
        };
        let most = self.ln_scale + 800.0_f64.ln() / self.shape;
        let peak = root::bracketed(slope, -745.0, most.max(-744.0), 1e-2)?;
        let height = |x: f64| x - self.hazard(x).re - falls(x) + if rises(x) { x + ln_s } else { 0.0 };
        let top = height(peak);
        let (left, right) = edges(|d| height(peak + d) - top);
        let integrand = |d: f64| {
            let x = peak + d;
            let z = self.scaled(x);
            let rest = if residual { entire::decay(z) } else { below(z) };
            (x + self.turn - self.hazard(x)).exp() * rest
        };
        quadrature::along_line(integrand, left, right, 3.0, least)
    }
}

/// 1 − e^−z.
fn below(z: Complex64) -> Complex64 {
    if z.re > 745.0 { Complex64::ONE } else { -entire::exp_m1(-z) }
}
