//! A figure in a document: an estimate that cannot be had without its interval.

use serde::{Deserialize, Serialize};
use tollway_stats::Interval;

/// What an operation costs, with its interval, in two units.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Estimate {
    /// In ticks of the run's clock.
    pub ticks: Span,
    /// In nanoseconds.
    pub ns: Span,
    /// Share of such intervals that hold the true value.
    pub confidence: f64,
}

/// An estimate and the ends of its interval, in one unit.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Span {
    /// The figure itself.
    pub estimate: f64,
    /// Lower end of its interval.
    pub lo: f64,
    /// Upper end of its interval.
    pub hi: f64,
}

/// Where several values lie.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Range {
    /// The least.
    pub min: f64,
    /// The median.
    pub median: f64,
    /// The greatest.
    pub max: f64,
}

impl Range {
    /// Of these values; `None` without one.
    pub(crate) fn of(values: &[f64]) -> Option<Range> {
        let median = tollway_stats::summary::median(values).ok()?;
        let min = values.iter().copied().fold(median, f64::min);
        Some(Range { min, median, max: values.iter().copied().fold(median, f64::max) })
    }
}

impl Estimate {
    /// From an interval in ticks of a clock of `hz` ticks per second.
    pub(crate) fn of_ticks(interval: &Interval, hz: f64) -> Estimate {
        let ticks = Span { estimate: interval.estimate, lo: interval.lo, hi: interval.hi };
        Estimate { ticks, ns: ticks.times(1e9 / hz), confidence: interval.confidence }
    }
}

impl Span {
    /// The same in another unit; `factor` is positive.
    pub(crate) fn times(self, factor: f64) -> Span {
        Span { estimate: self.estimate * factor, lo: self.lo * factor, hi: self.hi * factor }
    }

    /// This over that. The ends are those of the least favourable case on either side, so that it claims too little
    /// rather than too much; `None` where the divisor's interval reaches zero.
    pub(crate) fn over(self, that: Span) -> Option<Span> {
        (that.lo > 0.0).then(|| Span {
            estimate: self.estimate / that.estimate,
            lo: self.lo / that.hi,
            hi: self.hi / that.lo,
        })
    }
}
