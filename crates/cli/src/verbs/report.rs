//! `tollway report`: a run of the store once more, on the terminal or as a page.

use anyhow::Result;
use tollway_program_tool::document::BillDocument;
use tollway_program_tool::kept::bills_of;
use tollway_report::RunReport;

use super::history;
use crate::args::{Arguments, Report};
use crate::exit::Ending;
use crate::output;

/// Prints the run, or writes its page.
pub fn report(arguments: &Arguments, options: &Report) -> Result<Ending> {
    let store = history::existing(&arguments.store)?;
    let run = history::chosen(&store, options.run)?;
    if let Some(bill) = bills_of(&store, run)?.pop() {
        return program(arguments, options, &bill);
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

/// A program's bill, as `tollway bill` showed it.
fn program(arguments: &Arguments, options: &Report, bill: &BillDocument) -> Result<Ending> {
    if let Some(file) = &options.html {
        output::write(file, &bill.page()?)?;
    } else if arguments.json {
        output::json(bill)?;
    } else {
        output::text(&bill.to_text(output::width()))?;
    }
    Ok(Ending::Done)
}
