//! The normal and Student distributions, in the forms the tests need: tail areas that stay exact when they
//! are tiny.

use statrs::function::beta::{beta_reg, inv_beta_reg};
use statrs::function::erf::{erfc, erfc_inv};

/// P(Z > z) for a standard normal Z.
pub(crate) fn normal_upper_tail(z: f64) -> f64 {
    0.5 * erfc(z / std::f64::consts::SQRT_2)
}

/// The z with P(Z ≤ z) = `probability`, for `0 < probability < 1`.
pub(crate) fn normal_quantile(probability: f64) -> f64 {
    -std::f64::consts::SQRT_2 * erfc_inv(2.0 * probability)
}

/// P(T > t) for Student's T with `df` > 0 degrees of freedom.
///
/// Source: Abramowitz and Stegun (1964), 26.7.1 with 26.5.27.
pub(crate) fn t_upper_tail(t: f64, df: f64) -> f64 {
    let one_tail = 0.5 * beta_reg(0.5 * df, 0.5, df / (df + t * t));
    if t >= 0.0 { one_tail } else { 1.0 - one_tail }
}

/// The t > 0 with P(|T| ≤ t) = `confidence`, for `0 < confidence < 1`.
pub(crate) fn t_two_sided(confidence: f64, df: f64) -> f64 {
    let x = inv_beta_reg(0.5 * df, 0.5, 1.0 - confidence);
    (df * (1.0 - x) / x).sqrt()
}

/// The z > 0 with P(|Z| ≤ z) = `confidence`, for `0 < confidence < 1`.
pub(crate) fn z_two_sided(confidence: f64) -> f64 {
    std::f64::consts::SQRT_2 * erfc_inv(1.0 - confidence)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(a: f64, b: f64) {
        assert!((a - b).abs() <= 1e-9 * b.abs().max(1.0), "{a} is not {b}");
    }

    #[test]
    fn tables_of_the_textbook() {
        close(z_two_sided(0.95), 1.959_963_984_540_054);
        close(normal_quantile(0.025), -1.959_963_984_540_054);
        close(normal_upper_tail(1.959_963_984_540_054), 0.025);
        close(t_two_sided(0.95, 1.0), 12.706_204_736_174_7);
        close(t_two_sided(0.95, 7.0), 2.364_624_251_592_78);
        close(t_two_sided(0.99, 2.82), 6.226_302_884_564_724);
        close(t_upper_tail(-2.364_624_251_592_78, 7.0), 0.975);
    }

    #[test]
    fn small_tails_keep_their_digits() {
        assert!((t_upper_tail(50.0, 9.0) / 1.284_476_455_437e-12 - 1.0).abs() < 1e-9);
        assert_eq!(t_upper_tail(1e200, 3.0), 0.0);
    }
}
