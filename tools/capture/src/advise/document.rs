//! The document of `capture advise --json`.

use serde::Serialize;
use tollway_stats::Interval;

use super::apply::{Outcome, Tried};
use super::capacity::{Limit, Predicted};
use super::choice::{Advice, Part, Worth};
use super::measured::{Load, Measured};
use super::setup::{Asked, Setup, source_word};

/// Advice on a capture. Rates are frames per second, cycles ticks of the time-stamp counter.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct AdviceDocument {
    /// Version of this form.
    pub schema_version: u32,
    /// What was asked.
    pub asked: AskedDocument,
    /// The run of the store that has the measurements.
    pub run: i64,
    /// Ticks of the time-stamp counter in a second.
    pub hz: f64,
    /// Share of a processor that a thread gets here which always wants it: in the worst of four trials, from the worst to
    /// the median.
    pub processor_share: Figure,
    /// How long nobody reads here for want of a processor, in seconds: in the worst of four trials, from the median to the
    /// worst.
    pub pause_seconds: Figure,
    /// What is advised.
    pub advised: PredictedDocument,
    /// What today's way is predicted to do; null where it could not be measured.
    pub now: Option<PredictedDocument>,
    /// What to change, the first first.
    pub changes: Vec<ChangeDocument>,
    /// What was measured of each source.
    pub sources: Vec<SourceFigures>,
    /// Sources that could not be measured.
    pub left_out: Vec<LeftOut>,
    /// What became of the predictions; null without --apply.
    pub applied: Option<AppliedDocument>,
}

/// An estimate with its 95 % interval.
#[derive(Clone, Copy, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Figure {
    /// The estimate.
    pub estimate: f64,
    /// Lower end.
    pub lo: f64,
    /// Upper end.
    pub hi: f64,
}

/// What was asked.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct AskedDocument {
    /// Frames per second; null: as many as possible.
    pub rate: Option<f64>,
    /// Bytes of a frame without its check sequence.
    pub size: u64,
    /// The filter.
    pub filter: String,
    /// Cycles of the application a packet.
    pub work: u32,
    /// Length of a stall, in milliseconds.
    pub stall_ms: f64,
    /// How long a packet may wait for others, in milliseconds.
    pub delay_ms: u32,
    /// Processors that may capture.
    pub cores: u32,
    /// Whether AF_XDP may be advised.
    pub bypass: bool,
}

/// A way to capture.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct SetupDocument {
    /// The word of `--source`.
    pub source: String,
    /// Bytes of memory for packets that wait, on each core.
    pub buffer: u64,
    /// Whether each packet is handed over at once.
    pub immediate: bool,
    /// How long packets may wait for others, in milliseconds.
    pub patience_ms: u32,
    /// Processors that capture.
    pub cores: u32,
}

/// What a way to capture is predicted to do.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct PredictedDocument {
    /// Which.
    pub setup: SetupDocument,
    /// Cycles a packet, application included.
    pub cycles: Figure,
    /// What its processors take.
    pub processor: Figure,
    /// What its buffers take: at more they are full before a pause is over.
    pub buffer: Figure,
    /// What the sender gives.
    pub sender: Figure,
    /// The largest rate without loss: the least of these.
    pub rate: Figure,
    /// What sets it.
    pub limit: Limit,
}

/// One change, made after those before it.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ChangeDocument {
    /// What is changed.
    pub what: Part,
    /// From what.
    pub from: String,
    /// To what.
    pub to: String,
    /// What it leads to.
    pub after: PredictedDocument,
    /// How many times as good: by the rate, or where both take what was asked for by cycles.
    pub gain: Figure,
    /// Whether it is worth it.
    pub worth: Worth,
}

/// What was measured of a source.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct SourceFigures {
    /// The word of `--source`.
    pub source: String,
    /// Whether each packet was handed over at once.
    pub immediate: bool,
    /// Bytes of the buffer.
    pub buffer: u64,
    /// Bytes of a buffer for each frame; null where that could not be measured.
    pub bytes_a_frame: Option<f64>,
    /// At the rate asked for, else at 148,809 frames per second.
    pub light: LoadDocument,
    /// As fast as the sender can.
    pub full: LoadDocument,
}

/// A source at one rate.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct LoadDocument {
    /// Cycles of the capture's thread a packet, without the application's work.
    pub cycles: Figure,
    /// Frames per second that the cable carried.
    pub carried: Figure,
    /// Packets a read.
    pub packets_a_read: f64,
    /// The longest time between two reads, in seconds.
    pub pause_seconds: f64,
    /// Frames dropped, in all trials.
    pub dropped: u64,
}

/// A source that could not be measured, read so.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct LeftOut {
    /// The word of `--source`.
    pub source: String,
    /// Whether each packet would have been handed over at once.
    pub immediate: bool,
    /// Why, and the remedy.
    pub why: String,
}

/// Predicted against measured.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct AppliedDocument {
    /// The run of the store that has the trials, and the predictions that were frozen before them.
    pub run: i64,
    /// The ways that were tried: the advised one first.
    pub ways: Vec<TriedDocument>,
}

/// A way that was tried.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct TriedDocument {
    /// What was predicted.
    pub predicted: PredictedDocument,
    /// The largest rate in all of whose trials, and in those of all lower rates, nothing was lost; null: something was always.
    pub without_loss: Option<f64>,
    /// The smallest rate at which something was lost; null: nothing ever was, up to what the sender gives.
    pub with_loss: Option<f64>,
    /// What became of the prediction of the rate.
    pub outcome: Outcome,
    /// Cycles a packet at the largest rate without loss, application included, as measured; null: unknown.
    pub cycles: Option<Figure>,
    /// What had been predicted for that.
    pub cycles_predicted: Option<Figure>,
    /// Each rate.
    pub rates: Vec<TriedRate>,
}

/// One rate of a way that was tried.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct TriedRate {
    /// Frames per second that were asked of the sender; 0: as many as it can.
    pub asked: u64,
    /// Frames per second that the cable carried, on average.
    pub carried: f64,
    /// Trials.
    pub trials: u32,
    /// Trials in which nothing was dropped.
    pub without_loss: u32,
    /// Trials in which reading kept up: what waited at the end was no more than came within a short while.
    pub kept_up: u32,
    /// Frames dropped, in all trials.
    pub dropped: u64,
}

impl From<Interval> for Figure {
    fn from(of: Interval) -> Figure {
        Figure { estimate: of.estimate, lo: of.lo, hi: of.hi }
    }
}

impl From<&Setup> for SetupDocument {
    fn from(of: &Setup) -> SetupDocument {
        let Setup { buffer, immediate, patience, cores, kind } = *of;
        SetupDocument { source: source_word(kind).into(), buffer, immediate, patience_ms: patience, cores }
    }
}

impl From<&Predicted> for PredictedDocument {
    fn from(of: &Predicted) -> PredictedDocument {
        PredictedDocument {
            setup: (&of.setup).into(),
            cycles: of.cycles.into(),
            processor: of.processor.into(),
            buffer: of.buffer.into(),
            sender: of.sender.into(),
            rate: of.rate.into(),
            limit: of.limit,
        }
    }
}

impl From<&Load> for LoadDocument {
    fn from(of: &Load) -> LoadDocument {
        LoadDocument {
            cycles: of.cycles.into(),
            carried: of.carried.into(),
            packets_a_read: of.packets_a_read,
            pause_seconds: of.pause,
            dropped: of.dropped,
        }
    }
}

impl From<&Asked> for AskedDocument {
    fn from(of: &Asked) -> AskedDocument {
        AskedDocument {
            rate: of.rate,
            size: of.size,
            filter: of.filter.into(),
            work: of.work,
            stall_ms: of.stall.as_secs_f64() * 1e3,
            delay_ms: of.delay,
            cores: of.cores,
            bypass: of.bypass,
        }
    }
}

impl From<&Tried> for TriedDocument {
    fn from(of: &Tried) -> TriedDocument {
        TriedDocument {
            predicted: (&of.predicted).into(),
            without_loss: of.without_loss,
            with_loss: of.with_loss,
            outcome: of.outcome,
            cycles: of.cycles.map(Figure::from),
            cycles_predicted: of.cycles_predicted.map(Figure::from),
            rates: of.rates.clone(),
        }
    }
}

impl AdviceDocument {
    /// Of all that is known before anything was applied.
    pub fn of(asked: &Asked, run: i64, measured: &Measured, advice: &Advice) -> AdviceDocument {
        let source = |way: &super::measured::Way| SourceFigures {
            source: source_word(way.kind).into(),
            immediate: way.immediate,
            buffer: way.buffer,
            bytes_a_frame: measured.room(way.kind).map(|room| room.bytes),
            light: (&way.light).into(),
            full: (&way.full).into(),
        };
        let change = |change: &super::choice::Change| ChangeDocument {
            what: change.what,
            from: change.from.clone(),
            to: change.to.clone(),
            after: (&change.after).into(),
            gain: change.gain.into(),
            worth: change.worth,
        };
        let left_out = |out: &super::measured::LeftOut| LeftOut {
            source: source_word(out.kind).into(),
            immediate: out.immediate,
            why: out.why.clone(),
        };
        AdviceDocument {
            schema_version: 1,
            asked: asked.into(),
            run,
            hz: measured.hz,
            processor_share: measured.share.into(),
            pause_seconds: measured.pause.into(),
            advised: (&advice.best).into(),
            now: advice.now.as_ref().map(PredictedDocument::from),
            changes: advice.changes.iter().map(change).collect(),
            sources: measured.ways.iter().map(source).collect(),
            left_out: measured.left_out.iter().map(left_out).collect(),
            applied: None,
        }
    }
}
