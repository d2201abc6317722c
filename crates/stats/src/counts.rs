//! What a mere count tells: exact intervals for a Poisson rate, and simultaneous ones for shares.

use statrs::function::gamma::{gamma_lr, gamma_ur};

use crate::sample::open_unit;
use crate::student::normal_quantile;
use crate::{Interval, StatsError};

/// From this shape on a gamma quantile is taken from Wilson and Hilferty's cube, whose relative error there is below
/// 1e-9.
const LARGE_SHAPE: f64 = 1e6;

/// Rate of a Poisson process of which `count` events were seen in `exposure`: the exact interval, per unit of exposure.
/// With `count` a number chosen beforehand and `exposure` the time it took (services and busy time), see
/// [`gamma_rate`].
///
/// Source: Garwood (1936), Biometrika 28:437.
///
/// # Errors
/// On an exposure that is not above zero, and a confidence outside `(0, 1)`.
pub fn poisson_rate(count: u64, exposure: f64, confidence: f64) -> Result<Interval, StatsError> {
    let exposure = positive(exposure)?;
    open_unit("confidence", confidence)?;
    let n = count as f64;
    let tail = 0.5 * (1.0 - confidence);
    let lo = if count == 0 { 0.0 } else { gamma_quantile(n, tail) };
    Interval::new(n / exposure, lo / exposure, gamma_quantile(n + 1.0, 1.0 - tail) / exposure, confidence)
}

/// Rate of exponential times of which `count` took `total`: the exact interval, per unit of `total`.
///
/// Source: Epstein and Sobel (1953), JASA 48:486: twice the rate times the total is chi-squared with twice the count
/// degrees of freedom.
///
/// # Errors
/// On no event, a total that is not above zero, and a confidence outside `(0, 1)`.
pub fn gamma_rate(count: u64, total: f64, confidence: f64) -> Result<Interval, StatsError> {
    let total = positive(total)?;
    open_unit("confidence", confidence)?;
    if count == 0 {
        return Err(StatsError::TooFew { what: "events", needed: 1, got: 0 });
    }
    let n = count as f64;
    let tail = 0.5 * (1.0 - confidence);
    Interval::new(
        n / total,
        gamma_quantile(n, tail) / total,
        gamma_quantile(n, 1.0 - tail) / total,
        confidence,
    )
}

/// Shares of several kinds, with intervals that hold all at once with the stated confidence.
///
/// Source: Goodman (1965), Technometrics 7:247, with the z of 1 − (1 − confidence)/k for k kinds; for a single kind
/// beside its rest that is Wilson (1927), JASA 22:209.
///
/// # Errors
/// On no event, and a confidence outside `(0, 1)`.
pub fn shares(counts: &[u64], confidence: f64) -> Result<Vec<Interval>, StatsError> {
    open_unit("confidence", confidence)?;
    let n: f64 = counts.iter().map(|c| *c as f64).sum();
    if n == 0.0 {
        return Err(StatsError::TooFew { what: "events", needed: 1, got: 0 });
    }
    // Two kinds are one share and its complement.
    let kinds = if counts.len() == 2 { 1.0 } else { counts.len() as f64 };
    let z = normal_quantile(1.0 - 0.5 * (1.0 - confidence) / kinds);
    let interval = |count: &u64| {
        let share = *count as f64 / n;
        let centre = share + z * z / (2.0 * n);
        let reach = z * (share * (1.0 - share) / n + z * z / (4.0 * n * n)).sqrt();
        let ends = ((centre - reach) / (1.0 + z * z / n), (centre + reach) / (1.0 + z * z / n));
        Interval::new(share, ends.0.clamp(0.0, share), ends.1.clamp(share, 1.0), confidence)
    };
    counts.iter().map(interval).collect()
}

fn positive(value: f64) -> Result<f64, StatsError> {
    if value > 0.0 && value.is_finite() {
        return Ok(value);
    }
    Err(StatsError::OutOfRange { name: "exposure", value, range: "(0, inf)" })
}

/// The x with P(X ≤ x) = `probability` for a gamma of this shape and scale 1.
fn gamma_quantile(shape: f64, probability: f64) -> f64 {
    // Wilson and Hilferty (1931), PNAS 17:684.
    let ninth = 1.0 / (9.0 * shape);
    let cube = (1.0 - ninth + normal_quantile(probability) * ninth.sqrt()).max(0.0).powi(3) * shape;
    if shape >= LARGE_SHAPE {
        return cube;
    }
    let below = |x: f64| {
        if probability < 0.5 {
            gamma_lr(shape, x) < probability
        } else {
            gamma_ur(shape, x) > 1.0 - probability
        }
    };
    let (mut lo, mut hi) = (0.0, cube.max(1e-3));
    while below(hi) {
        (lo, hi) = (hi, 2.0 * hi);
    }
    // Halving to the last bit: some 60 steps, none of which can fail.
    loop {
        let middle = f64::midpoint(lo, hi);
        if middle <= lo || middle >= hi {
            return middle;
        }
        if below(middle) { lo = middle } else { hi = middle }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_seen_is_something_known() {
        let i = poisson_rate(0, 10.0, 0.95).unwrap();
        assert_eq!((i.estimate, i.lo), (0.0, 0.0));
        // 1 − exp(−x) = 0.975.
        assert!((i.hi - 40.0_f64.ln() / 10.0).abs() < 1e-12);
        assert!(gamma_rate(0, 10.0, 0.95).is_err());
        assert!(shares(&[0, 0], 0.95).is_err());
        assert!(poisson_rate(1, 0.0, 0.95).is_err());
    }

    #[test]
    fn the_cube_takes_over_without_a_step() {
        for probability in [0.025, 0.975] {
            let (exact, cube) =
                (gamma_quantile(999_999.0, probability), gamma_quantile(1_000_000.0, probability));
            assert!((cube - exact - 1.0).abs() < 2e-3, "{exact} {cube}");
        }
    }

    #[test]
    fn shares_stay_within_the_whole() {
        for interval in shares(&[0, 3, 97], 0.95).unwrap() {
            assert!(interval.lo >= 0.0 && interval.hi <= 1.0 && interval.contains(interval.estimate));
        }
    }
}
