//! `tollway export`: a run of the store as a file.

use anyhow::Result;
use tollway_report::RunReport;

use super::{history, work};
use crate::args::{Arguments, Export};
use crate::exit::Ending;
use crate::output::Format;

/// Writes the run in the format that the file's ending names.
pub fn export(arguments: &Arguments, options: &Export) -> Result<Ending> {
    Format::of(&options.file)?;
    let store = history::existing(&arguments.store)?;
    let report = RunReport::from_store(&store, history::chosen(&store, options.run)?)?;
    work::export(&options.file, &report)?;
    Ok(Ending::Done)
}
