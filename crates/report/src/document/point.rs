//! A point in a document: one variant at one point of its axes, with what it costs.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use tollway_core::{Boundary, Missing, Quoted, TollKey, Value};
use tollway_store::{Figure, Outcome, PointRecord, PointState, Prediction};

use super::{
    ChangedDocument, EarlierDocument, Estimate, NoiseDocument, RateDocument, Span, TenantsDocument, rate,
    sharing,
};

/// One variant at one point of its axes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct PointDocument {
    /// Its number in the store.
    pub id: i64,
    /// Which side of a comparison it belongs to.
    pub side: Option<String>,
    /// The path's name.
    pub path: String,
    /// The variant's name.
    pub variant: String,
    /// The value of each axis.
    #[cfg_attr(feature = "schema", schemars(with = "BTreeMap<String, AxisValue>"))]
    pub params: BTreeMap<String, Value>,
    /// The key of the toll that it measures.
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub toll: Option<TollKey>,
    /// The boundary that is crossed.
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub boundary: Option<Boundary>,
    /// What a person calls it.
    pub title: String,
    /// What one operation is.
    pub operation: String,
    /// What a reader of its figures must know.
    pub caveats: String,
    /// `pending`, `done`, `skipped` or `failed`.
    pub state: String,
    /// What the machine lacks, where it was skipped.
    pub skipped: Option<MissingDocument>,
    /// Why it failed; its figures are withheld then.
    pub error: Option<String>,
    /// How many trials it has.
    pub trials: u32,
    /// How many sets of freshly started processes they ran in.
    pub blocks: u32,
    /// Share of quiet trials; null without a trial.
    pub quiet_share: Option<f64>,
    /// Why trials were not quiet, the most frequent reason first.
    #[serde(default)]
    pub noise: Vec<NoiseDocument>,
    /// Share of the windows' time that something else took; null without a trial.
    pub lost_share: Option<f64>,
    /// Operations that one sample covers, the most of any trial; null without a trial.
    pub batch: Option<u32>,
    /// What the quantiles are quantiles of.
    pub samples: SampleKind,
    /// Median over blocks of the median over trials of the trials' medians; null with fewer than two trials.
    pub median: Option<Estimate>,
    /// The median of each block, in nanoseconds, in the order in which they ran.
    #[serde(default)]
    pub blocks_ns: Vec<f64>,
    /// Mean over blocks of the mean over trials of the trials' means; null with fewer than two trials.
    pub mean: Option<Estimate>,
    /// As the median, of the trials' 99th percentiles; null with fewer than two trials.
    pub p99: Option<Estimate>,
    /// The 99.9th percentile of each block's samples, of points that have rates; null with too few samples for it.
    #[serde(default)]
    pub p999: Option<Estimate>,
    /// The unit of its headline; null where its operations yield nothing that is counted by the second.
    #[serde(default)]
    pub unit: Option<String>,
    /// What it gives in a second, the headline first; empty where its operations yield nothing that is counted so.
    #[serde(default)]
    pub rates: Vec<RateDocument>,
    /// The trials' smallest samples: the median of them and the range in which they lie; null with fewer than two trials.
    pub min: Option<Estimate>,
    /// What its actors counted, in all trials together.
    pub counters: BTreeMap<String, u64>,
    /// What a trial came to that does not add up over trials: a jitter, an array's size.
    #[serde(default)]
    pub gauges: BTreeMap<String, GaugeDocument>,
    /// What was predicted before the first trial.
    pub prediction: Option<PredictionDocument>,
    /// What each of its tenants got; null where a single actor was measured, in no guest.
    pub tenants: Option<TenantsDocument>,
    /// How long operations took of each class of its actors; empty where there are none.
    #[serde(default)]
    pub classes: Vec<ClassDocument>,
    /// The same row in earlier runs of the machine, the oldest first: of rows of the score card.
    #[serde(default)]
    pub earlier: Vec<EarlierDocument>,
    /// What of machine and program is not what it was in the last of these.
    #[serde(default)]
    pub changed: Vec<ChangedDocument>,
    /// How narrow its interval is, of a point that is one of those that tell most of its path.
    #[serde(default)]
    pub headline: Option<HeadlineDocument>,
}

/// What trials came to. A name that ends in `_ns` says that it is in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct GaugeDocument {
    /// As the median of a point, of the trials' values.
    pub median: f64,
    /// The ends of its 95 % interval; null with fewer than two trials.
    pub interval: Option<[f64; 2]>,
}

/// How narrow the interval of a headline is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct HeadlineDocument {
    /// Half of its width as a share of the figure, on a scale of ratios; null without a figure.
    pub half_width: Option<f64>,
    /// Why that is more than a headline's is to be; null where it is not.
    pub wide: Option<String>,
}

/// How long operations took of a class of actors. Each figure has its interval over blocks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ClassDocument {
    /// Its name.
    pub name: String,
    /// Operations that were timed, in all trials.
    pub timed: u64,
    /// The mean; null where a block has none.
    pub mean: Option<Estimate>,
    /// The median; null where a block has none.
    pub p50: Option<Estimate>,
    /// The 99th percentile; null where a block has too few samples to have one.
    pub p99: Option<Estimate>,
    /// The 99.9th percentile; null where a block has too few samples to have one.
    pub p999: Option<Estimate>,
}

/// What a value on an axis looks like in JSON.
#[cfg(feature = "schema")]
#[derive(schemars::JsonSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "describes core's type, which has no schema")]
pub(super) enum AxisValue {
    /// Bytes, depths, counts.
    Int(u64),
    /// Rates.
    Real(f64),
    /// A choice by name.
    Text(String),
}

/// What the quantiles of a point are quantiles of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum SampleKind {
    /// Single operations, each timed on its own.
    Operations,
    /// Batches of operations, timed together: what varies within a batch does not show.
    Batches,
}

/// Something that the machine lacks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct MissingDocument {
    /// What is lacking.
    pub what: String,
    /// How that was found.
    pub reason: String,
    /// What would provide it.
    pub remedy: String,
}

/// A prediction, frozen before the first trial of its point.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct PredictionDocument {
    /// When it was made.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub made_at: Timestamp,
    /// What it says, in ticks.
    pub ticks: Span,
    /// What it says, in nanoseconds.
    pub ns: Span,
    /// Of which figure it speaks.
    pub of: QuotedDocument,
    /// What it says that 99 of 100 do not exceed, in nanoseconds; null where it does not.
    pub p99_ns: Option<f64>,
    /// How often it says that each of these counters is counted, per operation.
    pub counts: BTreeMap<String, f64>,
    /// That figure, as it was measured; null where there is none.
    pub measured: Option<Estimate>,
    /// The formula, in words.
    pub model: String,
    /// The tolls that it was made from.
    #[cfg_attr(feature = "schema", schemars(with = "Vec<String>"))]
    pub from: Vec<TollKey>,
    /// What became of it; null while its point has no figure.
    pub grade: Option<GradeDocument>,
}

/// Which figure of a point a prediction speaks of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum QuotedDocument {
    /// The median.
    Median,
    /// The mean, less what something else took meanwhile.
    Work,
    /// What passes on the clock from one operation of an actor to its next, by the mean rate of all measured actors.
    Pace,
    /// The mean of what was timed, waiting included.
    Mean,
}

/// What became of a prediction, against the figure that it speaks of.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct GradeDocument {
    /// Measured over predicted; null where nothing was predicted to cost nothing.
    pub ratio: Option<f64>,
    /// Whether the prediction was borne out.
    pub outcome: OutcomeDocument,
}

/// Whether a prediction was borne out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum OutcomeDocument {
    /// The measured figure lies in the prediction's interval.
    Holds,
    /// It does not.
    Missed,
    /// The interval of the prediction or of the median is so wide that neither is shown.
    SaysNothing,
}

impl PointDocument {
    pub(crate) fn of(record: &PointRecord, hz: f64) -> PointDocument {
        let point = &record.point;
        let spec = &point.spec;
        let (skipped, error) = match &point.state {
            PointState::Skipped(missing) => (Some(missing.into()), None),
            PointState::Failed(error) => (None, Some(error.clone())),
            PointState::Pending | PointState::Done => (None, None),
        };
        // The figure of a point that failed must not be used, so nobody gets to see it.
        let figure = record.figure.as_ref().filter(|_| error.is_none());
        let estimate =
            |interval: Option<tollway_stats::Interval>| interval.map(|i| Estimate::of_ticks(&i, hz));
        let median = estimate(figure.and_then(|f| f.median));
        let batch = record.figure.as_ref().map(|f| f.batch);
        let document = PointDocument {
            id: point.id.0,
            side: spec.side.clone(),
            path: spec.path.clone(),
            variant: spec.variant.clone(),
            params: spec.params.iter().map(|(axis, value)| (axis.into(), value.clone())).collect(),
            toll: spec.toll.clone(),
            boundary: spec.boundary,
            title: spec.title.clone(),
            operation: spec.operation.clone(),
            caveats: spec.caveats.clone(),
            state: point.state.name().into(),
            skipped,
            error,
            trials: point.trials,
            blocks: record.figure.as_ref().map_or(0, |f| f.blocks),
            quiet_share: record.figure.as_ref().map(|f| f.quiet),
            lost_share: lost_share(record),
            batch,
            samples: if batch.unwrap_or(1) > 1 { SampleKind::Batches } else { SampleKind::Operations },
            median,
            mean: estimate(figure.and_then(|f| f.mean)),
            p99: estimate(figure.and_then(|f| f.p99)),
            p999: None,
            blocks_ns: figure.map(|_| blocks(record, hz)).unwrap_or_default(),
            noise: super::run::noise_of(record.measured.iter()),
            unit: spec.yields.first().map(|first| first.unit.per_second().into()),
            rates: figure.map(|_| rate::of(record)).unwrap_or_default(),
            min: figure.and_then(|_| smallest(record)).map(|i| Estimate::of_ticks(&i, hz)),
            counters: crate::counted::totals(record),
            gauges: crate::counted::gauges(record),
            prediction: record.prediction.as_ref().map(|p| PredictionDocument::of(p, figure, hz)),
            tenants: figure.and_then(|_| TenantsDocument::of(record)),
            classes: figure.map(|_| crate::classes::of(record, hz)).unwrap_or_default(),
            earlier: Vec::new(),
            changed: Vec::new(),
            headline: None,
        };
        PointDocument { headline: crate::headline::of(record, &document), ..document }
    }

    /// Whether it belongs to a curve of those who share something, which shows what it is about.
    pub(crate) fn on_a_curve(&self) -> bool {
        let is_foretold =
            self.prediction.as_ref().is_some_and(|p| p.of == QuotedDocument::Pace && p.measured.is_some());
        is_foretold && self.params.contains_key(sharing::TENANTS)
    }

    /// Whether its figures come mostly from trials that were not quiet.
    pub(crate) fn noisy(&self) -> bool {
        self.quiet_share.is_some_and(|share| share < crate::price_list::QUIET_ENOUGH)
    }
}

/// The median over each block's trials of their medians, in nanoseconds.
fn blocks(record: &PointRecord, hz: f64) -> Vec<f64> {
    let mut blocks: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
    for trial in &record.measured {
        blocks.entry(trial.block).or_default().push(trial.median);
    }
    let middle = |trials: &Vec<f64>| tollway_stats::summary::median(trials).ok();
    blocks.values().filter_map(middle).map(|ticks| ticks * 1e9 / hz).collect()
}

/// The figure of the trials' smallest samples, made like that of their medians.
fn smallest(record: &PointRecord) -> Option<tollway_stats::Interval> {
    let mut blocks: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
    for trial in &record.measured {
        blocks.entry(trial.block).or_default().push(trial.min);
    }
    tollway_stats::figure(&blocks.into_values().collect::<Vec<_>>(), 0.95).ok()
}

/// Time lost in all windows over the time that its operations took.
fn lost_share(record: &PointRecord) -> Option<f64> {
    let lost: f64 = record.measured.iter().map(|t| t.lost_ticks).sum();
    let spent: f64 = record.measured.iter().map(|t| t.mean * t.ops as f64).sum();
    (spent > 0.0).then(|| (lost / spent).clamp(0.0, 1.0))
}

impl From<&Missing> for MissingDocument {
    fn from(missing: &Missing) -> Self {
        MissingDocument {
            what: missing.what.clone(),
            reason: missing.reason.clone(),
            remedy: missing.remedy.clone(),
        }
    }
}

impl PredictionDocument {
    fn of(prediction: &Prediction, figure: Option<&Figure>, hz: f64) -> PredictionDocument {
        let forecast = &prediction.forecast;
        let ticks = Span { estimate: forecast.ticks, lo: forecast.lo, hi: forecast.hi };
        PredictionDocument {
            made_at: prediction.made_at,
            ticks,
            ns: ticks.times(1e9 / hz),
            of: match forecast.of {
                Quoted::Median => QuotedDocument::Median,
                Quoted::Work => QuotedDocument::Work,
                Quoted::Pace => QuotedDocument::Pace,
                Quoted::Mean => QuotedDocument::Mean,
            },
            p99_ns: forecast.p99.map(|ticks| ticks * 1e9 / hz),
            counts: forecast.counts.clone(),
            measured: figure.and_then(|f| f.foretold).map(|i| Estimate::of_ticks(&i, hz)),
            model: forecast.model.clone(),
            from: forecast.from.clone(),
            grade: figure.and_then(|f| f.grade).map(|g| GradeDocument {
                ratio: g.ratio,
                outcome: match g.outcome {
                    Outcome::Holds => OutcomeDocument::Holds,
                    Outcome::Missed => OutcomeDocument::Missed,
                    Outcome::SaysNothing => OutcomeDocument::SaysNothing,
                },
            }),
        }
    }
}
