//! What was found: the document of `--json`.

use anyhow::Result;
use serde::Serialize;
use tollway_stats::figure;

use super::measure::{Measured, Round};
use crate::args::speed::Speed;

/// Version of the document.
pub const SCHEMA_VERSION: u32 = 1;

/// How fast each source is.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct SpeedDocument {
    /// Version of this form.
    pub schema_version: u32,
    /// Seconds of each measurement.
    pub seconds: f64,
    /// How often each was measured.
    pub runs: u32,
    /// Each source.
    pub sources: Vec<SourceSpeed>,
    /// Sources that this machine lacks or that failed, and why.
    pub skipped: Vec<String>,
}

/// How fast one source is.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct SourceSpeed {
    /// Its name.
    pub source: String,
    /// With 1, 2, 4, … threads, and with the most.
    pub threads: Vec<ThreadsSpeed>,
    /// Bytes a second of one thread.
    pub thread_cap: f64,
    /// The most bytes a second that any number of threads had together.
    pub shared_cap: f64,
    /// What limits it.
    pub limit: Limit,
}

/// What limits a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Limit {
    /// More threads have more: each is limited by itself.
    Thread,
    /// More threads have no more than one: they share it.
    Shared,
    /// More threads have more than one, but not in proportion.
    Both,
    /// Only one number of threads was measured, or the intervals leave it open.
    Unknown,
}

/// A source drawn from by so many threads.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ThreadsSpeed {
    /// How many.
    pub threads: u32,
    /// Bytes a second of all together: median, and the ends of its 95 % interval.
    pub bytes_per_second: Span,
    /// Draws a second of all together, failed ones too: instructions, reads or system calls. The median.
    pub draws_per_second: f64,
    /// Draws that had nothing to give.
    pub failures: u64,
    /// Their share of all draws.
    pub failure_share: f64,
    /// Processors that the threads had, of as many as there were threads.
    pub processors: f64,
}

/// A figure with its interval.
#[derive(Clone, Copy, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Span {
    /// The median.
    pub value: f64,
    /// Lower end of the 95 % interval, 0 at least. Of fewer than 5 runs the interval is wide, and says little.
    pub lo: f64,
    /// Upper end of the 95 % interval.
    pub hi: f64,
}

impl SpeedDocument {
    /// Of what was measured.
    ///
    /// # Errors
    /// A figure has no interval.
    pub fn of(options: &Speed, measured: Vec<Measured>, skipped: Vec<String>) -> Result<SpeedDocument> {
        let mut sources: Vec<SourceSpeed> = Vec::new();
        for one in measured {
            let speed = ThreadsSpeed::of(&one)?;
            match sources.last_mut().filter(|s| s.source == one.source && one.threads > 1) {
                Some(source) => source.threads.push(speed),
                None => sources.push(SourceSpeed {
                    source: one.source,
                    thread_cap: speed.bytes_per_second.value,
                    shared_cap: 0.0,
                    limit: Limit::Unknown,
                    threads: vec![speed],
                }),
            }
        }
        for source in &mut sources {
            source.shared_cap = source.threads.iter().map(|t| t.bytes_per_second.value).fold(0.0, f64::max);
            source.limit = limit(&source.threads);
        }
        Ok(SpeedDocument {
            schema_version: SCHEMA_VERSION,
            seconds: options.time,
            runs: options.runs,
            sources,
            skipped,
        })
    }
}

impl ThreadsSpeed {
    fn of(measured: &Measured) -> Result<ThreadsSpeed> {
        let each = |figure: fn(&Round) -> f64| measured.rounds.iter().map(figure).collect::<Vec<_>>();
        let rates: Vec<_> = each(|r| r.counts.bytes as f64 / r.seconds).into_iter().map(|r| [r]).collect();
        let rate = figure(&rates, 0.95)?;
        let sum = |count: fn(&Round) -> u64| measured.rounds.iter().map(count).sum::<u64>();
        let (draws, failures) = (sum(|r| r.counts.draws), sum(|r| r.counts.failures));
        Ok(ThreadsSpeed {
            threads: measured.threads,
            bytes_per_second: Span { value: rate.estimate, lo: rate.lo.max(0.0), hi: rate.hi },
            draws_per_second: tollway_stats::summary::median(&each(|r| r.counts.draws as f64 / r.seconds))?,
            failures,
            failure_share: failures as f64 / draws.max(1) as f64,
            processors: tollway_stats::summary::median(&each(|r| r.cpu_seconds / r.seconds))?,
        })
    }
}

/// What limits it, by the intervals of one thread and of the most.
fn limit(threads: &[ThreadsSpeed]) -> Limit {
    let (Some(one), Some(most)) = (threads.first(), threads.last().filter(|t| t.threads > 1)) else {
        return Limit::Unknown;
    };
    // How many times what one has the most would have, if each were limited by itself: threads that compute have what
    // their processors allow.
    let computes = one.processors > 0.5;
    let proportion = if computes { most.processors / one.processors } else { f64::from(most.threads) };
    let (one, all) = (one.bytes_per_second, most.bytes_per_second);
    if all.lo > 0.8 * proportion * one.value {
        Limit::Thread
    } else if all.hi < 1.2 * one.value {
        Limit::Shared
    } else if all.lo > one.hi && all.hi < proportion * one.value {
        Limit::Both
    } else {
        Limit::Unknown
    }
}
