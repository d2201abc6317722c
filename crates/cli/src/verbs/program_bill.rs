//! `tollway bill -- COMMAND` and `tollway bill --pid PID`: the bill of any program.

use anyhow::{Context, Result};
use jiff::{SignedDuration, Timestamp};
use tollway_core::{Error, TollSource};
use tollway_lab::Lab;
use tollway_program_tool::document::BillDocument;
use tollway_program_tool::observed::observe;
use tollway_program_tool::prices::{Prices, needed};
use tollway_store::{Store, Tolls};

use super::work::{self, Work};
use crate::args::{Arguments, Bill, Repeats};
use crate::exit::Ending;
use crate::output;
use crate::{interrupt, laboratory};

/// How old a toll may be.
const AGE: SignedDuration = SignedDuration::from_hours(7 * 24);

/// Watches a program and prints its bill.
pub fn bill(arguments: &Arguments, options: &Bill) -> Result<Ending> {
    let program = &options.program;
    program.check()?;
    if let Some(file) = &options.repeats.export {
        output::check_writable(file)?;
    }
    let registry = tollway_all::registry();
    let lab = laboratory::lab(&registry)?;
    let mut store = laboratory::store(&arguments.store)?;
    let tolls = price_list(arguments, &lab, &mut store)?;
    let observed = observe(program, arguments.json, interrupt::flag()?)?;
    let document = BillDocument::of(&observed, &Prices(&tolls), program.per.as_deref())?;
    if let Some(file) = &options.repeats.export {
        let text = serde_json::to_string_pretty(&document).context("writing the bill")?;
        output::write(file, &text)?;
    }
    if arguments.json {
        output::json(&document)?;
    } else if program.command.is_empty() {
        output::text(&document.to_text(output::width()))?;
    } else {
        // Standard output is the program's.
        output::tell(document.to_text(output::width_of_errors()).trim_end());
    }
    Ok(observed.code().filter(|code| *code != 0).map_or(Ending::Done, Ending::Standing))
}

/// The tolls of this machine; those that a bill needs are measured first where the store has none that fit.
fn price_list(arguments: &Arguments, lab: &Lab<'_>, store: &mut Store) -> Result<Tolls> {
    let known = store.tolls(&lab.machine, Timestamp::now() - AGE)?;
    if needed().iter().all(|key| known.toll(key).is_some()) {
        return Ok(known.in_ticks_of(lab.hz));
    }
    output::tell("this machine's price list is measured first; it is kept for a week");
    let presets = vec![laboratory::preset(lab.registry, "crossings", "calls")?];
    let title = "price list of system calls".into();
    let work = Work { title, presets, only: Vec::new(), resume: false, together: false, budgeted: true };
    let repeats = Repeats { runs: None, warmup: None, time: None, seed: 1, dry_run: false, strict: false, export: None };
    work::carry_out(arguments, &repeats, lab, work)?;
    let known = store.tolls(&lab.machine, Timestamp::now() - AGE)?;
    let Some(missing) = needed().into_iter().find(|key| known.toll(key).is_none()) else {
        return Ok(known.in_ticks_of(lab.hz));
    };
    Err(Error::Input {
        place: format!("toll {missing}"),
        reason: "it could not be measured here, and there is no bill without it".into(),
        remedy: "`tollway measure crossings calls` says why".into(),
    }
    .into())
}
