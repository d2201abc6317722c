//! What a sweep found: the document of `--json`.

use std::collections::BTreeMap;

use serde::Serialize;
use tollway_report::document::Span;

use crate::step::StepDocument;

/// What requests cost by every way, at every concurrency. Times in nanoseconds, rates a second; figures have their 95 % intervals.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct SweepDocument {
    /// Version of this form.
    pub schema_version: u32,
    /// `ping-pong`, `alloc-server` or `tcp-server`.
    pub application: String,
    /// The run of the store that has the trials.
    pub run: i64,
    /// Seed of their order.
    pub seed: u64,
    /// Whether it was ended before its time: then these are the figures of what was measured by then.
    pub interrupted: bool,
    /// What varies: `concurrency` or `connections`.
    pub axis: String,
    /// Its values.
    pub ladder: Vec<u64>,
    /// What was measured, in the order of the options.
    pub points: Vec<SweptDocument>,
    /// From where on asynchronous ways are cheaper than synchronous ones.
    pub crossovers: Vec<CrossoverDocument>,
    /// What this machine lacks for some of it.
    pub skipped: Vec<SkippedDocument>,
    /// What failed.
    pub failed: Vec<FailedDocument>,
    /// Share of trials in which the machine was quiet; null without a trial.
    pub quiet_share: Option<f64>,
}

/// A way at a step.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct SweptDocument {
    /// The path's variant.
    pub variant: String,
    /// Whether it is one that asynchronous ways are held against: a synchronous one, or Linux's own TCP.
    pub synchronous: bool,
    /// How many at a time; null of a way that has one always.
    pub at_a_time: Option<u64>,
    /// On one core or two; null of a way that has but one.
    pub cores: Option<u32>,
    /// What a request costs: the time from one that is done to the next, less what other programs took meanwhile; over TCP nothing is taken off.
    pub time_ns: Span,
    /// Requests a second.
    pub per_second: Span,
    /// How long a request takes, as it was timed; null where that was not.
    pub latency_ns: Option<LatencyDocument>,
    /// What was foretold of it; null where nothing was.
    pub foretold: Option<ForetoldDocument>,
    /// What was counted, for each request: `notices`, `switches`, `kernel_entries` and whatever else the variant counts.
    pub counts: BTreeMap<String, f64>,
    /// How many trials.
    pub trials: u32,
}

/// How long a request takes.
#[derive(Clone, Copy, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct LatencyDocument {
    /// The mean.
    pub mean: f64,
    /// The median.
    pub p50: f64,
    /// What 99 of 100 do not exceed; null where fewer were timed.
    pub p99: Option<f64>,
    /// What 999 of 1000 do not exceed; null where fewer were timed.
    pub p999: Option<f64>,
}

/// A prediction and what became of it.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ForetoldDocument {
    /// What was foretold.
    pub time_ns: Span,
    /// What it speaks of, as it was measured, mostly the median of stretches; null without a figure.
    pub measured_ns: Option<Span>,
    /// By which model.
    pub model: String,
    /// `holds`, `missed` or `says-nothing`; null where there is no figure to hold it against.
    pub outcome: Option<String>,
}

/// From where on one way is cheaper than another.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct CrossoverDocument {
    /// The asynchronous way.
    pub of: String,
    /// What it is held against: a synchronous one, or Linux's own TCP.
    pub below: String,
    /// On one core or two.
    pub cores: u32,
    /// What was measured.
    pub measured: StepDocument,
    /// What had been foretold; null where it had not at every step.
    pub foretold: Option<StepDocument>,
}

/// What could not be measured here.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct SkippedDocument {
    /// Which point.
    pub point: String,
    /// What it needs.
    pub what: String,
    /// Why that is not to be had.
    pub reason: String,
    /// What would help.
    pub remedy: String,
}

/// What went wrong.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct FailedDocument {
    /// Which point.
    pub point: String,
    /// Why.
    pub reason: String,
}
