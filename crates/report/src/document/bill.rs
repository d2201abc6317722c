//! The document of a bill: a path's cost as the sum of its gates.

use serde::{Deserialize, Serialize};

use super::{Estimate, Span};

/// What an operation of a path costs, gate by gate, against what it cost end to end. All figures are work: means, less
/// what something else took meanwhile, paired by the blocks of the run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct BillDocument {
    /// The point that was measured end to end.
    pub point: i64,
    /// Its path.
    pub path: String,
    /// Its variant.
    pub variant: String,
    /// Its parameters, as `name=value`.
    pub params: String,
    /// What one operation is.
    pub operation: String,
    /// The gates that the measured role pays for, in the order in which an operation passes them.
    pub gates: Vec<GateDocument>,
    /// The gates that other roles pay for: no part of the sum, nor of what was measured.
    #[serde(default)]
    pub apart: Vec<GateDocument>,
    /// All gates that are explained.
    pub sum: Option<Estimate>,
    /// What was measured end to end, on its own.
    pub measured: Estimate,
    /// What was measured less the sum; below 0 where the gates come to more. Null where nothing is explained.
    pub unexplained: Option<Estimate>,
    /// The share of it in what was measured.
    pub unexplained_share: Option<f64>,
    /// What the bill can tell apart: half of the width of the interval of what is unexplained, in ticks.
    pub resolution_ticks: Option<f64>,
    /// Whether what is unexplained is within 5 % of the whole, or within twice the resolution; null where a gate is not
    /// known.
    pub closes: Option<bool>,
    /// What a sampling profiler saw while the path ran whole; null where none did.
    pub profile: Option<ProfileDocument>,
    /// How long what passed was on its way; null where nothing was timed.
    pub latency: Option<LatencyDocument>,
}

/// How long what passed was on its way: the other ledger. Means of stages add up, quantiles do not.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct LatencyDocument {
    /// Operations that were timed, in all trials.
    pub timed: u64,
    /// The stages of the critical path in order; the last is the whole.
    pub stages: Vec<StageDocument>,
}

/// A stage of a critical path. Each figure has its interval over blocks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct StageDocument {
    /// From where to where.
    pub name: String,
    /// The mean.
    pub mean: Estimate,
    /// The median.
    pub p50: Estimate,
    /// The 99th percentile; null where a block has too few samples to have one.
    pub p99: Option<Estimate>,
    /// The 99.9th percentile; null where a block has too few samples to have one.
    pub p999: Option<Estimate>,
}

/// Where a sampling profiler found a path: an instrument of its own, beside the tolls.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ProfileDocument {
    /// How many samples, in all trials.
    pub samples: u64,
    /// The parts of the work, in the order of the gates.
    pub parts: Vec<PartDocument>,
}

/// A part of a path's work.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct PartDocument {
    /// The gate, or several that the profiler cannot tell apart; none for what is no gate's.
    pub gates: Vec<String>,
    /// How many of the samples.
    pub samples: u64,
    /// The share of them, with its interval over blocks.
    pub share: Span,
    /// The share that the bill has for these gates; null where it knows one of them not.
    pub billed: Option<f64>,
}

/// A gate of a bill.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct GateDocument {
    /// Its name.
    pub name: String,
    /// The role that pays for it.
    pub role: String,
    /// How often an operation passes it; null where that was to be counted and was not.
    pub visits: Option<f64>,
    /// Whether they were counted while the path ran.
    pub counted: bool,
    /// The toll's key; null where the gate has none.
    pub toll: Option<String>,
    /// The key of what is taken off that toll because another gate has it.
    pub less: Option<String>,
    /// What one visit costs, in ticks.
    pub a_visit: Option<Span>,
    /// What the gate costs an operation.
    pub cost: Option<Estimate>,
    /// Its share in what was measured end to end; null where another role pays for it.
    pub share: Option<f64>,
    /// Whether the cost is what is saved by switching the gate off, since it cannot be measured alone: it is no part of the
    /// sum.
    #[serde(default)]
    pub knock_out: bool,
    /// Why its cost is not known, and what would help.
    pub unknown: Option<String>,
}

/// What a change of a path brings: how much less an operation costs than in the variant that it changes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ChangeDocument {
    /// The point of the changed variant.
    pub point: i64,
    /// The point of the variant that it changes.
    pub original: i64,
    /// The path.
    pub path: String,
    /// The changed variant.
    pub variant: String,
    /// The variant that it changes.
    pub instead_of: String,
    /// The parameters of both.
    pub params: String,
    /// Those of them that are not their axes' defaults.
    pub departures: String,
    /// What it was predicted to save, from the tolls of the gates: below 0 where it costs more.
    pub predicted: Estimate,
    /// What it saved, measured end to end.
    pub measured: Estimate,
    /// The share of that in what the original cost.
    pub share: f64,
    /// Whether the prediction was in the store before either was measured. Where not, the tolls were measured together
    /// with what they explain.
    pub frozen: bool,
    /// Whether the prediction is within 10 % of what was measured, or one lies in the interval of the other.
    pub holds: bool,
}
