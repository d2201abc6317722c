//! The bootstrap distribution of a median, exactly: no resamples, no seed, no Monte Carlo error.
//!
//! For a median the probability of every outcome of a resample has a closed form (Efron 1979, Annals of
//! Statistics 7:1, section 3; Maritz and Jarrett 1978, JASA 73:194), so drawing thousands of resamples would
//! only add noise to it.

use statrs::function::beta::beta_reg;
use statrs::function::factorial::ln_binomial;

/// Outcomes rarer than e⁻⁵⁰ are left out.
const NEGLIGIBLE: f64 = -50.0;

/// The values that the median of a resample can take, ascending, each with its probability.
pub(crate) struct MedianBootstrap {
    outcomes: Vec<(f64, f64)>,
}

impl MedianBootstrap {
    /// `ascending` must be sorted, finite and not empty.
    pub(crate) fn of_sorted(ascending: &[f64]) -> Self {
        let n = ascending.len();
        let mut outcomes = if n % 2 == 1 { odd(ascending) } else { even(ascending) };
        outcomes.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        Self { outcomes }
    }

    /// Standard deviation of the distribution.
    pub(crate) fn standard_deviation(&self) -> f64 {
        let total: f64 = self.outcomes.iter().map(|o| o.1).sum();
        let centre: f64 = self.outcomes.iter().map(|o| o.0 * (o.1 / total)).sum();
        self.outcomes.iter().map(|o| (o.0 - centre).powi(2) * (o.1 / total)).sum::<f64>().sqrt()
    }

    /// The values that cut off `tail` below and `tail` above, for `0 < tail < 1/2`.
    pub(crate) fn percentiles(&self, tail: f64) -> (f64, f64) {
        let cut = |outcomes: &mut dyn Iterator<Item = &(f64, f64)>| {
            let mut sum = 0.0;
            let mut value = 0.0;
            for outcome in outcomes {
                value = outcome.0;
                sum += outcome.1;
                if sum > tail {
                    break;
                }
            }
            value
        };
        (cut(&mut self.outcomes.iter()), cut(&mut self.outcomes.iter().rev()))
    }
}

/// P(at most the i-th of n values is the r-th smallest of a resample): at least r of n draws fall on the
/// first i.
fn order_statistic_reaches(i: usize, r: usize, n: usize) -> f64 {
    if i == 0 {
        0.0
    } else if i == n {
        1.0
    } else {
        beta_reg(r as f64, (n - r + 1) as f64, i as f64 / n as f64)
    }
}

fn odd(ascending: &[f64]) -> Vec<(f64, f64)> {
    let n = ascending.len();
    let mut below = 0.0;
    let mut outcomes = Vec::with_capacity(n);
    for (i, &value) in ascending.iter().enumerate() {
        let reached = order_statistic_reaches(i + 1, n.div_ceil(2), n);
        outcomes.push((value, (reached - below).max(0.0)));
        below = reached;
    }
    outcomes
}

/// For n = 2m the median is the midpoint of the order statistics m and m + 1 of the resample. They are x_i
/// and x_j with i < j when exactly m draws fall on the first i values, the i-th among them, and m on the last
/// n − j + 1, the j-th among them; they are both x_i in what remains of P(order statistic m is x_i).
fn even(ascending: &[f64]) -> Vec<(f64, f64)> {
    let n = ascending.len();
    let m = n / 2;
    let ways = ln_binomial(n as u64, m as u64);
    // ln of P(m draws fall on r given values, one certain value among them)
    let ln_share = |r: usize| {
        let (r, m) = (r as f64, m as f64);
        m * (r / n as f64).ln() + (-(m * ((r - 1.0) / r).ln()).exp_m1()).ln()
    };
    let mut outcomes = Vec::new();
    let mut below = 0.0;
    for i in 1..=n {
        let reached = order_statistic_reaches(i, m, n);
        let mut alone = reached - below;
        below = reached;
        for j in i + 1..=n {
            let ln_probability = ways + ln_share(i) + ln_share(n - j + 1);
            if ln_probability < NEGLIGIBLE {
                break;
            }
            let probability = ln_probability.exp();
            alone -= probability;
            outcomes.push((f64::midpoint(ascending[i - 1], ascending[j - 1]), probability));
        }
        outcomes.push((ascending[i - 1], alone.max(0.0)));
    }
    outcomes
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every resample of a small sample, counted.
    fn enumerated(values: &[f64]) -> Vec<(f64, f64)> {
        let n = values.len();
        let mut counts: Vec<(f64, f64)> = Vec::new();
        for code in 0..n.pow(n as u32) {
            let mut rest = code;
            let mut draw: Vec<f64> = (0..n)
                .map(|_| {
                    let v = values[rest % n];
                    rest /= n;
                    v
                })
                .collect();
            draw.sort_unstable_by(f64::total_cmp);
            let median = crate::summary::median_of_sorted(&draw);
            match counts.iter_mut().find(|c| c.0 == median) {
                Some(c) => c.1 += 1.0,
                None => counts.push((median, 1.0)),
            }
        }
        counts.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        counts.into_iter().map(|(v, c)| (v, c / n.pow(n as u32) as f64)).collect()
    }

    #[test]
    fn agrees_with_all_resamples() {
        for n in 1..=6 {
            // Powers of three: no two midpoints coincide.
            let values: Vec<f64> = (0..n).map(|i| 3f64.powi(i)).collect();
            let exact = MedianBootstrap::of_sorted(&values);
            let all = enumerated(&values);
            let exact: Vec<_> = exact.outcomes.iter().filter(|o| o.1 > 1e-12).collect();
            assert_eq!(exact.len(), all.len(), "n = {n}");
            for (e, a) in exact.iter().zip(&all) {
                assert_eq!(e.0, a.0);
                assert!((e.1 - a.1).abs() < 1e-12, "n = {n}: {} is not {}", e.1, a.1);
            }
        }
    }

    #[test]
    fn probabilities_sum_to_one_in_large_samples() {
        for n in [50, 301, 1000] {
            let values: Vec<f64> = (0..n).map(f64::from).collect();
            let sum: f64 = MedianBootstrap::of_sorted(&values).outcomes.iter().map(|o| o.1).sum();
            assert!((sum - 1.0).abs() < 1e-9, "n = {n}: {sum}");
        }
    }
}
