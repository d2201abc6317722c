//! The document of how rows went from run to run.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use tollway_core::Value;

use super::Span;

/// How figures went from run to run on one machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", schemars(title = "Rows of Tollway over time"))]
pub struct HistoryDocument {
    /// The version of this document.
    pub schema_version: u32,
    /// False: the runs were measured at different times, so that what happened between them is in every ratio.
    pub paired: bool,
    /// The machine's id in the newest of these runs.
    pub machine: String,
    /// Runs of other machines that have such rows, and are left out.
    pub runs_elsewhere: u64,
    /// The rows, in the order of the newest run that has them.
    pub rows: Vec<RowHistoryDocument>,
}

/// A row and its runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct RowHistoryDocument {
    /// The path's name.
    pub path: String,
    /// The variant's name.
    pub variant: String,
    /// The value of each axis.
    #[cfg_attr(feature = "schema", schemars(with = "BTreeMap<String, super::point::AxisValue>"))]
    pub params: BTreeMap<String, Value>,
    /// Which side of a comparison it was.
    pub side: Option<String>,
    /// What a person calls it.
    pub title: String,
    /// `ns` for an operation, or what is counted in a second: `B/s`, `IO/s` …
    pub unit: String,
    /// Whether more of it is better.
    pub more_is_better: bool,
    /// Its runs, the oldest first.
    pub runs: Vec<MomentDocument>,
}

/// A row in one run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct MomentDocument {
    /// The run's number in the store.
    pub run: i64,
    /// What a person calls the run.
    pub title: String,
    /// When it began.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub started: Timestamp,
    /// The figure with its interval (95 %): the headline rate, else the median.
    pub figure: Span,
    /// How many trials it is made of.
    pub trials: u32,
    /// In how many sets of freshly started processes.
    pub blocks: u32,
    /// Share of quiet trials.
    pub quiet_share: f64,
    /// Why trials were not quiet: the most frequent reason.
    pub noise: Option<String>,
    /// Against the run before; null in the first.
    pub before: Option<SinceDocument>,
    /// Against the best of these runs; null in that one.
    pub best: Option<SinceDocument>,
    /// What of machine and program is not what it was in the run before.
    pub changed: Vec<ChangedDocument>,
}

/// A row of a run's score card in an earlier run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct EarlierDocument {
    /// The run's number in the store.
    pub run: i64,
    /// When it began.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub started: Timestamp,
    /// The figure with its interval (95 %), in the unit of the row's headline, else in nanoseconds.
    pub figure: Span,
    /// Share of quiet trials.
    pub quiet_share: f64,
    /// What of machine and program is not what it was in the run before.
    pub changed: Vec<ChangedDocument>,
}

/// A figure over that of another run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct SinceDocument {
    /// The other run.
    pub run: i64,
    /// This figure over that one, its ends those of the least favourable case; null where the other's interval reaches zero.
    pub ratio: Option<Span>,
    /// Whether it can be told from that one.
    pub verdict: SinceVerdict,
}

/// What became of a figure since another run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum SinceVerdict {
    /// It is better: the intervals do not meet.
    Better,
    /// It is worse: the intervals do not meet.
    Worse,
    /// The intervals meet.
    NotSeparable,
}

/// Something of machine or program that is not what it was.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ChangedDocument {
    /// `kernel`, `microcode`, `tollway`, `governor` …
    pub what: String,
    /// What it was; null where that is unknown.
    pub from: Option<String>,
    /// What it is; null where that is unknown.
    pub to: Option<String>,
}
