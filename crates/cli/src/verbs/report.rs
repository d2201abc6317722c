//! `tollway report`: a run of the store once more, on the terminal or as a page.

use anyhow::Result;
use tollway_report::RunReport;

use super::history;
use crate::args::{Arguments, Report};
use crate::exit::Ending;
use crate::output;

/// Prints the run, or writes its page.
pub fn report(arguments: &Arguments, options: &Report) -> Result<Ending> {
    let store = history::existing(&arguments.store)?;
    let report = RunReport::from_store(&store, history::chosen(&store, options.run)?)?;
    if let Some(file) = &options.html {
        output::write(file, &report.html()?)?;
    } else if arguments.json {
        output::json(report.document())?;
    } else {
        output::text(&report.terminal(output::width()))?;
    }
    Ok(Ending::Done)
}
