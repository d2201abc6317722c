//! Ranks of values, with ties sharing their average: what all the rank tests start from.

/// Average ranks in the order given, counted from 1, and `Σ(t³ − t)` over the groups of t tied values.
pub(crate) fn average_ranks(values: &[f64]) -> (Vec<f64>, f64) {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_unstable_by(|&a, &b| values[a].total_cmp(&values[b]));
    let mut ranks = vec![0.0; values.len()];
    let mut ties = 0.0;
    let mut start = 0;
    for tied in order.chunk_by(|&a, &b| values[a] == values[b]) {
        let t = tied.len() as f64;
        for &i in tied {
            ranks[i] = start as f64 + 0.5 * (t + 1.0);
        }
        ties += t * t * t - t;
        start += tied.len();
    }
    (ranks, ties)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ties_share_their_average() {
        assert_eq!(average_ranks(&[3.0, 1.0, 3.0, 2.0]), (vec![3.5, 1.0, 3.5, 2.0], 6.0));
        assert_eq!(average_ranks(&[0.0, -0.0]).0, vec![1.5, 1.5]);
    }
}
