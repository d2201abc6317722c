//! `tollway bill -- COMMAND` and `tollway bill --pid PID`: the bill of any program.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, Result};
use tollway_core::{Error, TollKey};
use tollway_program_tool::command::short_name;
use tollway_program_tool::document::BillDocument;
use tollway_program_tool::input::Input;
use tollway_program_tool::kept::bills_of;
use tollway_program_tool::observed::{EachSecond, Observed, Output, can_be_observed, observe};
use tollway_program_tool::price_list::Asking;
use tollway_program_tool::prices::{Prices, needed};
use tollway_program_tool::tried::{self, try_changes};
use tollway_store::{RunId, RunState, Store};

use super::kept_bill::KeptBill;
use super::planned_bill::{self, PlannedBill};
use super::price_list::{Pricing, run_of};
use crate::args::{Arguments, Bill};
use crate::exit::{Ending, InItsPlace};
use crate::output;
use crate::{interrupt, laboratory};

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
    let refused = |place: &str, reason: &str, remedy: &str| {
        Err(Error::Input { place: place.into(), reason: reason.into(), remedy: remedy.into() }.into())
    };
    if program.live && arguments.json {
        return refused("--live", "what is shown each second is no document", "leave out --live or --json");
    }
    if options.quiet && (program.live || arguments.json) {
        return refused(
            "--quiet",
            "the sum alone is a line of text",
            "leave out --quiet, or --live and --json",
        );
    }
    check_files(arguments, options)?;
    let registry = tollway_all::registry();
    let lab = laboratory::lab(&registry)?;
    let name = short_name(&program.command, program.pid);
    let interrupted = interrupt::flag()?;
    let mut pricing = Pricing::of_this_machine(arguments, &lab, !options.no_store);
    if options.repeats.dry_run {
        planned_bill::show(arguments, PlannedBill::of(arguments, options, &pricing)?)?;
        return Ok(Ending::Done);
    }
    if program.live {
        // There is no after: what most programs need is known before.
        pricing.complete(&needed())?;
        if interrupted.load(Ordering::Relaxed) {
            return Ok(Ending::Interrupted);
        }
    }
    let mut kept = if options.no_store {
        KeptBill::nowhere()
    } else {
        let spec = run_of(&lab, format!("bill of {name}"), options.repeats.seed);
        KeptBill::begin(&arguments.store, &spec, &name)?
    };
    let watched = watched(arguments, options, &mut kept, &mut pricing, interrupted);
    let state = match &watched {
        Ok(_) if interrupted.load(Ordering::Relaxed) => RunState::Interrupted,
        Ok(_) => RunState::Complete,
        Err(_) => RunState::Failed,
    };
    let run = kept.end(state);
    let Watched { document, code, failed } = watched?;
    // A bill that cannot be written to a file is shown all the same.
    let written = write(options, &document);
    show(arguments, options, &document, run.as_ref().ok().copied().flatten())?;
    written?;
    // What came of the program is shown first, and then what could not be done with it.
    run?;
    if let Some(why) = kept.why_not() {
        output::tell(&why);
    }
    failed.map_or(Ok(()), Err)?;
    Ok(code.filter(|code| *code != 0).map_or(Ending::Done, Ending::Standing))
}

/// Refuses files that cannot be written, or are to have two things, before anything is watched.
fn check_files(arguments: &Arguments, options: &Bill) -> Result<()> {
    let files = [&options.output, &options.repeats.export, &options.program.html];
    let files: Vec<&PathBuf> = files.into_iter().flatten().collect();
    let store = (!options.no_store).then(|| output::place_of(&arguments.store));
    let places: Vec<PathBuf> = files.iter().map(|file| output::place_of(file)).collect();
    for (at, file) in files.iter().enumerate() {
        output::check_writable(file)?;
        if store.as_ref() == Some(&places[at]) {
            return Err(output::is_a_store(file).into());
        }
        if places[..at].contains(&places[at]) {
            return Err(Error::Input {
                place: format!("file `{}`", file.display()),
                reason: "it is named twice".into(),
                remedy: "name another one for --output, --export or --html".into(),
            }
            .into());
        }
    }
    Ok(())
}

/// Options of a path's bill that say nothing of a program's.
fn check(options: &Bill) -> Result<()> {
    let repeats = &options.repeats;
    let of_a_path = [
        ("--variant", !options.variant.is_empty()),
        ("--warmup", repeats.warmup.is_some()),
        ("--time", repeats.time.is_some()),
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
    check_files(arguments, options)?;
    write(options, &document)?;
    match &options.output {
        Some(file) => output::write(file, &content(arguments, options, &document, None)?)?,
        None if options.quiet => output::text(&document.sum_line(output::width()))?,
        None => print(arguments, &document)?,
    }
    Ok(Some(Ending::Done))
}

/// Prints a bill that is kept.
pub fn print(arguments: &Arguments, document: &BillDocument) -> Result<()> {
    if arguments.json {
        return output::json(document);
    }
    Ok(output::text(&document.to_text(output::width()))?)
}

/// Watches as often as is asked for, keeps each bill, and hands out the last. What its prices are is measured once it is known which it needs.
fn watched(
    arguments: &Arguments,
    options: &Bill,
    kept: &mut KeptBill,
    pricing: &mut Pricing<'_>,
    interrupted: &AtomicBool,
) -> Result<Watched> {
    let program = &options.program;
    let output = match (program.live, arguments.json && options.output.is_none()) {
        (true, _) => Output::Nowhere,
        (false, true) => Output::Aside,
        (false, false) => Output::Its,
    };
    let input = Input::now();
    let (mut last, mut failed) = (None, None);
    for _ in 0..options.repeats.runs.unwrap_or(1) {
        let mut unseen = None;
        let mut each_second = |observed: &Observed| {
            let second = BillDocument::of(observed, &Prices(&pricing.list), None)?;
            // A terminal may have another size from one second to the next.
            let text = second.to_screen(output::width(), output::height());
            output::screen(&text).map_err(|e| {
                let reason = e.to_string();
                unseen = Some(e);
                Error::system("showing the bill", reason)
            })
        };
        let each_second: Option<EachSecond<'_>> = if program.live { Some(&mut each_second) } else { None };
        let observed = observe(program, input, output, interrupted, each_second);
        // As it came: a reader may have seen enough and closed the pipe, which is no error.
        if let Some(unseen) = unseen {
            return Err(unseen.into());
        }
        let observed = observed?;
        let keys = keys_of(&observed, pricing)?;
        pricing.complete(&keys)?;
        let prices = Prices(&pricing.list);
        let per = BillDocument::of(&observed, &prices, program.per.as_deref());
        let mut document = per.or_else(|error| {
            failed = Some(error.into());
            BillDocument::of(&observed, &prices, None)
        })?;
        document.prices_noisy = pricing.list.noise(&keys);
        document.prices_from = pricing.list.sources(&keys);
        kept.add(&document)?;
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

/// The prices that a bill is made of, what counts most first.
fn keys_of(observed: &Observed, pricing: &Pricing<'_>) -> Result<Vec<TollKey>> {
    let asking = Asking::of(&pricing.list);
    let bill = BillDocument::of(observed, &Prices(&asking), None)?;
    Ok(asking.keys(&bill))
}

/// What goes to a file or to a terminal: a document, the sum alone, or the whole text.
fn content(
    arguments: &Arguments,
    options: &Bill,
    document: &BillDocument,
    width: Option<usize>,
) -> Result<String> {
    if arguments.json {
        return Ok(serde_json::to_string_pretty(document).context("writing the bill")? + "\n");
    }
    Ok(if options.quiet { document.sum_line(width) } else { document.to_text(width) })
}

fn show(arguments: &Arguments, options: &Bill, document: &BillDocument, run: Option<RunId>) -> Result<()> {
    let program = &options.program;
    let kept: Vec<String> =
        [program.html.as_ref().map(|page| page.display().to_string()), run.map(|run| format!("run {run}"))]
            .into_iter()
            .flatten()
            .collect();
    let with_tail = |text: String| match kept.is_empty() || options.quiet || arguments.json {
        true => text,
        false => format!("{text}\n{}", kept.join(" · ")),
    };
    let whole = |width| content(arguments, options, document, width).map(with_tail);
    if let Some(file) = &options.output {
        let text = whole(None)?;
        // A bill that cannot be written after all is not lost.
        return output::write(file, &(text.clone() + "\n")).inspect_err(|_| output::tell(&text));
    }
    if arguments.json {
        return output::json(document);
    }
    if program.command.is_empty() || program.live {
        output::text(&whole(output::width())?)?;
    } else {
        // Standard output is the program's.
        output::tell(whole(output::width_of_errors())?.trim_end());
    }
    Ok(())
}
