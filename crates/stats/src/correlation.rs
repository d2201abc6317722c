//! Do two orders agree? Spearman's rank correlation, for claims of the kind "the published ranking holds
//! here".

use serde::{Deserialize, Serialize};

use crate::StatsError;
use crate::ranks::average_ranks;
use crate::sample::check;
use crate::student::t_upper_tail;

/// Up to this many pairs all permutations are counted (40 320 of them); claims often rank four or five
/// designs, where the t approximation is wrong by a factor.
const EXACT_UP_TO: usize = 8;

/// Differences of rank products below this are rounding.
const ROUNDING: f64 = 1e-9;

/// The outcome of Spearman's correlation.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Spearman {
    /// Correlation of the ranks, in `[-1, 1]`.
    pub rho: f64,
    /// Two-sided p-value against "no association".
    pub p: f64,
    /// Whether the p-value counts all permutations.
    pub exact: bool,
}

/// Spearman's rank correlation of the pairs `(x[i], y[i])`; ties get their average rank. The p-value counts
/// all permutations up to 8 pairs, else it is from Student's t with n − 2 degrees of freedom.
///
/// Sources: Spearman (1904), American Journal of Psychology 15:72; Kendall and Gibbons (1990), "Rank
/// Correlation Methods", 5th ed., chapter 4.
///
/// # Errors
/// On fewer than three pairs, lengths that differ, a value that is not finite, and a side whose values are
/// all equal.
pub fn spearman(x: &[f64], y: &[f64]) -> Result<Spearman, StatsError> {
    if x.len() != y.len() {
        return Err(StatsError::LengthMismatch { left: x.len(), right: y.len() });
    }
    check(x, 3)?;
    check(y, 3)?;
    let (x, y) = (centred_ranks(x), centred_ranks(y));
    let scale = (product(&x, &x) * product(&y, &y)).sqrt();
    if scale == 0.0 {
        return Err(StatsError::NoSpread);
    }
    let observed = product(&x, &y);
    let rho = (observed / scale).clamp(-1.0, 1.0);
    let exact = x.len() <= EXACT_UP_TO;
    let p = if exact {
        let mut permuted = y;
        let (mut as_extreme, mut all) = (0u32, 0u32);
        let last = permuted.len();
        each_permutation(&mut permuted, last, &mut |y| {
            all += 1;
            as_extreme += u32::from(product(&x, y).abs() >= observed.abs() - ROUNDING);
        });
        f64::from(as_extreme) / f64::from(all)
    } else {
        let df = (x.len() - 2) as f64;
        let t = rho.abs() * (df / ((1.0 - rho) * (1.0 + rho))).sqrt();
        (2.0 * t_upper_tail(t, df)).min(1.0)
    };
    Ok(Spearman { rho, p, exact })
}

fn centred_ranks(values: &[f64]) -> Vec<f64> {
    let middle = 0.5 * (values.len() + 1) as f64;
    average_ranks(values).0.into_iter().map(|rank| rank - middle).collect()
}

fn product(x: &[f64], y: &[f64]) -> f64 {
    x.iter().zip(y).map(|(x, y)| x * y).sum()
}

/// Heap's algorithm (1963), Computer Journal 6:293.
fn each_permutation(values: &mut [f64], unsettled: usize, visit: &mut dyn FnMut(&[f64])) {
    if unsettled <= 1 {
        visit(values);
        return;
    }
    for i in 0..unsettled {
        each_permutation(values, unsettled - 1, visit);
        if i + 1 < unsettled {
            values.swap(if unsettled.is_multiple_of(2) { i } else { 0 }, unsettled - 1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_designs_in_the_published_order() {
        let s = spearman(&[1.0, 2.0, 3.0, 4.0], &[10.0, 20.0, 25.0, 70.0]).unwrap();
        assert_eq!((s.rho, s.exact), (1.0, true));
        assert!((s.p - 2.0 / 24.0).abs() < 1e-12);
    }

    #[test]
    fn perfect_order_of_many() {
        let x: Vec<f64> = (0..20).map(f64::from).collect();
        let y: Vec<f64> = x.iter().map(|v| -v).collect();
        let s = spearman(&x, &y).unwrap();
        assert_eq!((s.rho, s.p, s.exact), (-1.0, 0.0, false));
    }

    #[test]
    fn no_order_no_answer() {
        assert_eq!(spearman(&[1.0; 4], &[1.0, 2.0, 3.0, 4.0]), Err(StatsError::NoSpread));
        assert_eq!(spearman(&[1.0; 4], &[1.0; 3]), Err(StatsError::LengthMismatch { left: 4, right: 3 }));
        assert!(spearman(&[1.0, 2.0], &[1.0, 2.0]).is_err());
    }
}
