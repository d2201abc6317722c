//! What was measured: the document of `--json`, from which the tables are made.

use serde::Serialize;
use tollway_core::Result;
use tollway_host::clock;
use tollway_stats::figure;
use tollway_stats::summary::median;

use super::measure::Measured;
use super::plan::{Plan, Point};
use super::round::Round;
use crate::args::bench::{Bench, Word, word};
use crate::devices::Lack;

/// Version of the document.
pub const SCHEMA_VERSION: u32 = 1;

/// How fast ciphers are by each back end.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct BenchDocument {
    /// Version of this form.
    pub schema_version: u32,
    /// Seconds of each measurement.
    pub seconds: f64,
    /// How often each was to be measured.
    pub runs: u32,
    /// Seed of the order.
    pub seed: u64,
    /// Processors of who asks.
    pub askers: Vec<u32>,
    /// The processor of cards.
    pub card: u32,
    /// Whether it was interrupted: the figures are of what was measured by then.
    pub interrupted: bool,
    /// Why the machine was not quiet meanwhile; absent if it was, or that cannot be told.
    pub noise: Option<String>,
    /// Each point that was measured.
    pub points: Vec<PointSpeed>,
    /// What this machine lacks, and cannot be measured therefore.
    pub skipped: Vec<Lack>,
    /// Points that failed, and why; they have no figure.
    pub failed: Vec<FailedPoint>,
}

/// How fast one point is.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct PointSpeed {
    /// By what: library, copies, inside, neighbour, socket, af-alg, dev-crypto.
    pub by: String,
    /// The kernel's driver that did it; absent where it was not the kernel, or does not tell.
    pub driver: Option<String>,
    /// How its tasks learn of completions; absent where they cannot choose.
    pub waiting: Option<String>,
    /// What is done.
    pub cipher: String,
    /// Bytes of a request.
    pub bytes: usize,
    /// Requests that a task has on their way; absent of a call.
    pub in_flight: Option<usize>,
    /// Threads that ask.
    pub tasks: usize,
    /// How often it was measured.
    pub rounds: usize,
    /// Requests a second of all tasks.
    pub requests_per_second: Figure,
    /// Bytes a second of all tasks.
    pub bytes_per_second: Figure,
    /// Its rate as a part of the library's of the same round; absent where that was not measured.
    pub of_library: Option<Figure>,
    /// Seconds from before a request is written until its result has been read: the median, of each round, and of these the median.
    pub latency_p50: Option<f64>,
    /// The same of the 99th percentile; absent where calls are too short to be timed one by one.
    pub latency_p99: Option<f64>,
}

/// A figure.
#[derive(Clone, Copy, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Figure {
    /// The median of the rounds.
    pub median: f64,
    /// The ends of its 95 % interval; absent of fewer than 5 rounds.
    pub interval: Option<[f64; 2]>,
}

/// A point without a figure.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct FailedPoint {
    /// Which.
    pub point: String,
    /// Why.
    pub reason: String,
}

/// Fewer rounds have no interval worth telling.
const ENOUGH: usize = 5;

impl Figure {
    fn of(values: &[f64]) -> Result<Figure> {
        let wrong = |error: tollway_stats::StatsError| tollway_core::Error::Wrong(error.to_string());
        let middle = median(values).map_err(wrong)?;
        let interval = (values.len() >= ENOUGH).then(|| {
            let blocks: Vec<[f64; 1]> = values.iter().map(|value| [*value]).collect();
            figure(&blocks, 0.95).map(|found| [found.lo.max(0.0), found.hi])
        });
        Ok(Figure { median: middle, interval: interval.transpose().map_err(wrong)? })
    }

    fn times(self, factor: f64) -> Figure {
        let interval = self.interval.map(|ends| ends.map(|end| end * factor));
        Figure { median: self.median * factor, interval }
    }
}

impl BenchDocument {
    pub(super) fn of(options: &Bench, plan: &Plan, measured: Measured) -> Result<BenchDocument> {
        let Measured { points, skipped, failed, interrupted } = measured;
        let hz = clock::hz()?;
        let mut speeds = Vec::new();
        for (point, rounds) in plan.points.iter().zip(&points) {
            if rounds.is_empty() {
                continue;
            }
            let same = |other: &Point| {
                other.by == Word::Library
                    && (other.cipher.name, other.size, other.tasks)
                        == (point.cipher.name, point.size, point.tasks)
            };
            let library = plan.points.iter().position(same).map(|at| &*points[at]);
            speeds.push(PointSpeed::of(point, rounds, library.unwrap_or_default(), hz)?);
        }
        let lacks = plan.skipped.iter().cloned().chain(skipped);
        Ok(BenchDocument {
            schema_version: SCHEMA_VERSION,
            seconds: options.time,
            runs: options.runs,
            seed: options.seed,
            askers: plan.askers.clone(),
            card: plan.card,
            interrupted,
            noise: None,
            points: speeds,
            skipped: lacks.map(Lack::from).collect(),
            failed: failed
                .into_iter()
                .map(|(point, reason)| FailedPoint { point, reason: reason.to_string() })
                .collect(),
        })
    }
}

impl PointSpeed {
    fn of(point: &Point, rounds: &[(u32, Round)], library: &[(u32, Round)], hz: f64) -> Result<PointSpeed> {
        let rates: Vec<f64> = rounds.iter().map(|(_, round)| round.rate).collect();
        let rate = Figure::of(&rates)?;
        let beside = |number: u32| library.iter().find(|(other, _)| *other == number);
        let ratios: Vec<f64> = rounds
            .iter()
            .filter_map(|(number, round)| beside(*number).map(|(_, library)| round.rate / library.rate))
            .collect();
        let seconds = |quantile: f64| {
            let each: Vec<f64> = rounds.iter().filter_map(|(_, r)| r.latency.quantile(quantile)).collect();
            median(&each).ok().map(|ticks| ticks / hz)
        };
        let singly = rounds.iter().all(|(_, round)| round.latency.batch == 1);
        Ok(PointSpeed {
            by: point.by.name().into(),
            driver: rounds.last().and_then(|(_, round)| round.driver.clone()),
            waiting: point.waiting.map(word),
            cipher: point.cipher.name.into(),
            bytes: point.size,
            in_flight: point.in_flight,
            tasks: point.tasks,
            rounds: rounds.len(),
            requests_per_second: rate,
            bytes_per_second: rate.times(point.size as f64),
            of_library: (!ratios.is_empty()).then(|| Figure::of(&ratios)).transpose()?,
            latency_p50: seconds(0.5),
            latency_p99: singly.then(|| seconds(0.99)).flatten(),
        })
    }
}
