//! The distribution of a point's samples, small enough for a page.

use tollway_core::{SUB_TICKS, Spread};

/// How many bars a small histogram has.
const BARS: usize = 48;

/// A histogram of the body of a point's samples, on a linear scale.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Distribution {
    /// Left end, in nanoseconds.
    pub(crate) lo_ns: f64,
    /// Right end, in nanoseconds.
    pub(crate) hi_ns: f64,
    /// Samples in each bar, as shares of the highest bar.
    pub(crate) bars: Vec<f64>,
}

impl Distribution {
    /// From the joined samples of all trials; `None` where they have no width.
    pub(crate) fn of(spread: &Spread, hz: f64) -> Option<Distribution> {
        let [low, tenth, median, ninth, high] = [0.005, 0.1, 0.5, 0.9, 0.99].map(|q| spread.quantile(q));
        // A long tail would press the body into a corner: the p99 tells of it.
        let reach = 3.0 * (ninth? - tenth?).max(median? * 0.002);
        let (lo, hi) = (low?.max(median? - reach), high?.min(median? + reach));
        if hi <= lo {
            return None;
        }
        let mut bars = vec![0.0; BARS];
        for (value, n) in &spread.counts {
            let at = (*value as f64 / SUB_TICKS as f64 - lo) / (hi - lo) * BARS as f64;
            if (0.0..=BARS as f64).contains(&at) {
                bars[(at as usize).min(BARS - 1)] += *n as f64;
            }
        }
        let top = bars.iter().copied().fold(0.0, f64::max);
        bars.iter_mut().for_each(|b| *b /= top);
        let ns = 1e9 / hz;
        Some(Distribution { lo_ns: lo * ns, hi_ns: hi * ns, bars })
    }
}
