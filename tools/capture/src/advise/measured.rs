//! What the laboratory measured: of each source its cost a packet, how it batches, what the sender gave, and how long it
//! was kept from reading.

use std::collections::BTreeMap;

use tollway_capture::engine::source::Kind;
use tollway_core::{Params, Registry, Value};
use tollway_stats::summary::quantile;
use tollway_stats::{Interval, figure};
use tollway_store::{Point, PointState, Result, RunId, Store, Trial};

use super::room::Room;
use super::setup::{Asked, Setup};

/// Confidence of all intervals.
pub const CONFIDENCE: f64 = 0.95;

/// Blocks in which advice is tried: what is measured here is to foretell them.
pub const BLOCKS_AHEAD: u32 = 4;

/// One source at one rate.
#[derive(Clone, Debug, PartialEq)]
pub struct Load {
    /// Cycles of the capture's thread a packet, user and system.
    pub cycles: Interval,
    /// Frames per second that the cable carried.
    pub carried: Interval,
    /// Packets that a read brought, on average.
    pub packets_a_read: f64,
    /// The longest time between two reads, in seconds: of all trials.
    pub pause: f64,
    /// Frames dropped, in all trials.
    pub dropped: u64,
}

/// One source, in one way of batching.
#[derive(Clone, Debug, PartialEq)]
pub struct Way {
    /// Which source.
    pub kind: Kind,
    /// Whether each packet was handed over at once.
    pub immediate: bool,
    /// The buffer that it was measured with.
    pub buffer: u64,
    /// At the rate that was asked for, or the study's.
    pub light: Load,
    /// As fast as the sender can.
    pub full: Load,
}

/// All that was measured.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    /// Ticks of the time-stamp counter in a second.
    pub hz: f64,
    /// Share of a processor that a thread gets here which always wants it, in the worst of [`BLOCKS_AHEAD`] trials: a rate
    /// is without loss only where it is in each. From the worst that was seen to the median.
    pub share: Interval,
    /// How long nobody reads for want of a processor, in seconds, at the most: in the worst of [`BLOCKS_AHEAD`] trials, from
    /// the median to the worst that was seen. It is the machine's doing, not a source's.
    pub pause: Interval,
    /// Cycles that one of the application's took, its own caches and interruptions included: about 1.
    pub work: Interval,
    /// The sources, those handed over in batches first.
    pub ways: Vec<Way>,
    /// How many frames buffers hold.
    pub rooms: Vec<(Kind, Room)>,
    /// What could not be measured with any buffer.
    pub left_out: Vec<LeftOut>,
}

/// A source that could not be measured, read so.
#[derive(Clone, Debug, PartialEq)]
pub struct LeftOut {
    /// The source.
    pub kind: Kind,
    /// Whether each packet would have been handed over at once.
    pub immediate: bool,
    /// Why, with the remedy.
    pub why: String,
}

impl Measured {
    /// The source as it was measured in batches or not, with that buffer if it was, else with another.
    pub fn way(&self, kind: Kind, immediate: bool, buffer: u64) -> Option<&Way> {
        let of = |way: &&Way| way.kind == kind && way.immediate == immediate;
        let same = self.ways.iter().filter(of).find(|way| way.buffer == buffer);
        same.or_else(|| self.ways.iter().find(of))
    }

    /// How many frames the buffers of a source hold.
    pub fn room(&self, kind: Kind) -> Option<Room> {
        self.rooms.iter().find(|(of, _)| *of == kind).map(|(_, room)| *room)
    }
}

/// Reads what a run measured of these setups, each at the light rate and at full speed. `warmup_ms`: of each trial.
///
/// # Errors
/// If the store cannot be read, or the setups have other axes.
pub fn read(
    store: &Store,
    run: RunId,
    hz: f64,
    warmup_ms: f64,
    setups: &[Setup],
    asked: &Asked,
    registry: &Registry,
) -> anyhow::Result<Measured> {
    let (points, trials) = (store.points(run)?, store.trials(run)?);
    let mut measured = Measured {
        hz,
        share: share(&trials).unwrap_or(exactly(1.0)),
        pause: exactly(0.0),
        work: exactly(1.0),
        ways: Vec::new(),
        rooms: Vec::new(),
        left_out: Vec::new(),
    };
    for setup in setups {
        let at = |rate: u64| -> anyhow::Result<Result<Load, String>> {
            let params = setup.params(asked, registry, rate)?;
            let point = points.iter().find(|p| p.spec.variant == setup.variant() && p.spec.params == params);
            Ok(point.ok_or_else(|| "it was not measured".into()).and_then(|p| load(p, &trials, warmup_ms)))
        };
        match (at(asked.light_rate() as u64)?, at(0)?) {
            (Ok(light), Ok(full)) => measured.ways.push(Way {
                kind: setup.kind,
                immediate: setup.immediate,
                buffer: setup.buffer,
                light,
                full,
            }),
            (Err(why), _) | (_, Err(why)) => {
                let Setup { kind, immediate, .. } = *setup;
                if !measured.left_out.iter().any(|out| (out.kind, out.immediate) == (kind, immediate)) {
                    measured.left_out.push(LeftOut { kind, immediate, why });
                }
            }
        }
    }
    // At full speed nobody waits for packets.
    let at_full = |trial: &&Trial| {
        let point = points.iter().find(|point| point.id == trial.point);
        let rate = point.and_then(|p| p.spec.params.get("rate").cloned());
        rate == Some(Value::Int(0))
    };
    let pauses: Vec<f64> = trials
        .iter()
        .filter(at_full)
        .map(|trial| Books::of(trial, warmup_ms).gauge("longest_between_reads_ns") as f64 / 1e9)
        .collect();
    measured.pause = pause(&pauses).unwrap_or(exactly(0.0));
    if let Some((setup, params)) = at_work(asked, registry, setups)? {
        let point = points.iter().find(|p| p.spec.variant == setup.variant() && p.spec.params == params);
        let busy = point.and_then(|point| load(point, &trials, warmup_ms).ok());
        if let (Some(busy), Some(way)) = (busy, measured.way(setup.kind, setup.immediate, setup.buffer)) {
            measured.work = less(&busy.cycles, &way.full.cycles, f64::from(asked.work));
        }
    }
    let ways = &measured.ways;
    measured
        .left_out
        .retain(|out| !ways.iter().any(|way| (way.kind, way.immediate) == (out.kind, out.immediate)));
    Ok(measured)
}

type Blocks = BTreeMap<u32, Vec<f64>>;

/// What the trials of a point came to, or why there is nothing.
fn load(point: &Point, trials: &[Trial], warmup_ms: f64) -> Result<Load, String> {
    match &point.state {
        PointState::Skipped(missing) => return Err(missing.to_string()),
        PointState::Failed(why) => return Err(why.clone()),
        PointState::Pending | PointState::Done => {}
    }
    let (mut cycles, mut carried) = (Blocks::new(), Blocks::new());
    let (mut pause, mut dropped, mut packets, mut reads) = (0, 0, 0, 0);
    for trial in trials.iter().filter(|trial| trial.point == point.id) {
        let books = Books::of(trial, warmup_ms);
        cycles.entry(trial.block).or_default().push(trial.mean);
        carried.entry(trial.block).or_default().push(books.carried_per_second);
        pause = pause.max(books.gauge("longest_between_reads_ns"));
        dropped += books.count("dropped");
        packets += books.count("operations");
        reads += books.count("reads");
    }
    match (interval(&cycles), interval(&carried)) {
        (Some(cycles), Some(carried)) => Ok(Load {
            cycles,
            carried,
            packets_a_read: packets as f64 / reads.max(1) as f64,
            pause: pause as f64 / 1e9,
            dropped,
        }),
        _ => Err("it has too few trials for an interval".into()),
    }
}

/// The counts of one trial.
pub struct Books<'t> {
    trial: &'t Trial,
    /// Frames per second that the cable carried, warm-up included.
    pub carried_per_second: f64,
}

impl Books<'_> {
    /// Of a trial that had so many milliseconds of warm-up.
    pub fn of(trial: &Trial, warmup_ms: f64) -> Books<'_> {
        let mut books = Books { trial, carried_per_second: 0.0 };
        let window = trial.actors.iter().find_map(|actor| actor.window_ns).unwrap_or_default() as f64;
        let seconds = window / 1e9 + warmup_ms / 1e3;
        let carried = books.count("sent").saturating_sub(books.count("lost_on_cable"));
        books.carried_per_second = carried as f64 / seconds.max(1e-9);
        books
    }

    /// A counter; those of live variants are all there.
    pub fn count(&self, name: &str) -> u64 {
        self.trial.tally.counters.get(name).copied().unwrap_or_default()
    }

    /// A gauge.
    fn gauge(&self, name: &str) -> u64 {
        self.trial.tally.gauges.get(name).copied().unwrap_or_default()
    }
}

/// Share of a processor that senders got, who never wait.
fn share(trials: &[Trial]) -> Option<Interval> {
    let sender = |trial: &Trial| trial.actors.iter().find(|actor| actor.role == "generator")?.share();
    let shares: Vec<f64> = trials.iter().filter_map(sender).map(|share| share.clamp(0.01, 1.0)).collect();
    let at = |probability: f64| quantile(&shares, probability).ok();
    let worst_ahead = 1.0 / f64::from(BLOCKS_AHEAD + 1);
    Some(Interval { estimate: at(worst_ahead)?, lo: at(0.0)?, hi: at(0.5)?, confidence: CONFIDENCE })
}

/// How long nobody read, by the longest times of trials.
fn pause(pauses: &[f64]) -> Option<Interval> {
    let at = |probability: f64| quantile(pauses, probability).ok();
    let worst_ahead = 1.0 - 1.0 / f64::from(BLOCKS_AHEAD + 1);
    Some(Interval { estimate: at(worst_ahead)?, lo: at(0.5)?, hi: at(1.0)?, confidence: CONFIDENCE })
}

/// The point that tells what the application's work takes: the first source that is read in blocks, at full speed, with it.
/// `None` where there is no work.
pub fn at_work(
    asked: &Asked,
    registry: &Registry,
    setups: &[Setup],
) -> tollway_core::Result<Option<(Setup, Params)>> {
    let Some(setup) = setups.iter().find(|s| s.kind == Kind::TpacketV3).filter(|_| asked.work > 0) else {
        return Ok(None);
    };
    let params = setup.params(asked, registry, 0)?.with("work", u64::from(asked.work));
    Ok(Some((*setup, params)))
}

/// One cost less another that is independent, in units of what it should be.
fn less(of: &Interval, without: &Interval, unit: f64) -> Interval {
    let estimate = of.estimate - without.estimate;
    let below = (of.estimate - of.lo).hypot(without.hi - without.estimate);
    let above = (of.hi - of.estimate).hypot(without.estimate - without.lo);
    // Work that cost less than half of itself was not seen, but noise was.
    let share = |cycles: f64| (cycles / unit).max(0.5);
    Interval { lo: share(estimate - below), hi: share(estimate + above), ..exactly(share(estimate)) }
}

/// The median over blocks, and where that of [`BLOCKS_AHEAD`] more will lie: their scatter is added to its own. Never below
/// a tenth of itself, since what costs nothing would promise everything.
fn interval(blocks: &Blocks) -> Option<Interval> {
    let blocks: Vec<&Vec<f64>> = blocks.values().collect();
    let of = figure(&blocks, CONFIDENCE).ok()?;
    let wider = (1.0 + blocks.len() as f64 / f64::from(BLOCKS_AHEAD)).sqrt();
    let (below, above) = (wider * (of.estimate - of.lo), wider * (of.hi - of.estimate));
    (of.estimate > 0.0).then(|| Interval {
        lo: (of.estimate - below).max(of.estimate / 10.0),
        hi: of.estimate + above,
        ..of
    })
}

/// A figure without doubt.
pub fn exactly(value: f64) -> Interval {
    Interval { estimate: value, lo: value, hi: value, confidence: CONFIDENCE }
}
