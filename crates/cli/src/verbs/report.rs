//! `tollway report`: a run of the store once more, on the terminal or as a page.

use anyhow::Result;
use tollway_program_tool::kept::bills_of;
use tollway_report::RunReport;

use super::{history, program_bill};
use crate::args::{Arguments, Report};
use crate::exit::Ending;
use crate::output;

/// Prints the run, or writes its page.
pub fn report(arguments: &Arguments, options: &Report) -> Result<Ending> {
    let store = history::existing(&arguments.store)?;
    let run = history::chosen(&store, options.run)?;
    if let Some(bill) = bills_of(&store, run)?.pop() {
        match &options.html {
            Some(file) => output::write(file, &bill.page()?)?,
            None => program_bill::print(arguments, &bill)?,
        }
        return Ok(Ending::Done);
    }
    let report = RunReport::from_store(&store, run)?;
    if let Some(file) = &options.html {
        output::write(file, &report.html()?)?;
    } else if arguments.json {
        output::json(report.document())?;
    } else {
        output::text(&report.terminal(output::width()))?;
    }
    Ok(Ending::Done)
}
