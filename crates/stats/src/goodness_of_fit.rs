//! How far a sample is from a distribution: the statistics of Kolmogorov–Smirnov and Anderson–Darling.
//!
//! Only the statistics: their p-values depend on which parameters were fitted to the same sample, and whoever fitted
//! them simulates that (Stephens 1974, JASA 69:730; Stute, Manteiga and Quindimil 1993, Metrika 40:243).

use serde::{Deserialize, Serialize};

use crate::StatsError;

/// How far a sample is from a distribution.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Distance {
    /// Kolmogorov–Smirnov: the largest difference between the sample's distribution function and the other one, 0 to 1.
    pub kolmogorov_smirnov: f64,
    /// Anderson–Darling: the mean square of that difference with more weight on the tails, times the number of values.
    /// Infinite where a value is impossible.
    pub anderson_darling: f64,
}

/// The distance of a sample in ascending order from the distribution whose P(X ≤ x) and P(X > x) `tails` answers. Both
/// are asked for because 1 − F has no digits left in the upper tail.
///
/// Sources: Kolmogorov–Smirnov, D = max(i/n − Fᵢ, Fᵢ − (i−1)/n); Anderson and Darling (1954), JASA 49:765:
/// A² = −n − n⁻¹ Σ (2i−1)(ln Fᵢ + ln(1 − Fₙ₊₁₋ᵢ)).
///
/// # Errors
/// On no value, a value that is not finite, values out of order, and tails that are no probabilities.
pub fn distance(ascending: &[f64], tails: impl Fn(f64) -> (f64, f64)) -> Result<Distance, StatsError> {
    crate::sample::check(ascending, 1)?;
    if let Some(index) = ascending.windows(2).position(|pair| pair[0] > pair[1]) {
        let value = ascending[index + 1];
        return Err(StatsError::OutOfRange { name: "value", value, range: "ascending order" });
    }
    let n = ascending.len() as f64;
    let (mut largest, mut sum) = (0.0_f64, 0.0_f64);
    for (i, &x) in ascending.iter().enumerate() {
        let (lower, upper) = tails(x);
        if !((0.0..=1.0).contains(&lower) && (0.0..=1.0).contains(&upper)) {
            return Err(StatsError::Overflow);
        }
        let i = i as f64;
        largest = largest.max((i + 1.0) / n - lower).max(lower - i / n);
        // Each value once: as the i-th from below, and as the (n+1−i)-th from above.
        sum += (2.0 * i + 1.0) * lower.ln() + (2.0 * (n - i) - 1.0) * upper.ln();
    }
    Ok(Distance { kolmogorov_smirnov: largest, anderson_darling: -n - sum / n })
}

/// P(K > x) of Kolmogorov's limit law: of √n·D where nothing was fitted, and of the largest distance of a Brownian
/// bridge from zero.
///
/// Source: Kolmogorov (1933); both series as in Marsaglia, Tsang and Wang (2003), J. Stat. Software 8(18).
pub fn kolmogorov_upper_tail(x: f64) -> f64 {
    if x <= 0.0 {
        return 1.0;
    }
    if x < 1.0 {
        use std::f64::consts::PI;
        let terms = (1..=20).map(|k| {
            let odd = f64::from(2 * k - 1) * PI;
            (-odd * odd / (8.0 * x * x)).exp()
        });
        return (1.0 - (2.0 * PI).sqrt() / x * terms.sum::<f64>()).clamp(0.0, 1.0);
    }
    let terms = (1..=20).map(|k| {
        let sign = if k % 2 == 1 { 1.0 } else { -1.0 };
        let k = f64::from(k);
        sign * (-2.0 * k * k * x * x).exp()
    });
    (2.0 * terms.sum::<f64>()).clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_beyond_the_ends_is_infinitely_far() {
        let d = distance(&[0.5, 2.0], |x| (x.min(1.0), (1.0 - x).max(0.0))).unwrap();
        assert_eq!(d.anderson_darling, f64::INFINITY);
        assert_eq!(d.kolmogorov_smirnov, 0.5);
    }

    #[test]
    fn disorder_and_nonsense_are_refused() {
        let uniform = |x: f64| (x, 1.0 - x);
        assert!(distance(&[], uniform).is_err());
        assert!(distance(&[0.5, 0.4], uniform).is_err());
        assert!(distance(&[0.5, f64::NAN], uniform).is_err());
        assert!(distance(&[1.5], uniform).is_err());
    }

    #[test]
    fn both_series_of_the_limit_law_meet() {
        let (below, above) = (kolmogorov_upper_tail(1.0 - 1e-12), kolmogorov_upper_tail(1.0 + 1e-12));
        assert!((below - above).abs() < 1e-11);
        // The critical value of every table.
        assert!((kolmogorov_upper_tail(1.358_098_6) - 0.05).abs() < 1e-7);
    }
}
