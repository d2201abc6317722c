//! Are paired differences centred on zero? Wilcoxon's signed ranks, and the estimate that belongs to them.
//!
//! Not behind the verdicts (see the module `ratio` for why), but the test whose level no shape of noise can
//! break as long as it is symmetric: the second opinion on a single paired comparison.

use serde::{Deserialize, Serialize};

use crate::StatsError;
use crate::ranks::average_ranks;
use crate::sample::check;
use crate::student::normal_upper_tail;
use crate::summary::median_of_sorted;

/// Without ties and zeros the exact distribution is used up to this many differences.
const EXACT_UP_TO: usize = 50;

/// The outcome of Wilcoxon's test.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct SignedRank {
    /// Sum of the ranks of the positive differences.
    pub w_plus: f64,
    /// Two-sided p-value against "symmetric about zero".
    pub p: f64,
    /// Whether the p-value is from the exact distribution.
    pub exact: bool,
    /// Hodges and Lehmann's estimate of the centre: the median of all pairwise midpoints, in the unit of the
    /// differences.
    pub centre: f64,
}

/// Wilcoxon's signed-rank test; exact without ties and zeros up to 50 differences, else with the normal
/// approximation, corrected for ties and continuity. Zeros are left out of the ranking (not out of the
/// estimate).
///
/// Sources: Wilcoxon (1945), Biometrics Bulletin 1:80; Lehmann (1975), "Nonparametrics", chapters 3 and 4;
/// Hodges and Lehmann (1963), Annals of Mathematical Statistics 34:598.
///
/// # Errors
/// On no difference and on one that is not finite.
pub fn signed_rank(differences: &[f64]) -> Result<SignedRank, StatsError> {
    check(differences, 1)?;
    let ranked: Vec<f64> = differences.iter().copied().filter(|&d| d != 0.0).collect();
    let magnitudes: Vec<f64> = ranked.iter().map(|d| d.abs()).collect();
    let (ranks, ties) = average_ranks(&magnitudes);
    let w_plus: f64 = ranked.iter().zip(&ranks).filter(|(d, _)| **d > 0.0).map(|(_, r)| r).sum();
    let n = ranked.len() as f64;
    let all = 0.5 * n * (n + 1.0);
    let larger = w_plus.max(all - w_plus);
    let exact = ties == 0.0 && ranked.len() == differences.len() && ranked.len() <= EXACT_UP_TO;
    let one_sided = if exact {
        exact_probabilities(ranked.len())[larger as usize..].iter().sum()
    } else {
        let deviation = ((n * (n + 1.0) * (2.0 * n + 1.0) - 0.5 * ties) / 24.0).max(0.0).sqrt();
        if deviation > 0.0 { normal_upper_tail((larger - 0.5 * all - 0.5) / deviation) } else { 0.5 }
    };
    Ok(SignedRank { w_plus, p: f64::min(2.0 * one_sided, 1.0), exact, centre: hodges_lehmann(differences) })
}

/// Probability of each sum of ranks 0, 1, ... n(n+1)/2 when each rank is positive with probability 1/2.
fn exact_probabilities(n: usize) -> Vec<f64> {
    let mut probabilities = vec![0.0; n * (n + 1) / 2 + 1];
    probabilities[0] = 1.0;
    for rank in 1..=n {
        for sum in (0..probabilities.len()).rev() {
            let with = if sum >= rank { probabilities[sum - rank] } else { 0.0 };
            probabilities[sum] = 0.5 * (probabilities[sum] + with);
        }
    }
    probabilities
}

fn hodges_lehmann(values: &[f64]) -> f64 {
    let mut midpoints: Vec<f64> = values
        .iter()
        .enumerate()
        .flat_map(|(i, &a)| values[i..].iter().map(move |&b| f64::midpoint(a, b)))
        .collect();
    midpoints.sort_unstable_by(f64::total_cmp);
    median_of_sorted(&midpoints)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn six_of_one_sign() {
        let t = signed_rank(&[0.1, 0.2, 0.3, 0.4, 0.5, 0.6]).unwrap();
        assert_eq!((t.w_plus, t.p, t.exact), (21.0, 0.03125, true));
        assert!((t.centre - 0.35).abs() < 1e-12);
    }

    #[test]
    fn zeros_are_no_evidence() {
        let t = signed_rank(&[0.0, 0.0]).unwrap();
        assert_eq!((t.p, t.exact, t.centre), (1.0, false, 0.0));
        assert!(signed_rank(&[]).is_err());
    }
}
