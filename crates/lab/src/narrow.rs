//! Whether a point has been measured exactly enough to have no more trials.
//!
//! What decides is how wide an interval is, never where it lies: a rule that looks at the estimate would stop where chance favours it.
//! With an interval that is worked out anew after each block it holds the true value slightly less often than it says (Y. S. Chow and
//! H. Robbins, "On the Asymptotic Theory of Fixed-Width Sequential Confidence Intervals for the Mean", Annals of Mathematical
//! Statistics 36, 1965, pages 457 to 462, have that the loss vanishes as the intervals get narrow); [`FEWEST`] blocks are always played.

use tollway_stats::{Interval, figure, paired_ratio};
use tollway_store::{Trial, by_block, pairs_of};

/// Blocks before which nothing is judged: of fewer, intervals are too uncertain themselves.
pub(crate) const FEWEST: u32 = 6;

/// Share of intervals that hold the true value.
const CONFIDENCE: f64 = 0.95;

/// Half the width of an interval, as a share of its estimate, on a scale of ratios.
fn half_width(interval: &Interval) -> f64 {
    0.5 * (interval.hi / interval.lo).ln()
}

/// How exactly a point is known by its trials on each side: what is compared there is their rates, or their medians.
pub(crate) fn known_within(sides: &[Vec<Trial>], by_rate: bool) -> Option<f64> {
    let number = |trial: &Trial| if by_rate { trial.rate() } else { Some(trial.median) };
    match sides {
        [a, b] => {
            let pair = |(a, b): (&Trial, &Trial)| Some((number(a)?, number(b)?));
            let blocks: Option<Vec<Vec<_>>> =
                pairs_of(a, b).into_iter().map(|block| block.into_iter().map(pair).collect()).collect();
            let ratio = paired_ratio(&blocks?).ok()?;
            Some(half_width(&ratio.interval(CONFIDENCE).ok()?))
        }
        [only] => {
            let logarithm = |trial: &&Trial| number(trial).map(f64::ln);
            let blocks: Option<Vec<Vec<f64>>> =
                by_block(only).into_values().map(|block| block.iter().map(logarithm).collect()).collect();
            let found = figure(&blocks?, CONFIDENCE).ok()?;
            Some(0.5 * (found.hi - found.lo))
        }
        _ => None,
    }
}
