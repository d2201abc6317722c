//! Linear systems and chains solved without a single subtraction, so that every entry keeps its digits however far
//! apart the rates are.

use std::ops::Range;

/// A square matrix by rows.
pub(crate) type Matrix = Vec<Vec<f64>>;

/// X with A X = B for an M-matrix A, given by what it is made of: its entries off the diagonal are −`off`, its row sums
/// are `sums`; `off`, `sums` and B are 0 or above (the diagonal of `off` is not read).
///
/// Gauss' elimination where each pivot is the row's sum and the rest of the row (Grassmann, Taksar and Heyman 1985 for
/// chains; Alfa, Xue and Ye 2002, Mathematics of Computation 71, for M-matrices).
pub(crate) fn solve(mut off: Matrix, mut sums: Vec<f64>, mut right: Matrix) -> Matrix {
    let (size, columns) = (sums.len(), right[0].len());
    let mut pivots = vec![0.0; size];
    for k in 0..size {
        pivots[k] = sums[k] + off[k][k + 1..].iter().sum::<f64>();
        for i in k + 1..size {
            let share = off[i][k] / pivots[k];
            sums[i] += share * sums[k];
            add(&mut off, i, k, share, k + 1..size);
            add(&mut right, i, k, share, 0..columns);
        }
    }
    for k in (0..size).rev() {
        for (i, share) in off[k].iter().enumerate().skip(k + 1) {
            add(&mut right, k, i, *share, 0..columns);
        }
        right[k].iter_mut().for_each(|entry| *entry /= pivots[k]);
    }
    right
}

/// Adds `share` times row `from` to row `to`, in these columns.
fn add(rows: &mut Matrix, to: usize, from: usize, share: f64, columns: Range<usize>) {
    let (left, right) = rows.split_at_mut(to.max(from));
    let (to, from) = if to < from { (&mut left[to], &right[0]) } else { (&mut right[0], &left[from]) };
    for (entry, other) in to[columns.clone()].iter_mut().zip(&from[columns]) {
        *entry += share * other;
    }
}

/// The stationary distribution of an irreducible chain with these rates (the diagonal is not read).
pub(crate) fn stationary(mut rates: Matrix) -> Vec<f64> {
    let size = rates.len();
    // From the last state down: what it passes on goes to the states that are left.
    for k in (1..size).rev() {
        let out: f64 = rates[k][..k].iter().sum();
        for i in 0..k {
            rates[i][k] /= out;
            let share = rates[i][k];
            add(&mut rates, i, k, share, 0..k);
        }
    }
    let mut shares = vec![1.0; size];
    for k in 1..size {
        shares[k] = (0..k).map(|i| shares[i] * rates[i][k]).sum();
    }
    let total: f64 = shares.iter().sum();
    shares.iter().map(|share| share / total).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stiff_system_keeps_its_digits() {
        // A = [[1 + 1e-20, −1], [−1, 1 + 1e-20]]: solved by ones over 1e-20, which no rounded diagonal would tell.
        let x = solve(vec![vec![0.0, 1.0], vec![1.0, 0.0]], vec![1e-20; 2], vec![vec![1.0], vec![1.0]]);
        assert!(x.iter().all(|row| (row[0] * 1e-20 - 1.0).abs() < 1e-14), "{x:?}");
    }

    #[test]
    fn a_cycle_stays_in_proportion() {
        let shares = stationary(vec![vec![0.0, 1e9, 0.0], vec![0.0, 0.0, 1.0], vec![1e-9, 0.0, 0.0]]);
        for (found, exact) in shares.iter().zip([1e-18, 1e-9, 1.0]) {
            assert!((found / exact - 1.0).abs() < 2e-9, "{shares:?}");
        }
    }
}
