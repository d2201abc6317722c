//! The three applications, each by several ways and at several concurrencies, in turns.
//!
//! ```text
//! options ── points (plan) ── measured by the laboratory, into the store ── read (read) ── told (document, table)
//! ```

mod document;
mod plan;
mod read;
mod table;
#[cfg(test)]
mod tests;

use std::path::Path;

use anyhow::Result;
use tollway_core::Error;
use tollway_lab::progress::Progress;
use tollway_lab::{Finding, Lab, Request};
use tollway_store::{RunState, Store};

use crate::Ending;
use crate::args::Repeats;
use crate::request::{cut, lacking};
pub use document::{
    CrossoverDocument, FailedDocument, ForetoldDocument, LatencyDocument, SkippedDocument, SweepDocument,
    SweptDocument,
};
pub use plan::Sweep;
pub use read::found;

/// Measures, and reads what came of it. `store`: the file of the store; it is made.
///
/// # Errors
/// What was asked for cannot be, or nothing of it can be had here.
pub fn run(
    sweep: &Sweep,
    repeats: &Repeats,
    lab: &Lab<'_>,
    store: &Path,
    progress: &mut dyn Progress,
) -> Result<(Finding<SweepDocument>, Ending)> {
    let mut request = sweep.request(repeats);
    cut(&mut request, repeats.time, lab)?;
    let estimate = lab.estimate(&request)?;
    if repeats.dry_run {
        return Ok((Finding::Planned(estimate), Ending::Done));
    }
    // Tolls that can be had are of no use for points that cannot.
    let asked = Request { without_tolls: true, ..request.clone() };
    if let Some(missing) = lacking(&lab.estimate(&asked)?) {
        if !repeats.strict {
            return Err(Error::Missing(missing).into());
        }
        // Who is strict has an exit code of its own for that, and reads in the table what is lacking.
        request = asked;
    }
    let mut store = Store::open(store)?;
    let ended = lab.run(&mut store, &request, progress)?;
    let document = found(sweep, &store, &ended, lab.registry)?;
    let wrong = !document.failed.is_empty();
    let ending = match ended.state {
        RunState::Interrupted => Ending::Interrupted,
        _ if wrong => Ending::CheckFailed,
        _ if ended.skipped > 0 && repeats.strict => Ending::RequirementMissing,
        _ => Ending::Done,
    };
    Ok((Finding::Found(Some(document)), ending))
}
