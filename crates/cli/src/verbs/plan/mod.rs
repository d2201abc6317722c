//! `tollway plan`: how much a system takes while it keeps its levels; several variants side by side.

mod case;
mod document;
mod file;
mod request;
mod table;

use anyhow::Result;

use crate::args::{self, Arguments};
use crate::exit::Ending;
use crate::{output, patience};
pub use document::PlanDocument;
use request::Request;

/// Plans what was asked for.
pub fn plan(arguments: &Arguments, options: &args::Plan) -> Result<Ending> {
    let request = Request::read(options)?;
    let answers = patience::telling("looking for the answer", || request.answers())?;
    let document = PlanDocument::of(&request, &answers);
    if arguments.json {
        output::json(&document)?;
    } else {
        output::text(&table::text(&document, output::width()))?;
    }
    Ok(if document.some_case_keeps() { Ending::Done } else { Ending::CheckFailed })
}
