//! What was foretold and what came, for programs.

use serde::Serialize;
use tollway_cipher::twin::Interruptions;
use tollway_core::Result;
use tollway_stats::Interval;
use tollway_store::{Outcome, RunId};

use super::{Fitted, Predicted};
use crate::fitted::asked::Asked;
use crate::fitted::fit::Fit;
use crate::fitted::foreseen;

/// All of it; times in nanoseconds.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PredictDocument {
    /// Of this document's form.
    pub schema_version: u32,
    /// What was done to the bytes.
    pub cipher: String,
    /// Bytes of a request.
    pub size: usize,
    /// The model.
    pub fitted: FittedDocument,
    /// What the machine took of a core while that was measured, between its blocks.
    pub meanwhile: TakenDocument,
    /// What was foretold, and what came, in the order that was asked for.
    pub predicted: Vec<PredictedDocument>,
    /// Runs of the store: the steps, the light loads, what was foretold.
    pub runs: Vec<i64>,
}

/// The fitted model.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FittedDocument {
    /// A service in which nothing interrupts it.
    pub service_ns: f64,
    /// How much longer the first service after a sleep of the card is.
    pub cold_ns: f64,
    /// A service, what the machine takes included.
    pub occupied_ns: f64,
    /// By how much wake-ups are longer than alone.
    pub wakes: f64,
    /// What is left of a response that no step explains.
    pub rest_ns: f64,
    /// What the machine took of a core between the light loads.
    pub taken: TakenDocument,
    /// What it was fitted to.
    pub light: Vec<LightDocument>,
}

/// What the machine takes of a core from a thread that never gives it away.
#[derive(Clone, Copy, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TakenDocument {
    /// How often a second.
    pub rate: f64,
    /// What share of the core's time that is.
    pub share: f64,
    /// What share of it the pieces of 100 µs and more are, which are replayed as they were seen.
    pub long_share: f64,
}

impl From<&Interruptions> for TakenDocument {
    fn from(of: &Interruptions) -> TakenDocument {
        TakenDocument { rate: of.often(), share: of.share(), long_share: of.long_share() }
    }
}

/// A light load.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LightDocument {
    /// Requests a second.
    pub rate: f64,
    /// Median response as it was measured.
    pub median_ns: f64,
    /// The fitted model's median over that, less 1.
    pub off: f64,
}

/// A figure with its 95 % interval.
#[derive(Clone, Copy, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Span {
    /// The figure.
    pub estimate: f64,
    /// Its lower end.
    pub lo: f64,
    /// Its upper end.
    pub hi: f64,
}

impl From<Interval> for Span {
    fn from(Interval { estimate, lo, hi, .. }: Interval) -> Span {
        Span { estimate, lo, hi }
    }
}

/// What became of a figure that was foretold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum OutcomeDocument {
    /// It is near the measured one (a mean within a tenth, a 99th percentile within a fifth), or in its interval.
    Holds,
    /// It is neither.
    Missed,
    /// It is in an interval that is so wide that this shows nothing.
    SaysNothing,
}

impl From<Outcome> for OutcomeDocument {
    fn from(outcome: Outcome) -> OutcomeDocument {
        match outcome {
            Outcome::Holds => OutcomeDocument::Holds,
            Outcome::Missed => OutcomeDocument::Missed,
            Outcome::SaysNothing => OutcomeDocument::SaysNothing,
        }
    }
}

/// A way at a load.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PredictedDocument {
    /// The way of telling.
    pub way: String,
    /// The share of time for which the card is at work, its calls included, as it was foretold; null of tenants that loop.
    pub load: Option<f64>,
    /// Requests a second of each tenant; 0: the next begins when one has ended.
    pub rate: f64,
    /// How many tenants there are.
    pub tenants: u32,
    /// What is known to be off there.
    pub remark: Option<String>,
    /// Requests that were measured.
    pub requests: u64,
    /// Mean response as it was measured, by the means of blocks.
    pub mean_ns: Span,
    /// As it was foretold.
    pub mean_foretold_ns: f64,
    /// What became of that.
    pub mean_outcome: OutcomeDocument,
    /// 99th percentile of a block as it was measured: the median over blocks.
    pub p99_ns: Span,
    /// As it was foretold.
    pub p99_foretold_ns: f64,
    /// What became of that.
    pub p99_outcome: OutcomeDocument,
    /// The mean as the same model has it with what the machine took meanwhile: reckoned afterwards.
    pub mean_meanwhile_ns: f64,
    /// What becomes of that.
    pub mean_meanwhile_outcome: OutcomeDocument,
    /// The 99th percentile as the same model has it with what the machine took meanwhile: reckoned afterwards.
    pub p99_meanwhile_ns: f64,
    /// What becomes of that.
    pub p99_meanwhile_outcome: OutcomeDocument,
    /// The share of time for which the card was at work, as it counted.
    pub load_measured: f64,
    /// Requests that stood at the card, in the mean over time, as the card counted.
    pub queue: f64,
    /// As it was foretold.
    pub queue_foretold: f64,
    /// Interrupts a second as the card counted.
    pub interrupts: f64,
    /// As they were foretold.
    pub interrupts_foretold: f64,
    /// By M/G/1 with set-ups, of the way that was fitted; null of others.
    pub mg1_setup_mean_ns: Option<f64>,
    /// By M/M/1, or M/M/1//N of tenants that loop; null where more comes than can be done.
    pub mm1_mean_ns: Option<f64>,
    /// The same.
    pub mm1_p99_ns: Option<f64>,
    /// p-value of the measured mean against that of M/M/1.
    pub mm1_p: Option<f64>,
    /// Whether M/M/1 is rejected at the level of 5 %.
    pub mm1_rejected: bool,
}

impl PredictDocument {
    pub(super) fn of(
        asked: &Asked<'_>,
        fitted: &Fitted,
        run: RunId,
        meanwhile: &Fit,
        predicted: &[Predicted],
    ) -> Result<PredictDocument> {
        Ok(PredictDocument {
            schema_version: 1,
            cipher: asked.cipher.into(),
            size: asked.size,
            fitted: FittedDocument::from(fitted),
            meanwhile: TakenDocument::from(&meanwhile.taken),
            predicted: predicted.iter().map(PredictedDocument::from).collect(),
            runs: fitted.runs.iter().chain([&run]).map(|run| run.0).collect(),
        })
    }
}

impl PredictedDocument {
    /// Whether both intervals are too wide to show anything.
    pub(super) fn shows_nothing(&self) -> bool {
        [self.mean_outcome, self.p99_outcome] == [OutcomeDocument::SaysNothing; 2]
    }
}

impl From<&Fitted> for FittedDocument {
    fn from(fitted: &Fitted) -> FittedDocument {
        let light = fitted.light.iter().zip(&fitted.fit.off);
        FittedDocument {
            service_ns: fitted.fit.serve,
            cold_ns: fitted.fit.cold,
            occupied_ns: fitted.fit.occupied,
            wakes: fitted.fit.wakes,
            rest_ns: fitted.fit.rest,
            taken: TakenDocument::from(&fitted.fit.taken),
            light: light
                .map(|(light, off)| LightDocument {
                    rate: light.rate,
                    median_ns: light.observed.quantile(0.5),
                    off: *off,
                })
                .collect(),
        }
    }
}

impl From<&Predicted> for PredictedDocument {
    fn from(of: &Predicted) -> PredictedDocument {
        let [mean, p99] = of.meanwhile().map(OutcomeDocument::from);
        PredictedDocument {
            way: of.way.to_string(),
            load: of.load,
            rate: of.rate,
            tenants: of.tenants,
            remark: foreseen::remark(of.tenants).map(String::from),
            requests: of.measured.requests,
            mean_ns: of.measured.mean.into(),
            mean_foretold_ns: of.foreseen.mean,
            mean_outcome: of.mean().into(),
            p99_ns: of.measured.p99.into(),
            p99_foretold_ns: of.foreseen.p99,
            p99_outcome: of.p99().into(),
            mean_meanwhile_ns: of.meanwhile.mean,
            mean_meanwhile_outcome: mean,
            p99_meanwhile_ns: of.meanwhile.p99,
            p99_meanwhile_outcome: p99,
            load_measured: of.measured.load,
            queue: of.measured.queue,
            queue_foretold: of.foreseen.queue,
            interrupts: of.measured.interrupts,
            interrupts_foretold: of.foreseen.interrupts,
            mg1_setup_mean_ns: of.formula,
            mm1_mean_ns: of.mm1.map(|(mean, _)| mean),
            mm1_p99_ns: of.mm1.map(|(_, p99)| p99),
            mm1_p: of.measured.mm1_p,
            mm1_rejected: of.mm1_rejected(),
        }
    }
}
