//! Poisson probabilities without overflow or cancellation, and sums weighted by them: what uniformisation and waits of
//! a random number of exponential stages have in common.

use std::f64::consts::TAU;

/// P(N = n) for a Poisson variable of this mean, by the saddle-point expansion: Loader (2000), *Fast and Accurate
/// Computation of Binomial Probabilities*, section 3. Relative error near 1e-14 for every mean up to 1e15.
pub fn probability(mean: f64, n: u64) -> f64 {
    if n == 0 {
        return (-mean).exp();
    }
    if mean == 0.0 {
        return 0.0;
    }
    let x = n as f64;
    (-stirling_error(n) - deviance(x, mean)).exp() / (TAU * x).sqrt()
}

/// ln n! − ln(√(2πn) (n/e)ⁿ).
fn stirling_error(n: u64) -> f64 {
    let x = n as f64;
    if n < 16 {
        let factorial: f64 = (1..=n).map(|k| k as f64).product();
        return factorial.ln() - 0.5 * (TAU * x).ln() - x * x.ln() + x;
    }
    let square = x * x;
    let mut series = 1.0 / 1188.0;
    for coefficient in [1.0 / 1680.0, 1.0 / 1260.0, 1.0 / 360.0, 1.0 / 12.0] {
        series = coefficient - series / square;
    }
    series / x
}

/// x ln(x/m) + m − x, without the cancellation where x is near m.
pub(crate) fn deviance(x: f64, m: f64) -> f64 {
    let difference = x - m;
    if difference.abs() >= 0.1 * (x + m) {
        return x * (x / m).ln() - difference;
    }
    let v = difference / (x + m);
    let mut sum = difference * v;
    let mut power = 2.0 * x * v;
    let mut j = 1.0;
    loop {
        power *= v * v;
        let next = sum + power / (2.0 * j + 1.0);
        if next == sum {
            return sum;
        }
        sum = next;
        j += 1.0;
    }
}

/// Σ P(N = n) · value(n) for a Poisson N of this mean, where `value` never rises, is not negative, and is zero from
/// `end` on. All terms are positive; those left out are below 1e-17 of the sum.
pub fn mixture(mean: f64, end: u64, value: impl Fn(u64) -> f64) -> f64 {
    if end == 0 {
        return 0.0;
    }
    // The largest terms are where the ratio of neighbours crosses one; exact where `value` is log-concave.
    let (mut low, mut high) = (0, (mean as u64).min(end - 1));
    while low < high {
        let middle = high - (high - low) / 2;
        let here = value(middle);
        let rises = here > 0.0 && mean * here >= middle as f64 * value(middle - 1);
        if rises { low = middle } else { high = middle - 1 }
    }
    let peak = probability(mean, low);
    let most = value(0);
    let mut sum = peak * value(low);
    if sum == 0.0 {
        return 0.0;
    }
    let mut weight = peak;
    for n in (low + 1)..end {
        weight *= mean / n as f64;
        let term = weight * value(n);
        sum += term;
        let ratio = mean / (n + 1) as f64;
        if ratio < 1.0 && term * ratio <= 1e-17 * (1.0 - ratio) * sum {
            break;
        }
    }
    weight = peak;
    for n in (0..low).rev() {
        weight *= (n + 1) as f64 / mean;
        sum += weight * value(n);
        if weight * (n as f64) * most <= 1e-17 * sum {
            break;
        }
    }
    sum
}

/// The smallest n with P(N ≤ n) ≥ p. Summed up to a mean of 1e10; beyond, by the Cornish–Fisher expansion, within one.
pub fn quantile(mean: f64, p: f64) -> f64 {
    let tail = 1.0 - p;
    let deviation = mean.sqrt();
    if mean > 1e10 {
        let z = normal_quantile(p);
        return (mean + z * deviation + (z * z - 1.0) / 6.0).ceil();
    }
    // From so far out that nothing is left, down until more than the tail has been seen.
    let mut n = (mean + 40.0 * deviation + 60.0) as u64;
    let mut above = 0.0;
    let mut weight = probability(mean, n);
    while n > 0 {
        if above + weight > tail {
            return n as f64;
        }
        above += weight;
        // Far out the weight is zero, and no multiple of it is anything else.
        weight = if weight < f64::MIN_POSITIVE { probability(mean, n - 1) } else { weight * n as f64 / mean };
        n -= 1;
    }
    0.0
}

fn normal_quantile(p: f64) -> f64 {
    -std::f64::consts::SQRT_2 * statrs::function::erf::erfc_inv(2.0 * p)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(left: f64, right: f64) {
        assert!((left / right - 1.0).abs() < 1e-12, "{left} {right}");
    }

    #[test]
    fn probabilities_are_those_of_the_definition() {
        close(probability(2.5, 3), 2.5f64.powi(3) / 6.0 * (-2.5f64).exp());
        close(probability(1e-20, 1), 1e-20);
        // mpmath 1.3 at 40 digits: exp(n ln m - m - ln n!).
        close(probability(1e6, 1_000_000), 3.989_422_471_562_440_3e-4);
        close(probability(1e6, 1_005_000), 1.514_158_102_861_422e-9);
        close(probability(200.0, 10), 3.905_175_384_089_559e-71);
    }

    #[test]
    fn probabilities_add_up_whatever_the_mean() {
        for mean in [1e-30, 0.3, 7.0, 1e4, 1e8] {
            close(mixture(mean, u64::MAX, |_| 1.0), 1.0);
        }
    }

    #[test]
    fn a_mixture_of_powers_is_the_generating_function() {
        for (mean, r) in [(0.5f64, 0.2f64), (30.0, 0.9), (1e5, 0.999), (1e3, 0.5)] {
            let sum = mixture(mean, u64::MAX, |n| r.powf(n as f64));
            assert!((sum / (-(1.0 - r) * mean).exp() - 1.0).abs() < 1e-11, "{mean} {r}");
        }
    }

    #[test]
    fn a_quantile_is_the_first_that_reaches_its_share() {
        for mean in [0.001, 0.7, 12.0, 1234.5] {
            for p in [0.5, 0.99, 0.999] {
                let n = quantile(mean, p);
                let up_to = |n: f64| (0..=n as u64).map(|k| probability(mean, k)).sum::<f64>();
                assert!(up_to(n) >= p - 1e-12);
                assert!(n == 0.0 || up_to(n - 1.0) < p);
            }
        }
    }

    #[test]
    fn the_expansion_meets_the_sum() {
        let mean: f64 = 1e7;
        let z = normal_quantile(0.99);
        let expanded = (mean + z * mean.sqrt() + (z * z - 1.0) / 6.0).ceil();
        assert!((expanded - quantile(mean, 0.99)).abs() <= 1.0);
    }
}
