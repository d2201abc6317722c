//! Tails and capped means of a Poisson number to full relative precision, at any mean: how many completions come while a timer runs.

use std::f64::consts::TAU;

use statrs::function::erf::erfc;

use crate::chain::poisson::{deviance, probability};

/// From this mean on, sums over single probabilities give way to an expansion.
const LARGE: f64 = 1e8;

/// The number of events of a Poisson stream in a time that holds `mean` of them on average.
#[derive(Clone, Copy, Debug)]
pub(super) struct Poisson {
    mean: f64,
}

impl Poisson {
    /// With this mean, 0 or above.
    pub(super) fn new(mean: f64) -> Self {
        Self { mean }
    }

    /// P(N ≤ k) for a whole k; 0 where k is negative.
    pub(super) fn at_most(self, k: f64) -> f64 {
        if k < 0.0 {
            0.0
        } else if self.mean > LARGE && k > LARGE {
            upper_gamma(k + 1.0, self.mean)
        } else if k < self.mean {
            self.lower_sum(k)
        } else {
            1.0 - self.upper_sum(k + 1.0)
        }
    }

    /// P(N ≥ k) for a whole k; 1 where k is not positive.
    pub(super) fn at_least(self, k: f64) -> f64 {
        if k <= 0.0 {
            1.0
        } else if self.mean > LARGE && k > LARGE {
            lower_gamma(k, self.mean)
        } else if k > self.mean {
            self.upper_sum(k)
        } else {
            1.0 - self.lower_sum(k - 1.0)
        }
    }

    /// E[min(N, most)] for a whole `most` ≥ 0.
    pub(super) fn capped_mean(self, most: f64) -> f64 {
        self.mean * self.at_most(most - 1.0) + most * self.at_least(most + 1.0)
    }

    /// E[m(m + 1)/2], m = min(N, most): what 1 + 2 + … + m amounts to on average.
    pub(super) fn capped_triangle(self, most: f64) -> f64 {
        self.mean * (0.5 * self.mean * self.at_most(most - 2.0) + self.at_most(most - 1.0))
            + 0.5 * most * (most + 1.0) * self.at_least(most + 1.0)
    }

    /// P(N ≤ k) for k below the mean, from k downwards.
    fn lower_sum(self, k: f64) -> f64 {
        let (mut sum, mut term, mut i) = (1.0, 1.0, k);
        while i > 0.0 && term > 1e-18 * sum {
            term *= i / self.mean;
            sum += term;
            i -= 1.0;
        }
        probability(self.mean, k as u64) * sum
    }

    /// P(N ≥ k) for k above the mean, from k upwards.
    fn upper_sum(self, k: f64) -> f64 {
        let (mut sum, mut term, mut i) = (1.0, 1.0, k);
        while term > 1e-18 * sum {
            i += 1.0;
            term *= self.mean / i;
            sum += term;
        }
        probability(self.mean, k as u64) * sum
    }
}

/// Q(a, x), the regularised upper incomplete gamma function, for a and x beyond [`LARGE`]: the uniform expansion's
/// first two terms, the third is below 1e-15. Source: NIST DLMF, 8.12.3 to 8.12.10.
fn upper_gamma(a: f64, x: f64) -> f64 {
    let (eta, rest) = uniform(a, x);
    0.5 * erfc(eta * (0.5 * a).sqrt()) + rest
}

/// P(a, x) = 1 − Q(a, x).
fn lower_gamma(a: f64, x: f64) -> f64 {
    let (eta, rest) = uniform(a, x);
    0.5 * erfc(-eta * (0.5 * a).sqrt()) - rest
}

fn uniform(a: f64, x: f64) -> (f64, f64) {
    let mu = (x - a) / a;
    // ½η² = μ − ln(1 + μ) = deviance(a, x)/a.
    let half_square = deviance(a, x) / a;
    let eta = (2.0 * half_square).sqrt().copysign(mu);
    let first = if eta.abs() < 1e-3 {
        -1.0 / 3.0 + eta / 12.0 - 2.0 * eta * eta / 135.0 + eta.powi(3) / 864.0
    } else {
        1.0 / mu - 1.0 / eta
    };
    (eta, (-a * half_square).exp() / (TAU * a).sqrt() * first)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Term by term from zero, which is exact enough for small means.
    fn by_hand(mean: f64, k: u32) -> f64 {
        (0..=k)
            .scan((-mean).exp(), |p, i| {
                if i > 0 {
                    *p *= mean / f64::from(i);
                }
                Some(*p)
            })
            .sum()
    }

    #[test]
    fn tails_agree_with_the_plain_sum() {
        for mean in [1e-9, 0.3, 1.0, 7.5, 60.0] {
            for k in [0_u32, 1, 2, 5, 20, 59, 60, 61] {
                let (got, want) = (Poisson::new(mean).at_most(f64::from(k)), by_hand(mean, k));
                assert!((got / want - 1.0).abs() < 1e-13, "P(N ≤ {k}) at {mean}: {got}, {want}");
            }
        }
    }

    #[test]
    fn tiny_tails_keep_their_relative_precision() {
        // P(N ≥ 2) = m²/2 − m³/3 + … at a tiny mean: 1 − P(N ≤ 1) would be all rounding.
        let tail = Poisson::new(1e-9).at_least(2.0);
        assert!((tail / (0.5e-18 - 1e-27 / 3.0) - 1.0).abs() < 1e-14, "{tail}");
        assert_eq!(Poisson::new(1e30).at_most(1e6), 0.0);
    }

    #[test]
    fn the_expansion_meets_the_sum_where_they_change_over() {
        // Both ways at 1e8 and three standard deviations to each side of it; the sums are exact to 1e-12 there.
        for sigmas in [-3.0, -1.0, 0.0, 0.5, 3.0] {
            let k = (LARGE + sigmas * 1e4_f64).round();
            let poisson = Poisson::new(LARGE);
            let sum = if k < LARGE { poisson.lower_sum(k) } else { 1.0 - poisson.upper_sum(k + 1.0) };
            let expansion = upper_gamma(k + 1.0, LARGE);
            assert!((sum / expansion - 1.0).abs() < 1e-10, "{sigmas}: {sum}, {expansion}");
            assert!((expansion + lower_gamma(k + 1.0, LARGE) - 1.0).abs() < 1e-14);
        }
    }

    #[test]
    fn capped_moments_agree_with_the_plain_sum() {
        for (mean, most) in [(0.7, 3_u32), (5.0, 4), (5.0, 40), (1e-8, 2)] {
            let poisson = Poisson::new(mean);
            let sum = |f: fn(f64) -> f64| -> f64 {
                (1..=most + 60).map(|k| probability(mean, u64::from(k)) * f(f64::from(k.min(most)))).sum()
            };
            let (got, want) = (poisson.capped_mean(f64::from(most)), sum(|m| m));
            assert!((got / want - 1.0).abs() < 1e-13, "{mean} {most}: {got}, {want}");
            let (got, want) = (poisson.capped_triangle(f64::from(most)), sum(|m| m * (m + 1.0) / 2.0));
            assert!((got / want - 1.0).abs() < 1e-13, "{mean} {most}: {got}, {want}");
        }
    }
}
