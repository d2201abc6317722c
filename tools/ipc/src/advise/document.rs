//! The document of `ipc advise --json`.

use std::collections::BTreeMap;

use serde::Serialize;
use tollway_report::document::Span;

use super::asked::Asked;
use super::choice::{Advice, Waiting};
use super::foretold::Foreseen;
use super::verify::farthest;
use crate::span::{a_second, span};
use crate::step::StepDocument;

/// Advice on requests to another process. Times in nanoseconds, rates a second.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct AdviceDocument {
    /// Version of this form.
    pub schema_version: u32,
    /// How long the server works on a request.
    pub service_ns: f64,
    /// Requests that may be on their way at once.
    pub concurrency: u64,
    /// Processors: 1 or 2.
    pub cores: u32,
    /// Bytes of a message.
    pub size: u64,
    /// Requests that come in a second; null: as many as can be done.
    pub rate: Option<f64>,
    /// Runs of the store that have the tolls.
    pub tolls: Vec<i64>,
    /// The way that is advised.
    pub advised: WayDocument,
    /// The best of the other style; null where nothing is foretold of one.
    pub instead: Option<WayDocument>,
    /// The cost of the other over that of the advised way; null where there is no other.
    pub gain: Option<Span>,
    /// Whether all of that is above 1.
    pub certain: bool,
    /// Requests that are on their way at once: as many as may be, or as the rate takes.
    pub together: u64,
    /// Whether requests come so seldom that ends sleep in between: then each pays its wake-ups, and the times of `advised` and `instead` are how long
    /// one takes, not how soon the next is done.
    pub asleep: bool,
    /// Whether as many a second are done as come, by ends that are awake where they have to be; null where no rate was asked for.
    pub enough: Option<bool>,
    /// What an end does that has nothing to do.
    pub waiting: WaitingDocument,
    /// Where asynchronous requests come below each synchronous way.
    pub crossings: Vec<CrossingDocument>,
    /// What is foretold of every way, at every concurrency.
    pub foretold: Vec<ForetoldWay>,
    /// Ways of which nothing is foretold, and why.
    pub silent: Vec<String>,
    /// What became of it; null without --verify.
    pub verified: Option<VerifiedDocument>,
}

/// A way, and what it costs.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct WayDocument {
    /// What it is called.
    pub way: String,
    /// The path's variant.
    pub variant: String,
    /// Whether it is a synchronous one.
    pub synchronous: bool,
    /// The time from one request that is done to the next.
    pub time_ns: Span,
    /// Requests a second, if one comes upon another.
    pub per_second: Span,
}

/// What an end does that has nothing to do.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct WaitingDocument {
    /// `look`, `sleep`, or `give-way` to the other end on the same core.
    pub advised: String,
    /// How long it has nothing to do.
    pub gap_ns: f64,
    /// How long a sleep and the wake-up from it take; null where that is not known.
    pub wake_ns: Option<f64>,
    /// Requests a second from which on looking is better; null on one core, or where it is not known.
    pub look_from: Option<f64>,
}

/// Where asynchronous requests come below a synchronous way.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct CrossingDocument {
    /// The synchronous way.
    pub below: String,
    /// From how many requests at a time on.
    pub step: StepDocument,
    /// The last step that was looked at.
    pub last: u64,
}

/// A prediction.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ForetoldWay {
    /// Of which way.
    pub way: String,
    /// With so many at a time.
    pub concurrency: u64,
    /// What is foretold.
    pub time_ns: Span,
    /// How often each of these is foretold to be done for a request: `notices` and what else the path counts.
    pub counts: BTreeMap<String, f64>,
    /// By which model.
    pub model: String,
}

/// What was measured of what was foretold.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct VerifiedDocument {
    /// The run of the store that has it, and the predictions.
    pub run: i64,
    /// Each way at each concurrency.
    pub steps: Vec<VerifiedStep>,
    /// What was said, and what became of it.
    pub checks: Vec<CheckDocument>,
}

/// A way at a concurrency.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct VerifiedStep {
    /// Which way.
    pub way: String,
    /// With so many at a time.
    pub concurrency: u64,
    /// What was foretold.
    pub foretold_ns: Span,
    /// What was measured.
    pub measured_ns: Span,
    /// `holds`, `missed` or `says-nothing`; null where that cannot be said.
    pub outcome: Option<String>,
}

/// Something that was said.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct CheckDocument {
    /// What.
    pub what: String,
    /// How much, or from where on, as it was foretold.
    pub foretold: String,
    /// The same as it was measured.
    pub measured: String,
    /// What became of it.
    pub fate: FateDocument,
}

/// What becomes of something that was said.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum FateDocument {
    /// It is so.
    Holds,
    /// It is not.
    Missed,
    /// What was measured leaves both possible.
    NotSeparable,
    /// It could not be measured.
    NotTried,
}

impl FateDocument {
    /// In words.
    pub(super) fn words(self) -> &'static str {
        match self {
            FateDocument::Holds => "holds",
            FateDocument::Missed => "missed",
            FateDocument::NotSeparable => "not separable",
            FateDocument::NotTried => "not tried",
        }
    }
}

impl AdviceDocument {
    pub(super) fn of(asked: &Asked, foreseen: &Foreseen, advice: &Advice, tolls: &[i64]) -> AdviceDocument {
        let way = |way: super::asked::Way| {
            let ticks = foreseen.at(way, advice.together).map(|said| said.ticks());
            let time_ns = span(&ticks.unwrap_or(advice.ticks), foreseen.ns);
            WayDocument {
                way: way.title().into(),
                variant: way.variant().into(),
                synchronous: way.is_sync(),
                time_ns,
                per_second: a_second(&time_ns),
            }
        };
        let waiting = match advice.waiting {
            Waiting::Look => "look",
            Waiting::Sleep => "sleep",
            Waiting::GiveWay => "give-way",
        };
        let last = asked.ladder.last().copied().unwrap_or_default();
        AdviceDocument {
            schema_version: 1,
            service_ns: asked.service_ns,
            concurrency: asked.concurrency,
            cores: asked.cores.number(),
            size: asked.size,
            rate: asked.rate,
            tolls: tolls.to_vec(),
            advised: way(advice.best),
            instead: advice.other.map(way),
            gain: advice.gain.map(|gain| span(&gain, 1.0)),
            certain: advice.is_certain,
            together: advice.together,
            asleep: advice.is_asleep,
            enough: advice.is_enough,
            waiting: WaitingDocument {
                advised: waiting.into(),
                gap_ns: advice.gap_ns,
                wake_ns: advice.wake_ns,
                look_from: advice.look_from,
            },
            crossings: advice
                .crossings
                .iter()
                .map(|crossing| CrossingDocument {
                    below: crossing.below.title().into(),
                    step: crossing.step,
                    last,
                })
                .collect(),
            foretold: foreseen
                .said
                .iter()
                .map(|said| ForetoldWay {
                    way: said.way.title().into(),
                    concurrency: said.concurrency,
                    time_ns: span(&said.ticks(), foreseen.ns),
                    counts: said.forecast.counts.clone(),
                    model: said.forecast.model.clone(),
                })
                .collect(),
            silent: foreseen.silent.iter().map(|(way, why)| format!("{}: {why}", way.title())).collect(),
            verified: None,
        }
    }
}

impl VerifiedDocument {
    /// How far the farthest time is from what was foretold of it.
    pub(super) fn farthest(&self) -> Option<f64> {
        farthest(&self.steps)
    }
}
