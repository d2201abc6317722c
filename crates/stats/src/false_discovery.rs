//! Many figures at once: how often a "changed" among them may be false.
//!
//! Source: Benjamini and Hochberg (1995), JRSS B 57:289. The control holds for independent tests and for
//! positively dependent ones (Benjamini and Yekutieli 2001, Annals of Statistics 29:1165), which figures of
//! one run are.

use crate::StatsError;
use crate::sample::open_unit;

/// Adjusted p-values (q), in the order given: the false-discovery rate at which each would just be rejected.
///
/// # Errors
/// On no p-value, and on one outside `[0, 1]` or not finite.
pub fn benjamini_hochberg(p_values: &[f64]) -> Result<Vec<f64>, StatsError> {
    if p_values.is_empty() {
        return Err(StatsError::TooFew { what: "p-values", needed: 1, got: 0 });
    }
    if let Some(&value) = p_values.iter().find(|p| !(0.0..=1.0).contains(*p)) {
        return Err(StatsError::OutOfRange { name: "p-value", value, range: "[0, 1]" });
    }
    let tests = p_values.len();
    let mut descending: Vec<usize> = (0..tests).collect();
    descending.sort_by(|&a, &b| p_values[b].total_cmp(&p_values[a]));
    let mut adjusted = vec![0.0; tests];
    let mut least = 1.0_f64;
    for (from_the_top, &test) in descending.iter().enumerate() {
        let rank = tests - from_the_top;
        least = least.min(p_values[test] * (tests as f64 / rank as f64));
        adjusted[test] = least;
    }
    Ok(adjusted)
}

/// Which hypotheses are rejected when at most the share `rate` of the rejections may be false.
///
/// # Errors
/// As [`benjamini_hochberg`], and on a rate outside `(0, 1)`.
pub fn discoveries(p_values: &[f64], rate: f64) -> Result<Vec<bool>, StatsError> {
    open_unit("rate", rate)?;
    Ok(benjamini_hochberg(p_values)?.into_iter().map(|q| q <= rate).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The fifteen p-values of the paper's own example (section 3.2), where four are rejected at 5 %.
    #[test]
    fn example_of_the_paper() {
        let p = [
            0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.3240, 0.4262, 0.5719,
            0.6528, 0.7590, 1.0,
        ];
        let rejected = discoveries(&p, 0.05).unwrap();
        assert_eq!(rejected.iter().filter(|&&r| r).count(), 4);
        assert!(rejected[..4].iter().all(|&r| r));
    }

    #[test]
    fn no_p_value_no_answer() {
        assert!(benjamini_hochberg(&[]).is_err());
        assert!(benjamini_hochberg(&[f64::NAN]).is_err());
        assert!(benjamini_hochberg(&[1.1]).is_err());
    }
}
