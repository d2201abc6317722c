//! The document of a comparison.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use tollway_core::{Boundary, TollKey, Value};

use super::{Estimate, Range, Span};

/// Everything that a comparison of A with B says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", schemars(title = "A comparison by Tollway"))]
pub struct ComparisonDocument {
    /// The version of this document.
    pub schema_version: u32,
    /// `paired`: trials of both sides, side by side in one run; `unpaired`: two runs.
    pub pairing: String,
    /// What is compared with.
    pub a: SideDocument,
    /// What is compared.
    pub b: SideDocument,
    /// Ratios between 1 / (1 + margin) and 1 + margin count as the same.
    pub margin: f64,
    /// Share of the differences, and of the equivalences, found that may be false.
    pub false_discovery_rate: f64,
    /// What a reader must know before believing it.
    pub notes: Vec<String>,
    /// In what the machines of the two sides differ.
    pub machine_differences: Vec<Difference>,
    /// The points that both sides have, in the order of A.
    pub figures: Vec<ComparedDocument>,
    /// The points that only one side has.
    pub only: Vec<OnlyIn>,
}

/// One side of a comparison.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct SideDocument {
    /// How it is called.
    pub label: String,
    /// The number of its run.
    pub run: i64,
    /// What a person calls its run.
    pub title: String,
    /// When its run began.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub started: Timestamp,
    /// Tollway's version.
    pub version: String,
    /// The machine.
    pub machine: String,
}

/// One field of the fingerprint that differs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Difference {
    /// Where it stands in the fingerprint.
    pub field: String,
    /// What A has there; null where it has nothing.
    pub a: serde_json::Value,
    /// What B has there; null where it has nothing.
    pub b: serde_json::Value,
}

/// A point that both sides have.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ComparedDocument {
    /// The path's name.
    pub path: String,
    /// The variant's name.
    pub variant: String,
    /// The value of each axis.
    #[cfg_attr(feature = "schema", schemars(with = "BTreeMap<String, super::point::AxisValue>"))]
    pub params: BTreeMap<String, Value>,
    /// The key of the toll that it measures.
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub toll: Option<TollKey>,
    /// The boundary that is crossed.
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub boundary: Option<Boundary>,
    /// What a person calls it.
    pub title: String,
    /// The median of A.
    pub a: Option<Estimate>,
    /// The median of B.
    pub b: Option<Estimate>,
    /// The rates of A and of B, of points that yield something by the second: then the ratio is theirs, and higher is better.
    #[serde(default)]
    pub rates: Option<ComparedRates>,
    /// B over A; null where it cannot be given, and `why` says why.
    pub ratio: Option<RatioDocument>,
    /// Why there is no ratio.
    pub why: Option<String>,
    /// Of a paired comparison B over A of the trials side by side, block by block; null of two runs. The ratio is made of these, and
    /// not of the medians of A and of B, each over all of its trials.
    #[serde(default)]
    pub pairs: Option<Range>,
    /// Trials of A and of B that entered; for a paired comparison the pairs, twice.
    pub trials: [u32; 2],
    /// Share of quiet trials among all of both sides; null without a trial.
    pub quiet_share: Option<f64>,
    /// Why most of the others were not quiet.
    pub noise: Option<String>,
}

/// What two sides give in a second.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ComparedRates {
    /// Of what.
    pub unit: String,
    /// A; null with too few trials.
    pub a: Option<Span>,
    /// B; null with too few trials.
    pub b: Option<Span>,
}

/// How far two ratios differ, in logarithms, for a reader to see it in figures of three digits.
const SEEN: f64 = 0.02;

impl ComparedDocument {
    /// B over A of the two figures that are shown, where that lies outside of the interval of the ratio and a
    /// reader of three digits sees it: who divides them must be told why.
    pub(crate) fn unlike_its_columns(&self) -> Option<f64> {
        let found = self.ratio.as_ref()?;
        let (a, b) = match &self.rates {
            Some(rates) => (rates.a?.estimate, rates.b?.estimate),
            None => (self.a?.ns.estimate, self.b?.ns.estimate),
        };
        let shown = b / a;
        let is_seen = (shown / found.b_over_a.estimate).ln().abs() > SEEN;
        (is_seen && !(found.b_over_a.lo..=found.b_over_a.hi).contains(&shown)).then_some(shown)
    }

    /// How many times as dear B is as A, of rates the reciprocal, and the adjusted p-value against "no difference".
    pub(crate) fn dearer(&self) -> Option<(Span, f64)> {
        let ratio = self.ratio.as_ref()?;
        let one = Span { estimate: 1.0, lo: 1.0, hi: 1.0 };
        let span = if self.rates.is_some() { one.over(ratio.b_over_a)? } else { ratio.b_over_a };
        Some((span, ratio.q_different))
    }
}

/// A ratio and what may be said of it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct RatioDocument {
    /// B over A, with its interval.
    pub b_over_a: Span,
    /// Share of such intervals that hold the true value.
    pub confidence: f64,
    /// The word for it: lower is better, of rates higher.
    pub verdict: VerdictDocument,
    /// p-value against "no difference".
    pub p_different: f64,
    /// The same, adjusted for all figures of the comparison.
    pub q_different: f64,
    /// p-value against "outside the margin".
    pub p_same: f64,
    /// The same, adjusted for all figures of the comparison.
    pub q_same: f64,
    /// Blocks that it rests on, the fewer of the two sides.
    pub blocks: u32,
}

/// What may be said of B against A.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum VerdictDocument {
    /// Shown to lie within the margin.
    Same,
    /// B costs less.
    Better,
    /// B costs more.
    Worse,
    /// Neither could be shown: measure more.
    NotSeparable,
}

impl VerdictDocument {
    /// As a person reads it.
    pub fn word(self) -> &'static str {
        match self {
            VerdictDocument::Same => "same",
            VerdictDocument::Better => "better",
            VerdictDocument::Worse => "worse",
            VerdictDocument::NotSeparable => "not separable",
        }
    }
}

/// A point that only one side has.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct OnlyIn {
    /// The label of the side that has it.
    pub side: String,
    /// The path's name.
    pub path: String,
    /// The variant's name.
    pub variant: String,
    /// What a person calls it.
    pub title: String,
}
