//! Tails of binomial distributions, down to where doubles end: cut-offs ask for 2^-80 and less.

/// The probability of `at_least` successes or more in `trials`, each with probability `p`.
pub fn upper_tail(trials: u32, at_least: u32, p: f64) -> f64 {
    if at_least == 0 || p >= 1.0 {
        return if at_least <= trials { 1.0 } else { 0.0 };
    }
    if at_least > trials || p <= 0.0 {
        return 0.0;
    }
    let (n, k) = (f64::from(trials), f64::from(at_least));
    if k <= n * p {
        // Its first term may be too small for a double, and the others with it: so many failures at most.
        return 1.0 - upper_tail(trials, trials - at_least + 1, 1.0 - p);
    }
    // The first term by logarithms, the others by their ratio to the one before.
    let choose: f64 = (1..=at_least).map(|i| ((n - k + f64::from(i)) / f64::from(i)).ln()).sum();
    let mut term = (choose + k * p.ln() + (n - k) * (-p).ln_1p()).exp();
    let mut sum = 0.0;
    for successes in at_least..=trials {
        sum += term;
        let s = f64::from(successes);
        term *= (n - s) / (s + 1.0) * (p / (1.0 - p));
        // Beyond the mean terms fall: what is left is less than rounding.
        if term < sum * 1e-18 {
            break;
        }
    }
    sum.min(1.0)
}

/// The least number of successes that so many trials reach with probability 2^-`bits` at most: `1 + critbinom(trials, p,
/// 1 - 2^-bits)`. One more than `trials` where even all of them are likelier.
pub fn rare(trials: u32, p: f64, bits: f64) -> u32 {
    let most = (-bits).exp2();
    let (mut low, mut high) = (0, trials + 1);
    while low < high {
        let middle = low.midpoint(high);
        if upper_tail(trials, middle, p) <= most {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    low
}
