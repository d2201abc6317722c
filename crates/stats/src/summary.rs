//! What a sample looks like in one number: the plain and the robust measures of location and spread.

use crate::StatsError;
use crate::sample::{check, finite, sorted};

/// Makes the median absolute deviation of normal data agree with its standard deviation: 1 / Φ⁻¹(3/4).
///
/// Source: Rousseeuw and Croux (1993), "Alternatives to the Median Absolute Deviation", JASA 88:1273, section
/// 1.
pub const MAD_TO_SIGMA: f64 = 1.482_602_218_505_602;

/// Arithmetic mean, in the unit of the values.
///
/// # Errors
/// On an empty or non-finite sample, and when the sum overflows.
pub fn mean(values: &[f64]) -> Result<f64, StatsError> {
    check(values, 1)?;
    mean_of_checked(values)
}

fn mean_of_checked(values: &[f64]) -> Result<f64, StatsError> {
    let n = values.len() as f64;
    let first = values.iter().sum::<f64>() / n;
    // A second pass takes away the rounding of the first one (Neely 1966, Comm. ACM 9:496).
    finite(first + values.iter().map(|v| v - first).sum::<f64>() / n)
}

/// Sample variance with n − 1 in the denominator, in the square of the values' unit.
///
/// # Errors
/// On fewer than two values, on a non-finite value, and when a square overflows.
pub fn variance(values: &[f64]) -> Result<f64, StatsError> {
    check(values, 2)?;
    let centre = mean_of_checked(values)?;
    let squares: f64 = values.iter().map(|v| (v - centre) * (v - centre)).sum();
    finite(squares / (values.len() - 1) as f64)
}

/// Median: the middle value, or the midpoint of the two middle values.
///
/// # Errors
/// On an empty or non-finite sample.
pub fn median(values: &[f64]) -> Result<f64, StatsError> {
    Ok(median_of_sorted(&sorted(values, 1)?))
}

/// Median of a non-empty, ascending slice.
pub(crate) fn median_of_sorted(ascending: &[f64]) -> f64 {
    let upper = ascending.len() / 2;
    if ascending.len() % 2 == 1 {
        ascending[upper]
    } else {
        f64::midpoint(ascending[upper - 1], ascending[upper])
    }
}

/// Quantile of type 7: linear interpolation between the order statistics at position
/// `1 + (n − 1)·probability`.
///
/// This is the default of R and NumPy. Source: Hyndman and Fan (1996), "Sample Quantiles in Statistical
/// Packages", The American Statistician 50:361, definition 7.
///
/// # Errors
/// On an empty or non-finite sample and on a probability outside `[0, 1]`.
pub fn quantile(values: &[f64], probability: f64) -> Result<f64, StatsError> {
    let ascending = sorted(values, 1)?;
    check_probability(probability)?;
    Ok(quantile_of_sorted(&ascending, probability))
}

/// Several type-7 quantiles of one sample, which is sorted only once; see [`quantile`].
///
/// # Errors
/// As [`quantile`].
pub fn quantiles(values: &[f64], probabilities: &[f64]) -> Result<Vec<f64>, StatsError> {
    let ascending = sorted(values, 1)?;
    probabilities
        .iter()
        .map(|&probability| {
            check_probability(probability)?;
            Ok(quantile_of_sorted(&ascending, probability))
        })
        .collect()
}

fn check_probability(value: f64) -> Result<(), StatsError> {
    if (0.0..=1.0).contains(&value) {
        Ok(())
    } else {
        Err(StatsError::OutOfRange { name: "probability", value, range: "[0, 1]" })
    }
}

/// Type-7 quantile of a non-empty, ascending slice for a probability in `[0, 1]`.
pub(crate) fn quantile_of_sorted(ascending: &[f64], probability: f64) -> f64 {
    let position = probability * (ascending.len() - 1) as f64;
    let below = position.floor();
    let share = position - below;
    let low = ascending[below as usize];
    let Some(&high) = ascending.get(below as usize + 1) else { return low };
    let gap = high - low;
    let value = if gap.is_finite() { low + gap * share } else { low * (1.0 - share) + high * share };
    value.clamp(low, high)
}

/// Median absolute deviation from the median, unscaled, in the unit of the values.
///
/// # Errors
/// On an empty or non-finite sample, and when a deviation overflows.
pub fn mad(values: &[f64]) -> Result<f64, StatsError> {
    let centre = median(values)?;
    let mut deviations: Vec<f64> = values.iter().map(|v| (v - centre).abs()).collect();
    deviations.sort_unstable_by(f64::total_cmp);
    finite(median_of_sorted(&deviations))
}

/// Median absolute deviation times [`MAD_TO_SIGMA`]: a robust estimate of a normal standard deviation.
///
/// # Errors
/// As [`mad`].
pub fn scaled_mad(values: &[f64]) -> Result<f64, StatsError> {
    finite(mad(values)? * MAD_TO_SIGMA)
}

/// Mean of what remains when the `⌊share·n⌋` smallest and as many largest values are left out.
///
/// Source: Wilcox (2017), "Introduction to Robust Estimation and Hypothesis Testing", 4th ed., section 3.3.
///
/// # Errors
/// On an empty or non-finite sample and on a share outside `[0, 0.5)`.
pub fn trimmed_mean(values: &[f64], share: f64) -> Result<f64, StatsError> {
    let ascending = sorted(values, 1)?;
    if !(0.0..0.5).contains(&share) {
        return Err(StatsError::OutOfRange { name: "share", value: share, range: "[0, 0.5)" });
    }
    let cut = (share * ascending.len() as f64).floor() as usize;
    mean_of_checked(&ascending[cut..ascending.len() - cut])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_of_even_and_odd_samples() {
        assert_eq!(median(&[3.0, 1.0, 2.0]).unwrap(), 2.0);
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]).unwrap(), 2.5);
        assert_eq!(median(&[f64::MAX, f64::MAX]).unwrap(), f64::MAX);
    }

    #[test]
    fn what_has_no_answer_is_an_error() {
        assert_eq!(mean(&[]), Err(StatsError::TooFew { what: "values", needed: 1, got: 0 }));
        assert_eq!(median(&[1.0, f64::NAN]), Err(StatsError::NotFinite { index: 1 }));
        assert_eq!(mad(&[f64::INFINITY]), Err(StatsError::NotFinite { index: 0 }));
        assert_eq!(variance(&[1.0]), Err(StatsError::TooFew { what: "values", needed: 2, got: 1 }));
        assert_eq!(variance(&[f64::MAX, f64::MIN]), Err(StatsError::Overflow));
        assert!(matches!(quantile(&[1.0], 1.5), Err(StatsError::OutOfRange { .. })));
        assert!(matches!(trimmed_mean(&[1.0], 0.5), Err(StatsError::OutOfRange { .. })));
    }

    #[test]
    fn trimming_leaves_out_both_ends() {
        assert_eq!(trimmed_mean(&[100.0, 2.0, 3.0, 4.0, -50.0], 0.2).unwrap(), 3.0);
        assert_eq!(trimmed_mean(&[1.0, 2.0, 6.0], 0.0).unwrap(), 3.0);
    }
}
