//! Do values of one sample tend to exceed those of another? Mann and Whitney's U, with effect sizes.
//!
//! For two sets of independent values. Trials of one process are not independent: hand over one value per
//! process.

use serde::{Deserialize, Serialize};

use crate::StatsError;
use crate::ranks::average_ranks;
use crate::sample::check;
use crate::student::normal_upper_tail;

/// Without ties the exact distribution is used up to this many values in all; beyond, the normal
/// approximation is good to three digits and the counts would leave the range in which `f64` is exact.
const EXACT_UP_TO: usize = 50;

/// The outcome of Mann and Whitney's test.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct MannWhitney {
    /// Pairs (one value of a, one of b) in which b is the larger; ties count half.
    pub u: f64,
    /// Two-sided p-value against "both samples come from one distribution".
    pub p: f64,
    /// Whether the p-value is from the exact distribution.
    pub exact: bool,
    /// Common-language effect size: P(b > a) + P(b = a)/2, in `[0, 1]`; 1/2 means no effect.
    pub b_exceeds_a: f64,
    /// Cliff's delta: P(b > a) − P(b < a), in `[-1, 1]`; 0 means no effect.
    pub cliffs_delta: f64,
}

/// Mann and Whitney's test of b against a; exact without ties up to 50 values in all, else with the normal
/// approximation, corrected for ties and continuity.
///
/// Sources: Mann and Whitney (1947), Annals of Mathematical Statistics 18:50; Lehmann (1975),
/// "Nonparametrics", chapter 1 and appendix; effect sizes: McGraw and Wong (1992), Psychological Bulletin
/// 111:361; Cliff (1993), same, 114:494.
///
/// # Errors
/// On an empty sample and on a value that is not finite.
pub fn mann_whitney(a: &[f64], b: &[f64]) -> Result<MannWhitney, StatsError> {
    check(a, 1)?;
    check(b, 1)?;
    let (in_a, in_b) = (a.len() as f64, b.len() as f64);
    let (ranks, ties) = average_ranks(&[b, a].concat());
    let u = ranks[..b.len()].iter().sum::<f64>() - 0.5 * in_b * (in_b + 1.0);
    let pairs = in_a * in_b;
    let larger = u.max(pairs - u);
    let exact = ties == 0.0 && a.len() + b.len() <= EXACT_UP_TO;
    let one_sided = if exact {
        let counts = exact_counts(a.len(), b.len());
        counts[larger as usize..].iter().sum::<f64>() / counts.iter().sum::<f64>()
    } else {
        let all = in_a + in_b;
        let deviation = (pairs / 12.0 * (all + 1.0 - ties / (all * (all - 1.0)))).max(0.0).sqrt();
        if deviation > 0.0 { normal_upper_tail((larger - 0.5 * pairs - 0.5) / deviation) } else { 0.5 }
    };
    let b_exceeds_a = u / pairs;
    Ok(MannWhitney {
        u,
        p: (2.0 * one_sided).min(1.0),
        exact,
        b_exceeds_a,
        cliffs_delta: 2.0 * b_exceeds_a - 1.0,
    })
}

/// In how many orders of m and n values U takes each value 0, 1, ... mn: the coefficients of the Gaussian
/// binomial, `Π (1 − q^(n+i)) / (1 − q^i)` for i = 1 ... m. All intermediate counts are whole and below 2⁵³.
fn exact_counts(m: usize, n: usize) -> Vec<f64> {
    let mut counts = vec![0.0; m * n + 1];
    counts[0] = 1.0;
    for i in 1..=m {
        for power in (n + i..counts.len()).rev() {
            counts[power] -= counts[power - n - i];
        }
        for power in i..counts.len() {
            counts[power] += counts[power - i];
        }
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn complete_separation_of_three_and_three() {
        let t = mann_whitney(&[1.0, 2.0, 3.0], &[4.0, 5.0, 6.0]).unwrap();
        assert_eq!((t.u, t.b_exceeds_a, t.cliffs_delta, t.exact), (9.0, 1.0, 1.0, true));
        assert!((t.p - 0.1).abs() < 1e-12);
    }

    #[test]
    fn all_tied_is_no_evidence() {
        let t = mann_whitney(&[1.0; 4], &[1.0; 3]).unwrap();
        assert_eq!((t.p, t.b_exceeds_a, t.exact), (1.0, 0.5, false));
        assert!(mann_whitney(&[], &[1.0]).is_err());
    }

    #[test]
    fn counts_are_whole_at_the_limit() {
        let counts = exact_counts(25, 25);
        assert_eq!(counts.iter().sum::<f64>(), 126_410_606_437_752.0);
        assert!(counts.iter().all(|c| c.fract() == 0.0 && *c >= 1.0));
    }
}
