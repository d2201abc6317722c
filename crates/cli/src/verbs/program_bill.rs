//! `tollway bill -- COMMAND` and `tollway bill --pid PID`: the bill of any program.

use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, Result};
use jiff::Timestamp;
use serde_json::json;
use tollway_core::Error;
use tollway_lab::Lab;
use tollway_program_tool::args::Program;
use tollway_program_tool::command::short_name;
use tollway_program_tool::document::BillDocument;
use tollway_program_tool::input::Input;
use tollway_program_tool::kept::{Kept, bills_of};
use tollway_program_tool::observed::{EachSecond, Observed, Output, can_be_observed, observe};
use tollway_program_tool::prices::Prices;
use tollway_program_tool::tried::{self, try_changes};
use tollway_store::{RunId, RunSpec, RunState, Store};

use super::price_list::PriceList;
use crate::args::{Arguments, Bill};
use crate::exit::{Ending, InItsPlace};
use crate::output;
use crate::{interrupt, laboratory};

/// Moves a terminal's cursor to its corner and clears it (ECMA-48: CUP, ED).
const AGAIN: &str = "\x1b[H\x1b[2J";

/// Watches a program and prints its bill.
pub fn bill(arguments: &Arguments, options: &Bill) -> Result<Ending> {
    let billed = billed(arguments, options);
    if options.program.command.is_empty() { billed } else { billed.map_err(InItsPlace::of) }
}

fn billed(arguments: &Arguments, options: &Bill) -> Result<Ending> {
    let program = &options.program;
    program.check()?;
    check(options)?;
    tried::check(program)?;
    can_be_observed(program)?;
    if program.live && arguments.json {
        return Err(Error::Input {
            place: "--live".into(),
            reason: "what is shown each second is no document".into(),
            remedy: "leave out --live or --json".into(),
        }
        .into());
    }
    for file in [&options.repeats.export, &program.html].into_iter().flatten() {
        output::check_writable(file)?;
    }
    let registry = tollway_all::registry();
    let lab = laboratory::lab(&registry)?;
    let mut store = laboratory::store(&arguments.store)?;
    let name = short_name(&program.command, program.pid);
    let spec = |title: String| spec(&lab, title, options);
    let Some(prices) = PriceList::of_this_machine(arguments, &lab, &mut store, spec)? else {
        return Ok(Ending::Interrupted);
    };
    let interrupted = interrupt::flag()?;
    let mut kept = Kept::begin(&mut store, &spec(format!("bill of {name}")), &name)?;
    let watched = watched(arguments, options, (&mut store, &mut kept), &prices, interrupted);
    let state = match &watched {
        Ok(_) if interrupted.load(Ordering::Relaxed) => RunState::Interrupted,
        Ok(_) => RunState::Complete,
        Err(_) => RunState::Failed,
    };
    let run = kept.end(&mut store, state)?;
    let Watched { document, code, failed } = watched?;
    write(options, &document)?;
    show(arguments, program, &document, run)?;
    // What came of the program is shown first, and then what could not be done with it.
    failed.map_or(Ok(()), Err)?;
    Ok(code.filter(|code| *code != 0).map_or(Ending::Done, Ending::Standing))
}

/// Options of a path's bill that say nothing of a program's.
fn check(options: &Bill) -> Result<()> {
    let repeats = &options.repeats;
    let of_a_path = [
        ("--variant", !options.variant.is_empty()),
        ("--warmup", repeats.warmup.is_some()),
        ("--time", repeats.time.is_some()),
        ("--dry-run", repeats.dry_run),
        ("--strict", repeats.strict),
    ];
    if let Some((name, _)) = of_a_path.iter().find(|(_, is_given)| *is_given) {
        return Err(Error::Input {
            place: (*name).into(),
            reason: "it is of a path's bill, not of a program's".into(),
            remedy: "leave it out; --for says how long a program is watched".into(),
        }
        .into());
    }
    check_export(options)
}

/// What a bill can be written as.
fn check_export(options: &Bill) -> Result<()> {
    let Some(file) = &options.repeats.export else { return Ok(()) };
    if file.extension().is_some_and(|ending| ending == "json") && options.program.html.as_ref() != Some(file)
    {
        return Ok(());
    }
    Err(Error::Input {
        place: format!("--export {}", file.display()),
        reason: "a program's bill is written as JSON".into(),
        remedy: "give a file that ends in .json; --html writes a page".into(),
    }
    .into())
}

/// Writes a bill to the files that are asked for.
fn write(options: &Bill, document: &BillDocument) -> Result<()> {
    if let Some(file) = &options.repeats.export {
        output::write(file, &serde_json::to_string_pretty(document).context("writing the bill")?)?;
    }
    if let Some(file) = &options.program.html {
        output::write(file, &document.page()?)?;
    }
    Ok(())
}

/// The last bill, the program's exit code, and what could not be done of what was asked for.
struct Watched {
    document: BillDocument,
    code: Option<u8>,
    failed: Option<anyhow::Error>,
}

/// Prints the last bill of a run; `None` where it has none.
pub fn stored(arguments: &Arguments, options: &Bill, store: &Store, run: RunId) -> Result<Option<Ending>> {
    let Some(document) = bills_of(store, run)?.pop() else { return Ok(None) };
    check_export(options)?;
    if let Some(per) = &options.program.per {
        return Err(Error::Input {
            place: format!("--per {per}"),
            reason: "a bill that is kept stays as it was made".into(),
            remedy: "leave it out, or watch the program again".into(),
        }
        .into());
    }
    write(options, &document)?;
    print(arguments, &document)?;
    Ok(Some(Ending::Done))
}

/// Prints a bill that is kept.
pub fn print(arguments: &Arguments, document: &BillDocument) -> Result<()> {
    if arguments.json {
        return output::json(document);
    }
    Ok(output::text(&document.to_text(output::width()))?)
}

/// Watches as often as is asked for, keeps each bill, and hands out the last.
fn watched(
    arguments: &Arguments,
    options: &Bill,
    (store, kept): (&mut Store, &mut Kept),
    list: &PriceList,
    interrupted: &AtomicBool,
) -> Result<Watched> {
    let program = &options.program;
    let prices = Prices(&list.tolls);
    let output = match (program.live, arguments.json) {
        (true, _) => Output::Nowhere,
        (false, true) => Output::Aside,
        (false, false) => Output::Its,
    };
    let (width, height) = (output::width(), output::height());
    let mut each_second = |observed: &Observed| {
        let mut second = BillDocument::of(observed, &prices, None)?;
        second.prices_noisy.clone_from(&list.noisy);
        let text = format!("{AGAIN}{}", second.to_screen(width, height));
        output::text(&text).map_err(|e| Error::system("showing the bill", e))
    };
    let input = Input::now();
    let (mut last, mut failed) = (None, None);
    for _ in 0..options.repeats.runs.unwrap_or(1) {
        let each_second: Option<EachSecond<'_>> = if program.live { Some(&mut each_second) } else { None };
        let observed = observe(program, input, output, interrupted, each_second)?;
        let per = BillDocument::of(&observed, &prices, program.per.as_deref());
        let mut document = per.or_else(|error| {
            failed = Some(error.into());
            BillDocument::of(&observed, &prices, None)
        })?;
        document.prices_noisy.clone_from(&list.noisy);
        kept.add(store, &document)?;
        last = Some((document, observed.code()));
        if interrupted.load(Ordering::Relaxed) {
            break;
        }
    }
    let (mut document, code) = last.context("it was to be watched no times")?;
    if !program.tries.is_empty() && !interrupted.load(Ordering::Relaxed) {
        let tried = try_changes(program, input, &mut document, interrupted);
        failed = failed.or(tried.err().map(Into::into));
    }
    Ok(Watched { document, code, failed })
}

fn show(arguments: &Arguments, program: &Program, document: &BillDocument, run: RunId) -> Result<()> {
    if arguments.json {
        return output::json(document);
    }
    let page = program.html.as_ref().map(|page| format!("{} · ", page.display())).unwrap_or_default();
    let text = |width| format!("{}\n{page}run {run}", document.to_text(width));
    if program.command.is_empty() || program.live {
        output::text(&text(output::width()))?;
    } else {
        // Standard output is the program's.
        output::tell(&text(output::width_of_errors()));
    }
    Ok(())
}

fn spec(lab: &Lab<'_>, title: String, options: &Bill) -> RunSpec {
    RunSpec {
        started: Timestamp::now(),
        title,
        argv: lab.argv.clone(),
        version: lab.version.clone(),
        seed: options.repeats.seed,
        machine: lab.machine.clone(),
        hz: lab.hz,
        sides: Vec::new(),
        fingerprint: lab.fingerprint.clone(),
        plan: json!({}),
    }
}
