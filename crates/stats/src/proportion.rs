//! A share of trials, with an interval that is exact for few trials and rare events alike.

use statrs::function::beta::beta_reg;

use crate::sample::open_unit;
use crate::{Interval, StatsError};

/// How often something happens, having happened `hits` times in `trials`: the interval of Clopper and Pearson, whose
/// coverage is never below `confidence`.
///
/// Its ends are the probabilities at which so many hits or more, and so many or fewer, would have half of
/// 1 − `confidence`. Source: C. J. Clopper, E. S. Pearson, "The use of confidence or fiducial limits illustrated in the case of
/// the binomial", Biometrika 26 (1934).
///
/// # Errors
/// No trials, more hits than trials, a confidence outside (0, 1).
pub fn proportion(hits: u64, trials: u64, confidence: f64) -> Result<Interval, StatsError> {
    open_unit("confidence", confidence)?;
    if trials == 0 {
        return Err(StatsError::TooFew { what: "trials", needed: 1, got: 0 });
    }
    if hits > trials {
        return Err(StatsError::OutOfRange { name: "hits", value: hits as f64, range: "[0, trials]" });
    }
    let (k, n, tail) = (hits as f64, trials as f64, 0.5 * (1.0 - confidence));
    // P(X ≥ k) and P(X ≤ k) of a binomial X, by Abramowitz and Stegun (1964), 26.5.24.
    let lo = if hits == 0 { 0.0 } else { crossing(|p| beta_reg(k, n - k + 1.0, p) - tail) };
    let hi = if hits == trials { 1.0 } else { crossing(|p| tail - beta_reg(n - k, k + 1.0, 1.0 - p)) };
    Interval::new(k / n, lo, hi, confidence)
}

/// Where a function that rises from below zero to above it crosses, between 0 and 1.
fn crossing(of: impl Fn(f64) -> f64) -> f64 {
    let (mut below, mut above) = (0.0f64, 1.0f64);
    // Small probabilities by their exponent first, then by halves, until no number lies between.
    while above > 1e-300 && of(0.5 * above) > 0.0 {
        above *= 0.5;
    }
    below = below.max(0.5 * above);
    loop {
        let middle = 0.5 * (below + above);
        if middle <= below || middle >= above {
            return middle;
        }
        *(if of(middle) > 0.0 { &mut above } else { &mut below }) = middle;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ends(hits: u64, trials: u64, confidence: f64, lo: f64, hi: f64) {
        let interval = proportion(hits, trials, confidence).unwrap();
        let close = |got: f64, want: f64| (got - want).abs() <= 1e-9 * want.max(1e-3);
        assert!(close(interval.lo, lo) && close(interval.hi, hi), "{hits} of {trials}: {interval:?}");
        assert_eq!(interval.estimate, hits as f64 / trials as f64);
    }

    #[test]
    fn closed_forms() {
        // None of n: 1 − tail^(1/n); all: the mirror; one of one.
        for n in [1u64, 10, 1000, 1_000_000] {
            let power = 0.025f64.powf(1.0 / n as f64);
            ends(0, n, 0.95, 0.0, -(0.025f64.ln() / n as f64).exp_m1());
            ends(n, n, 0.95, power, 1.0);
        }
    }

    #[test]
    fn both_ends_have_the_tails_that_they_promise() {
        // Summed term by term, in logarithms.
        let tail = |p: f64, n: u64, from: u64, to: u64| -> f64 {
            let mut term = n as f64 * (-p).ln_1p();
            let mut sum = 0.0;
            for k in 0..=to {
                if k >= from {
                    sum += term.exp();
                }
                term += ((n - k) as f64 / (k + 1) as f64).ln() + (p / (1.0 - p)).ln();
            }
            sum
        };
        for (k, n) in [(1, 10), (5, 10), (3, 1000), (30, 40_000), (900, 1_000_000), (123, 456)] {
            for confidence in [0.9, 0.99] {
                let interval = proportion(k, n, confidence).unwrap();
                let half = 0.5 * (1.0 - confidence);
                let (above, below) = (1.0 - tail(interval.lo, n, 0, k - 1), tail(interval.hi, n, 0, k));
                assert!((above / half - 1.0).abs() < 1e-6, "{k} of {n}: {above}");
                assert!((below / half - 1.0).abs() < 1e-6, "{k} of {n}: {below}");
            }
        }
    }

    #[test]
    fn what_cannot_be_is_refused() {
        assert!(proportion(0, 0, 0.95).is_err());
        assert!(proportion(2, 1, 0.95).is_err());
        assert!(proportion(1, 2, 1.0).is_err());
    }
}
