//! `tollway cipher bench`: how fast ciphers are by everything that does them, in turns: the library, cards, the kernel.

mod card;
mod document;
mod drivers;
mod kernel;
pub(crate) mod library;
mod measure;
mod neighbour;
mod plan;
mod round;
mod table;
mod tenant;
mod texts;

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use anyhow::Result;
use serde::Serialize;
use tollway_core::Error;
use tollway_host::meters::{Meters, Verdict, judge};
use tollway_host::samplers::thread_time;
use tollway_host::samplers::usage::Usage;
use tollway_lab::progress::Progress;

use crate::Ending;
use crate::args::bench::Bench;
pub use document::{BenchDocument, Figure, PointSpeed};
use plan::Plan;

/// Measures. `program` is this one's file, which serves as a neighbour; `interrupted` ends it before its time.
///
/// # Errors
/// What was asked for cannot be, or nothing of it is here.
pub fn run(
    options: &Bench,
    program: &Path,
    interrupted: &AtomicBool,
    progress: &mut dyn Progress,
) -> Result<BenchDocument> {
    let plan = Plan::of(options)?;
    if let (true, Some(missing)) = (plan.points.is_empty(), plan.skipped.first()) {
        return Err(Error::Missing(missing.clone()).into());
    }
    let (before, own_before) = (Meters::read(), own());
    let measured = measure::all(&plan, options, program, interrupted, progress)?;
    let delta = Meters::read().since(&before);
    let quiet = judge(&delta, own().saturating_sub(own_before), None);
    let mut document = BenchDocument::of(options, &plan, measured)?;
    // A card that somebody else serves is not ours, and yet no disturbance.
    document.noise = match quiet.verdict {
        Verdict::Noisy(why) if options.socket.is_none() => Some(why),
        _ => None,
    };
    Ok(document)
}

/// What `--dry-run` prints.
#[derive(Clone, Debug, Serialize)]
pub struct PlannedBench {
    /// Version of this form.
    schema_version: u32,
    /// What would be measured.
    points: Vec<String>,
    /// How many measurements that are.
    trials: u64,
    /// How long they take, in seconds.
    seconds: f64,
    /// What this machine lacks.
    skipped: Vec<String>,
    /// The file that would be written.
    writes: Option<PathBuf>,
}

/// What would be measured; nothing is.
///
/// # Errors
/// What was asked for cannot be.
pub fn planned(options: &Bench) -> Result<PlannedBench> {
    let plan = Plan::of(options)?;
    let (trials, seconds) = measure::takes(&plan, options);
    Ok(PlannedBench {
        schema_version: 1,
        points: plan.points.iter().map(plan::Point::title).collect(),
        trials,
        seconds,
        skipped: plan.skipped.iter().map(ToString::to_string).collect(),
        writes: options.export.clone(),
    })
}

impl PlannedBench {
    /// For a person.
    pub fn to_text(&self) -> String {
        let mut text: String = self.points.iter().map(|point| format!("{point}\n")).collect();
        text.extend(self.skipped.iter().map(|reason| format!("skipped: {reason}\n")));
        let file = self.writes.as_ref().map(|file| file.display().to_string());
        text + &format!(
            "{} measurements, about {:.0} s; nothing needs root; writes {}\n",
            self.trials,
            self.seconds,
            file.as_deref().unwrap_or("nothing")
        )
    }
}

/// Processor time of this process and of the cards that it started and that have ended.
fn own() -> Duration {
    let ended = Usage::children().map_or(Duration::ZERO, |used| used.user + used.system);
    thread_time::process() + ended
}

impl BenchDocument {
    /// How it ended.
    pub fn ending(&self) -> Ending {
        if self.interrupted {
            Ending::Interrupted
        } else if self.failed.is_empty() {
            Ending::Done
        } else {
            Ending::CheckFailed
        }
    }

    /// For a terminal of that many columns; `requests`: rates in requests, not in bytes.
    pub fn to_text(&self, requests: bool, width: Option<usize>) -> String {
        table::text(self, requests, width)
    }

    /// For a page of text.
    pub fn to_markdown(&self, requests: bool) -> String {
        table::markdown(self, requests)
    }

    /// A line a point, in base units.
    pub fn to_csv(&self) -> String {
        table::csv(self)
    }
}
