//! `tollway cipher`: the tool of the path `cipher`.

use anyhow::{Context, Result};
use tollway_cipher_tool as tool;
use tollway_cipher_tool::args::bench::Bench;
use tollway_cipher_tool::args::plan::Plan;
use tollway_cipher_tool::args::predict::Predict;
use tollway_cipher_tool::args::{Cipher, What};

use super::work;
use crate::args::Arguments;
use crate::exit::Ending;
use crate::interrupt;
use crate::laboratory;
use crate::output::{self, Format};
use crate::progress_bar::Told;

/// Does what an operator wants of a crypto device.
pub fn cipher(arguments: &Arguments, options: &Cipher) -> Result<Ending> {
    Ok(
        match match &options.what {
            What::Operate(what) => tool::run(what, arguments.json)?,
            What::Bench(options) => bench(arguments, options)?,
            What::Predict(options) => predict(arguments, options)?,
            What::Plan(options) => plan(arguments, options)?,
        } {
            tool::Ending::Done => Ending::Done,
            tool::Ending::CheckFailed => Ending::CheckFailed,
            tool::Ending::RequirementMissing => Ending::RequirementMissing,
            tool::Ending::Interrupted => Ending::Interrupted,
        },
    )
}

/// Fits, foretells, measures, and tells.
fn predict(arguments: &Arguments, options: &Predict) -> Result<tool::Ending> {
    let registry = tollway_all::registry();
    let lab = laboratory::lab(&registry)?;
    let mut told = Told::new();
    let ended = tool::predict::run(options, &lab, &arguments.store, &mut told);
    told.finish();
    let (found, ending) = ended?;
    work::tell(arguments, &found, |document| document.to_text(output::width()))?;
    Ok(ending)
}

/// Fits, looks for what keeps a service level, tries it where that is wanted, and tells.
fn plan(arguments: &Arguments, options: &Plan) -> Result<tool::Ending> {
    let registry = tollway_all::registry();
    let lab = laboratory::lab(&registry)?;
    let mut told = Told::new();
    let ended = tool::plan::run(options, &lab, &arguments.store, &mut told);
    told.finish();
    let (found, ending) = ended?;
    work::tell(arguments, &found, |document| document.to_text(output::width()))?;
    Ok(ending)
}

/// Measures, and tells.
fn bench(arguments: &Arguments, options: &Bench) -> Result<tool::Ending> {
    if let Some(file) = &options.export {
        // A name that cannot be used is told before anything is measured.
        Format::of(file)?;
        output::check_writable(file)?;
    }
    if options.dry_run {
        let planned = tool::bench::planned(options)?;
        if arguments.json {
            output::json(&planned)?;
        } else {
            output::text(&planned.to_text())?;
        }
        return Ok(tool::Ending::Done);
    }
    let program = laboratory::own_file().context("finding this program's own file, to start it as a card")?;
    let mut told = Told::new();
    let measured = tool::bench::run(options, &program, interrupt::flag()?, &mut told);
    told.finish();
    let document = measured?;
    if let Some(file) = &options.export {
        output::write_or_keep(file, document.interrupted && document.points.is_empty(), || {
            Ok(match Format::of(file)? {
                Format::Json => serde_json::to_string_pretty(&document)? + "\n",
                Format::Csv => document.to_csv(),
                Format::Markdown => document.to_markdown(options.requests),
            })
        })?;
    }
    if arguments.json {
        output::json(&document)?;
    } else {
        output::text(&document.to_text(options.requests, output::width()))?;
    }
    Ok(document.ending())
}
