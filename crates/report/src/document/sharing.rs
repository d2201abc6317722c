//! What many get who share something, against what two caps say: min(c₁, C/n).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use tollway_core::{ActorRecord, Sharing, Value};
use tollway_store::{PointRecord, RunRecord};

use super::{PointDocument, Span};

/// The axis that counts who shares; it is what varies in a curve.
pub(super) const TENANTS: &str = "tenants";

/// Points that differ only in how many share something. Rates are in what an operation gives, per second.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct SharingDocument {
    /// The path.
    pub path: String,
    /// The variant.
    pub variant: String,
    /// What the points have in common.
    #[cfg_attr(feature = "schema", schemars(with = "BTreeMap<String, serde_json::Value>"))]
    pub params: BTreeMap<String, Value>,
    /// The unit of the rates: `bit/s of seed-grade entropy`.
    pub gives: String,
    /// How much of it an operation a second is.
    pub amount: f64,
    /// Processors that the tenants had.
    pub processors: u32,
    /// The rate of one alone, c₁, that the predictions were made with.
    pub alone: f64,
    /// The rate of all together, C, that the predictions were made with.
    pub together: f64,
    /// What was published of the same, on another machine; null where nothing was.
    pub published: Option<PublishedDocument>,
    /// Tenants from which on they share, C/c₁: not before one, and not beyond the processors where each has a cap of its own.
    pub break_point: f64,
    /// By number of tenants.
    pub points: Vec<SharedPoint>,
    /// How far measured rates are from those predicted for the processor time that tenants got; null where that is not known.
    pub error: Option<ErrorsDocument>,
    /// How far they are from those predicted for a fair share of the processors.
    pub unscaled_error: ErrorsDocument,
    /// Trials in which a tenant got nothing.
    pub starved_trials: u32,
}

/// A published curve of the same law.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct PublishedDocument {
    /// Where, and on what machine.
    pub source: String,
    /// The cap of each.
    pub one: f64,
    /// The cap of all together.
    pub shared: f64,
}

/// How far off predictions are, as shares of what was predicted, without sign.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ErrorsDocument {
    /// The median over the points.
    pub median: f64,
    /// The greatest.
    pub greatest: f64,
    /// With how many tenants that was.
    pub greatest_at: u32,
}

/// So many that share.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct SharedPoint {
    /// The point's number in the store.
    pub id: i64,
    /// How many share.
    pub tenants: u32,
    /// What each was predicted to get, with a fair share of the processors; frozen before the first trial.
    pub predicted: f64,
    /// Share of a processor that each got, on average; null where that is not known.
    pub share: Option<f64>,
    /// What each was predicted to get with that share, from the same frozen caps.
    pub predicted_for_share: Option<f64>,
    /// What each got, on average.
    pub measured: Span,
    /// Measured over predicted for the share, less one.
    pub error: Option<f64>,
    /// Measured over predicted, less one.
    pub unscaled_error: f64,
    /// What each tenant got: the median over all trials.
    pub each: Vec<f64>,
    /// Trials in which a tenant got nothing.
    pub starved_trials: u32,
    /// What tenants counted, all together.
    pub counters: BTreeMap<String, u64>,
}

/// All curves of a run.
pub(crate) fn of_run(record: &RunRecord, points: &[PointDocument]) -> Vec<SharingDocument> {
    let mut curves: Vec<SharingDocument> = Vec::new();
    let hz = record.run.spec.hz;
    for (record, point) in record.points.iter().zip(points) {
        let Some(sharing) = record.prediction.as_ref().and_then(|p| p.forecast.sharing.as_ref()) else {
            continue;
        };
        let Some(shared) = SharedPoint::of(record, point, sharing, hz) else { continue };
        let mut params = point.params.clone();
        params.remove(TENANTS);
        let same = |curve: &&mut SharingDocument| {
            (&curve.path, &curve.variant, &curve.params) == (&point.path, &point.variant, &params)
        };
        match curves.iter_mut().find(same) {
            Some(curve) => curve.points.push(shared),
            None => curves.push(SharingDocument {
                path: point.path.clone(),
                variant: point.variant.clone(),
                params,
                gives: sharing.gives.clone(),
                amount: sharing.amount,
                processors: sharing.processors,
                alone: sharing.amount * hz / sharing.alone,
                together: sharing.amount * hz / sharing.together,
                published: sharing.published.as_ref().map(|law| PublishedDocument {
                    source: law.source.clone(),
                    one: law.one,
                    shared: law.shared,
                }),
                break_point: (sharing.alone / sharing.together).max(1.0),
                points: vec![shared],
                error: None,
                unscaled_error: ErrorsDocument { median: 0.0, greatest: 0.0, greatest_at: 0 },
                starved_trials: 0,
            }),
        }
    }
    for curve in &mut curves {
        curve.points.sort_by_key(|p| p.tenants);
        let all = || curve.points.iter();
        let scaled: Option<Vec<(u32, f64)>> = all().map(|p| Some((p.tenants, p.error?))).collect();
        let unscaled: Vec<(u32, f64)> = all().map(|p| (p.tenants, p.unscaled_error)).collect();
        curve.error = scaled.as_deref().and_then(ErrorsDocument::of);
        curve.starved_trials = all().map(|p| p.starved_trials).sum();
        if let Some(errors) = ErrorsDocument::of(&unscaled) {
            curve.unscaled_error = errors;
        }
    }
    curves
}

impl ErrorsDocument {
    fn of(signed: &[(u32, f64)]) -> Option<ErrorsDocument> {
        let sizes: Vec<f64> = signed.iter().map(|(_, e)| e.abs()).collect();
        let (at, greatest) = signed.iter().max_by(|(_, a), (_, b)| a.abs().total_cmp(&b.abs()))?;
        let median = tollway_stats::summary::median(&sizes).ok()?;
        Some(ErrorsDocument { median, greatest: greatest.abs(), greatest_at: *at })
    }
}

impl SharedPoint {
    fn of(record: &PointRecord, point: &PointDocument, sharing: &Sharing, hz: f64) -> Option<SharedPoint> {
        let pace = point.prediction.as_ref()?.measured?.ticks;
        // A pace is ticks an operation: its reciprocal is a rate, with the ends of its interval exchanged.
        let rate = |ticks: f64| sharing.amount * hz / ticks;
        let measured = Span { estimate: rate(pace.estimate), lo: rate(pace.hi), hi: rate(pace.lo) };
        let mut each: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
        let mut shares = Vec::new();
        let mut starved_trials = 0;
        for trial in &record.measured {
            let measured = || trial.actors.iter().filter(|a| a.ops.is_some());
            for actor in measured() {
                each.entry(actor.number).or_default().extend(actor.rate());
            }
            shares.push(mean(measured().map(ActorRecord::share)));
            starved_trials += u32::from(measured().any(|a| a.ops == Some(0)));
        }
        let share = mean(shares.into_iter()).filter(|share| *share > 0.0);
        let predicted = rate(sharing.pace(sharing.fair_share()));
        let predicted_for_share = share.map(|share| rate(sharing.pace(share.min(1.0))));
        Some(SharedPoint {
            id: point.id,
            tenants: sharing.tenants,
            predicted,
            share,
            predicted_for_share,
            measured,
            error: predicted_for_share.map(|p| measured.estimate / p - 1.0),
            unscaled_error: measured.estimate / predicted - 1.0,
            each: each
                .into_values()
                .filter_map(|rates| tollway_stats::summary::median(&rates).ok())
                .map(|rate| sharing.amount * rate)
                .collect(),
            starved_trials,
            counters: point.counters.clone(),
        })
    }
}

/// The mean; `None` where one is not known, or there is none.
fn mean(values: impl Iterator<Item = Option<f64>>) -> Option<f64> {
    let values: Option<Vec<f64>> = values.collect();
    tollway_stats::summary::mean(&values?).ok()
}
