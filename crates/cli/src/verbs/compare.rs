//! `tollway compare`: two runs of the store, two sides in turns, or the proof that comparing can be trusted.

use std::path::Path;

use anyhow::{Result, bail};
use tollway_core::Error;
use tollway_lab::Ended;
use tollway_lab::side::Side;
use tollway_report::{Comparison, Proof};
use tollway_stats::Criteria;
use tollway_store::{RunId, Store};

use super::history;
use super::work::{self, Measured, Work};
use crate::args::{Arguments, Compare};
use crate::exit::Ending;
use crate::laboratory;
use crate::output::{self, Format, Versioned};
use crate::progress_bar::Told;

/// The slowdown that the proof plants.
const PLANTED: f64 = 0.10;

/// How the sides are called.
const SIDES: [&str; 2] = ["A", "B"];

/// Compares what was asked for.
pub fn compare(arguments: &Arguments, options: &Compare) -> Result<Ending> {
    if let Some(file) = &options.repeats.export {
        format(file)?;
        output::check_writable(file)?;
    }
    let criteria = criteria(options);
    if options.prove {
        return prove(arguments, options, criteria);
    }
    let (Some(a), Some(b)) = (&options.a, &options.b) else {
        bail!("name two runs, or two sides with --run")
    };
    let (comparison, ended) = if options.run {
        let sides = vec![Side::parse("A", a)?, Side::parse("B", b)?];
        match in_turns(arguments, options, sides, &format!("compare {a} with {b}"))? {
            Some((store, ended)) => {
                let comparison = Comparison::of_sides(&store, ended.run, SIDES, criteria)?;
                (comparison, work::ending(&ended, &options.repeats))
            }
            None => return Ok(Ending::Done),
        }
    } else {
        let (a, b) = (number(a)?, number(b)?);
        let store = history::existing(&arguments.store)?;
        (Comparison::of_runs(&store, a, b, criteria)?, Ending::Done)
    };
    if let Some(file) = &options.repeats.export {
        let nothing = comparison.document().figures.iter().all(|figure| figure.ratio.is_none());
        output::write_or_keep(file, nothing && ended == Ending::Interrupted, || {
            Ok(if format(file)? == Format::Json { comparison.json()? } else { comparison.markdown() })
        })?;
    }
    judged(arguments, options, &comparison, ended)
}

/// Shows the sides of a run that has gone on.
pub fn resumed(run: &Measured<'_>, options: &Compare) -> Result<Ending> {
    let comparison = Comparison::of_sides(run.store, run.ended.run, SIDES, criteria(options))?;
    judged(run.arguments, options, &comparison, run.ending())
}

/// What counts as the same, and how sure is sure.
fn criteria(options: &Compare) -> Criteria {
    Criteria { margin: options.margin / 100.0, ..Criteria::default() }
}

/// Prints a comparison; beyond the threshold it has failed.
fn judged(
    arguments: &Arguments,
    options: &Compare,
    comparison: &Comparison,
    ended: Ending,
) -> Result<Ending> {
    if arguments.json {
        output::json(comparison.document())?;
    } else {
        output::text(&comparison.terminal(output::width()))?;
    }
    let compared = comparison.document().figures.iter().any(|figure| figure.ratio.is_some());
    let beyond =
        options.threshold.is_some_and(|percent| !compared || !comparison.beyond(percent / 100.0).is_empty());
    Ok(if beyond && ended != Ending::Interrupted { Ending::CheckFailed } else { ended })
}

/// The format of a file that a comparison is written to.
fn format(file: &Path) -> Result<Format, Error> {
    match Format::of(file)? {
        Format::Csv => Err(Error::Input {
            place: format!("file `{}`", file.display()),
            reason: "a comparison is not written as CSV".into(),
            remedy: "let it end in .json or .md".into(),
        }),
        format => Ok(format),
    }
}

/// Runs the program against itself, and against itself with a planted slowdown.
fn prove(arguments: &Arguments, options: &Compare, criteria: Criteria) -> Result<Ending> {
    let slower = Side { about: "this program, 10 % slower".into(), planted: PLANTED, ..Side::as_it_is("B") };
    let same = vec![Side::as_it_is("A"), Side::as_it_is("B")];
    let mut proven = Vec::new();
    let mut ending = Ending::Done;
    for (sides, title) in [(same, "prove: A/A"), (vec![Side::as_it_is("A"), slower], "prove: A/B")] {
        let Some((store, ended)) = in_turns(arguments, options, sides, title)? else {
            continue;
        };
        match work::ending(&ended, &options.repeats) {
            // Half a proof is none.
            Ending::Interrupted => return Ok(Ending::Interrupted),
            Ending::Done => {}
            other => ending = other,
        }
        proven.push(Comparison::of_sides(&store, ended.run, SIDES, criteria)?);
    }
    let [a_a, a_b] = &proven[..] else { return Ok(Ending::Done) };
    let proof = Proof::of(a_a, a_b, PLANTED);
    if arguments.json {
        output::json(&Versioned::first(&proof))?;
    } else {
        output::text(&proof.terminal(output::width()))?;
    }
    Ok(if proof.holds() { ending } else { Ending::CheckFailed })
}

/// Measures the sides in turns; `None` where it was a dry run, which is then told.
fn in_turns(
    arguments: &Arguments,
    options: &Compare,
    sides: Vec<Side>,
    title: &str,
) -> Result<Option<(Store, Ended)>> {
    let registry = tollway_all::registry();
    let (path, name) = options.preset.split_once('/').ok_or_else(|| Error::Input {
        place: format!("--preset {}", options.preset),
        reason: "it has no `/`".into(),
        remedy: "write PATH/PRESET, for instance crossings/truth".into(),
    })?;
    let lab = laboratory::lab(&registry)?;
    let work = Work {
        title: title.into(),
        presets: vec![laboratory::preset(&registry, path, name)?],
        only: options.only.clone(),
        resume: false,
        together: false,
        budgeted: false,
        pages: Vec::new(),
    };
    let request = work::request(&lab, &options.repeats, work, sides)?;
    if options.repeats.dry_run {
        work::plan(arguments, &lab.estimate(&request)?, options.repeats.export.iter())?;
        return Ok(None);
    }
    lab.check_sides(&request)?;
    let mut store = laboratory::store(&arguments.store)?;
    let mut told = Told::new();
    let ended = lab.run(&mut store, &request, &mut told);
    told.finish();
    Ok(Some((store, ended?)))
}

fn number(text: &str) -> Result<RunId, Error> {
    text.parse().map_err(|_| Error::Input {
        place: format!("run `{text}`"),
        reason: "it is no number".into(),
        remedy: "`tollway history` lists the runs; to compare two programs or settings, add --run".into(),
    })
}
