//! The stationary distribution of a finite birth–death chain, from its largest probability outwards: products and sums
//! of positive numbers only, so that neither ρ near one nor a million states cost digits.

/// πₙ for n = 0 … `top`, given πₙ₊₁/πₙ, which must not rise with n. `last` multiplies the weight of `top`: 1, or the
/// sum of a geometric tail that is counted with it.
///
/// Each probability is of a product of n ratios: its relative error is below n · 2.3e-16.
pub fn stationary(top: usize, ratio: impl Fn(usize) -> f64, last: f64) -> Vec<f64> {
    let mode = first_where(top, |n| ratio(n) < 1.0);
    let mut weights = vec![0.0; top + 1];
    weights[mode] = 1.0;
    for n in mode..top {
        weights[n + 1] = normal(weights[n] * ratio(n));
        if weights[n + 1] == 0.0 {
            break;
        }
    }
    for n in (0..mode).rev() {
        weights[n] = normal(weights[n + 1] / ratio(n));
        if weights[n] == 0.0 {
            break;
        }
    }
    weights[top] *= last;
    let sum: f64 = weights.iter().sum();
    for weight in &mut weights {
        *weight /= sum;
    }
    weights
}

/// The smallest n below `top` for which `holds`, which then holds for all above; `top` if none.
fn first_where(top: usize, holds: impl Fn(usize) -> bool) -> usize {
    let (mut low, mut high) = (0, top);
    while low < high {
        let middle = low + (high - low) / 2;
        if holds(middle) { high = middle } else { low = middle + 1 }
    }
    low
}

/// Nothing instead of a subnormal number, which has few digits and is slow.
fn normal(weight: f64) -> f64 {
    if weight < f64::MIN_POSITIVE { 0.0 } else { weight }
}

/// Σ n πₙ.
pub fn mean(probabilities: &[f64]) -> f64 {
    probabilities.iter().enumerate().map(|(n, p)| n as f64 * p).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_are_in_balance_and_all_is_one() {
        for load in [0.01, 1.0, 7.3, 400.0] {
            let pi = stationary(300, |n| load / (n + 1) as f64, 1.0);
            assert!((pi.iter().sum::<f64>() - 1.0).abs() < 1e-13);
            for n in 0..300 {
                let (up, down) = (pi[n] * load, pi[n + 1] * (n + 1) as f64);
                assert!((up - down).abs() <= 1e-14 * up.max(down) || down < 1e-290, "{load} {n}");
            }
        }
    }

    #[test]
    fn even_odds_are_uniform() {
        let pi = stationary(9, |_| 1.0, 1.0);
        assert!(pi.iter().all(|p| (p - 0.1).abs() < 1e-15));
    }
}
