//! Rates: what a point gives in a second, all of its measured actors together.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use tollway_core::Yield;
use tollway_stats::figure;
use tollway_store::{PointRecord, Trial};

use super::Span;

/// Share of intervals that hold the true value.
pub(crate) const CONFIDENCE: f64 = 0.95;

/// So many of something in a second.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct RateDocument {
    /// `B/s`, `bit/s`, `IO/s`, `events/s`, `requests/s`, `packets/s` or `op/s`.
    pub unit: String,
    /// How many: median over blocks of the median over trials.
    pub per_second: Span,
    /// The same of each block, in the order in which they ran.
    pub blocks: Vec<f64>,
}

/// The rates of a point, the headline first; none where its operations yield nothing that is counted by the second, or there are too
/// few trials.
pub(crate) fn of(record: &PointRecord) -> Vec<RateDocument> {
    of_trials(&record.measured, &record.point.spec.yields)
}

/// The same of these trials, whose operations yield that.
pub(crate) fn of_trials(trials: &[Trial], yields: &[Yield]) -> Vec<RateDocument> {
    let mut blocks: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
    for trial in trials {
        // On logarithms, so that no end of an interval lies below nothing.
        let Some(rate) = trial.rate() else { return Vec::new() };
        blocks.entry(trial.block).or_default().push(rate.ln());
    }
    let blocks: Vec<Vec<f64>> = blocks.into_values().collect();
    let Ok(log) = figure(&blocks, CONFIDENCE) else { return Vec::new() };
    let middle = |trials: &Vec<f64>| tollway_stats::summary::median(trials).ok().map(f64::exp);
    let each: Vec<f64> = blocks.iter().filter_map(middle).collect();
    let span = Span { estimate: log.estimate.exp(), lo: log.lo.exp(), hi: log.hi.exp() };
    let document = |yielded: &Yield| RateDocument {
        unit: yielded.unit.per_second().into(),
        per_second: span.times(yielded.each),
        blocks: each.iter().map(|rate| rate * yielded.each).collect(),
    };
    yields.iter().map(document).collect()
}
