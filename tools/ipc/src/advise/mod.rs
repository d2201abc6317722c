//! `tollway ipc advise`: synchronous or asynchronous, look or sleep, and from where on that changes.
//!
//! ```text
//! asked ── tolls (of the store, or measured) ── foretold (the path's own predictions) ── chosen (choice) ── told (document, text)
//!                                                                                          ╰── frozen, measured, compared (verify)
//! ```

mod asked;
mod choice;
mod document;
mod foretold;
#[cfg(test)]
mod tests;
mod text;
mod tolls;
mod verify;

use std::path::Path;

use anyhow::Result;
use tollway_core::Error;
use tollway_lab::progress::Progress;
use tollway_lab::{Finding, Lab};
use tollway_store::{RunState, Store};

use crate::Ending;
use crate::args::advise::Advise;
use crate::request::cut;
use asked::Asked;
pub use document::{
    AdviceDocument, CheckDocument, CrossingDocument, FateDocument, ForetoldWay, VerifiedDocument,
    VerifiedStep, WaitingDocument, WayDocument,
};
use foretold::Foreseen;

/// Advises, and tries the advice where that is wanted. `store`: the file of the store; it is made.
///
/// # Errors
/// What was asked for cannot be, or this machine lacks what it takes.
pub fn run(
    options: &Advise,
    lab: &Lab<'_>,
    store: &Path,
    progress: &mut dyn Progress,
) -> Result<(Finding<AdviceDocument>, Ending)> {
    let asked = Asked::of(options, lab.registry, lab.hz)?;
    if options.dry_run {
        return Ok((Finding::Planned(planned(options, &asked, lab, store)?), Ending::Done));
    }
    let mut store = Store::open(store)?;
    progress.stage("tolls");
    let Some(known) = tolls::known(options, &asked, lab, &mut store, progress)? else {
        return Ok((Finding::Found(None), Ending::Interrupted));
    };
    let foreseen = Foreseen::of(&asked, lab.registry, &known.tolls, lab.hz)?;
    let advice = choice::advise(&asked, &foreseen)?;
    let mut document = AdviceDocument::of(&asked, &foreseen, &advice, &known.runs);
    if !options.verify {
        return Ok((Finding::Found(Some(document)), Ending::Done));
    }
    progress.stage("what was foretold");
    let mut request = verify::request(&asked, &foreseen, options);
    cut(&mut request, options.time, lab)?;
    let ended = lab.run(&mut store, &request, progress)?;
    if ended.state == RunState::Interrupted {
        // The advice stands without its proof, of which the store keeps what there is.
        return Ok((Finding::Found(Some(document)), Ending::Interrupted));
    }
    let verified = verify::read(&asked, &foreseen, &advice, &store, &ended, lab.hz)?;
    let ending = if verified.missed() { Ending::CheckFailed } else { Ending::Done };
    document.verified = Some(verified);
    Ok((Finding::Found(Some(document)), ending))
}

/// What would be measured: the tolls that the store does not have, and the points of the proof.
fn planned(options: &Advise, asked: &Asked, lab: &Lab<'_>, store: &Path) -> Result<tollway_lab::Estimate> {
    let stored = if store.exists() { Some(Store::open_read_only(store)?) } else { None };
    let mut estimate = tollway_lab::Estimate::default();
    let missing = tolls::missing(options, asked, lab, stored.as_ref())?;
    let mut requests: Vec<_> = tolls::request(&missing, options, lab)?.into_iter().collect();
    if options.verify {
        let mut request = verify::without_foretold(asked, options);
        cut(&mut request, options.time, lab)?;
        requests.push(request);
    }
    for request in requests {
        estimate.add(lab.estimate(&request)?);
    }
    Ok(estimate)
}

/// Why nothing can be said.
fn nothing(reason: String) -> Error {
    Error::Wrong(format!("nothing can be advised: {reason}"))
}
