//! Complex functions near their removable singularities, where the plain formulas lose all their digits.

use num_complex::Complex64;

/// e^z − 1.
pub(crate) fn exp_m1(z: Complex64) -> Complex64 {
    let half = (0.5 * z.im).sin();
    let size = z.re.exp();
    Complex64::new(z.re.exp_m1() * z.im.cos() - 2.0 * half * half, size * z.im.sin())
}

/// ln(1 + z), for Re z ≥ 0.
pub(crate) fn ln_1p(z: Complex64) -> Complex64 {
    // |1 + z|² − 1 as a sum of terms that are not negative.
    let excess = z.re * (2.0 + z.re) + z.im * z.im;
    Complex64::new(0.5 * excess.ln_1p(), z.im.atan2(1.0 + z.re))
}

/// (1 − e^−z)/z, 1 at 0.
pub(crate) fn first(z: Complex64) -> Complex64 {
    if z.norm_sqr() < 1.0 { series(z, 1) } else { (1.0 - decay(z)) / z }
}

/// (e^−z − 1 + z)/z², 1/2 at 0.
pub(crate) fn second(z: Complex64) -> Complex64 {
    if z.norm_sqr() < 1.0 { series(z, 2) } else { (1.0 - first(z)) / z }
}

/// (1 − z + z²/2 − e^−z)/z³, 1/6 at 0.
pub(crate) fn third(z: Complex64) -> Complex64 {
    if z.norm_sqr() < 1.0 { series(z, 3) } else { (0.5 - second(z)) / z }
}

/// e^−z, 0 where it underflows, whatever the imaginary part.
pub(crate) fn decay(z: Complex64) -> Complex64 {
    if z.re > 745.0 { Complex64::ZERO } else { (-z).exp() }
}

/// Σ (−z)^j/(j + order)!, for |z| < 1.
fn series(z: Complex64, order: u32) -> Complex64 {
    let mut term = Complex64::new(1.0 / (1..=order).map(f64::from).product::<f64>(), 0.0);
    let mut sum = term;
    for j in 1..=20 {
        term *= -z / f64::from(j + order);
        sum += term;
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_sides_of_the_series_agree() {
        for angle in [-1.5, -0.7, 0.0, 0.3, 1.5] {
            let inside = Complex64::from_polar(1.0 - 1e-15, angle);
            let outside = Complex64::from_polar(1.0 + 1e-15, angle);
            for function in [first, second, third] {
                assert!((function(inside) - function(outside)).norm() < 4e-15, "{angle}");
            }
        }
    }

    #[test]
    fn small_arguments_keep_their_digits() {
        let z = Complex64::new(3e-12, -4e-12);
        assert!((exp_m1(z) / z - 1.0 - 0.5 * z).norm() < 1e-15);
        assert!((ln_1p(z) / z - 1.0 + 0.5 * z).norm() < 1e-15);
        assert!((first(z) - 1.0 + 0.5 * z).norm() < 1e-15);
    }
}
