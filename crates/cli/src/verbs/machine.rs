//! `tollway machine`: the tool of the path `machine`.

use anyhow::Result;
use tollway_machine_tool as tool;
use tollway_machine_tool::args::{Machine, Modes, Suite, What};
use tollway_machine_tool::modes::{self, Told};

use super::work::{self, Measured, Work};
use crate::args::{Arguments, Repeats};
use crate::exit::Ending;
use crate::laboratory;
use crate::output;
use crate::progress_bar;

/// Judges a machine, or compares two modes of running it.
pub fn machine(arguments: &Arguments, options: &Machine) -> Result<Ending> {
    match &options.what {
        What::Suite(options) => suite(arguments, options),
        What::Modes(options) => compare(arguments, options),
    }
}

/// Every part, as a score card.
fn suite(arguments: &Arguments, options: &Suite) -> Result<Ending> {
    let registry = tollway_all::registry();
    if let Some(file) = &options.html {
        output::check_writable(file)?;
    }
    let lab = laboratory::lab_on(&registry, options.on.as_ref())?;
    let repeats = repeats(&options.repeats);
    let on = options.on.as_ref().map(|host| format!(", on {host}")).unwrap_or_default();
    let which = match (options.guest, options.quick) {
        (true, _) => ", in a guest",
        (false, true) => ", quick",
        (false, false) => "",
    };
    let work = Work {
        title: format!("machine suite{which}{on}"),
        presets: tool::suite::presets(options, &registry)?,
        only: Vec::new(),
        resume: false,
        together: false,
        budgeted: false,
        pages: options.html.iter().cloned().collect(),
    };
    let Some((store, ended)) = work::carry_out(arguments, &repeats, &lab, work)? else {
        return Ok(Ending::Done);
    };
    let measured = Measured::of(arguments, &repeats, &registry, (&store, &ended))?;
    work::show(arguments, &repeats, &measured.report)?;
    if let Some(file) = &options.html {
        work::write_page(file, &measured.report, || Ok(measured.report.html()?))?;
    }
    Ok(measured.ending())
}

/// What the tool's options say of repeats.
fn repeats(of: &tool::args::Repeats) -> Repeats {
    Repeats {
        runs: of.runs,
        warmup: None,
        time: of.time,
        seed: of.seed,
        dry_run: of.dry_run,
        strict: of.strict,
        export: None,
    }
}

/// Two modes in turns, or what modes there are.
fn compare(arguments: &Arguments, options: &Modes) -> Result<Ending> {
    let registry = tollway_all::registry();
    if let Some(file) = &options.html {
        output::check_writable(file)?;
    }
    let lab = laboratory::lab(&registry)?;
    let mut told = progress_bar::Told::new();
    let ended = modes::run(options, &lab, &arguments.store, &mut told, &output::tell);
    told.finish();
    let (found, ended) = ended?;
    match &found {
        Told::Listed(modes) if arguments.json => output::json(modes)?,
        Told::Listed(modes) => {
            let text: Vec<String> = modes.iter().map(modes::ModeDocument::to_text).collect();
            output::text(&text.join("\n"))?;
        }
        Told::Planned(estimate) => work::plan(arguments, estimate, options.html.iter())?,
        Told::Nothing(run) => output::tell(&format!(
            "interrupted before a row was measured; run {run} has what there is of what the prediction is made of"
        )),
        Told::Found(document) => show(arguments, options, document)?,
    }
    Ok(ending(ended))
}

/// Prints what was found of two modes, and writes the page where that was asked for.
fn show(arguments: &Arguments, options: &Modes, document: &modes::ModesDocument) -> Result<()> {
    if let Some(file) = &options.html {
        output::write(file, &document.page()?)?;
    }
    if arguments.json {
        output::json(document)
    } else {
        Ok(output::text(&document.to_text(output::width()))?)
    }
}

/// Shows two modes of a run that has gone on; nothing where it is but a part of what the command does.
pub fn resumed(run: &Measured<'_>, options: &Modes) -> Result<Option<Ending>> {
    let lab = laboratory::lab(run.registry)?;
    let Some((document, ended)) = modes::resumed(options, &lab, run.store, run.ended)? else {
        return Ok(None);
    };
    show(run.arguments, options, &document)?;
    Ok(Some(ending(ended)))
}

fn ending(of: modes::Ending) -> Ending {
    match of {
        modes::Ending::Done => Ending::Done,
        modes::Ending::CheckFailed => Ending::CheckFailed,
        modes::Ending::RequirementMissing => Ending::RequirementMissing,
        modes::Ending::Interrupted => Ending::Interrupted,
    }
}
