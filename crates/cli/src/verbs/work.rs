//! What the verbs that measure have in common: what is to be measured, how it is carried out, and how that is told.

use std::path::{Path, PathBuf};

use anyhow::Result;
use serde::Serialize;
use tollway_core::{Preset, Registry};
use tollway_lab::point::Selection;
use tollway_lab::{self as lab, Ended, Estimate, Lab, Request, Share, not_kept};
use tollway_report::RunReport;
use tollway_store::{RunState, Store};

use crate::args::{Arguments, Repeats};
use crate::exit::Ending;
use crate::laboratory;
use crate::output::{self, Format, Versioned};
use crate::progress_bar::Told;

/// What is to be measured.
pub struct Work {
    /// What a person calls it.
    pub title: String,
    /// The presets.
    pub presets: Vec<Preset>,
    /// Only points that contain one of these.
    pub only: Vec<String>,
    /// Whether to go on with an unfinished run instead.
    pub resume: bool,
    /// Whether tolls and what needs them are measured in the same blocks.
    pub together: bool,
    /// Whether the presets' budgets are kept to, where the command line says nothing else of time.
    pub budgeted: bool,
    /// Files that are written besides the store and the export, for a dry run to name.
    pub pages: Vec<PathBuf>,
}

/// A run that was measured, and what asked for it.
pub struct Measured<'a> {
    /// The command line, by which it was begun or has gone on.
    pub arguments: &'a Arguments,
    /// What that says of all runs.
    pub repeats: &'a Repeats,
    /// All paths.
    pub registry: &'a Registry,
    /// Where the run is.
    pub store: &'a Store,
    /// How it ended.
    pub ended: &'a Ended,
    /// All that it measured.
    pub report: RunReport,
}

impl<'a> Measured<'a> {
    /// With all that the run measured.
    pub fn of(
        arguments: &'a Arguments,
        repeats: &'a Repeats,
        registry: &'a Registry,
        (store, ended): (&'a Store, &'a Ended),
    ) -> Result<Measured<'a>> {
        let report = RunReport::from_store(store, ended.run)?;
        Ok(Measured { arguments, repeats, registry, store, ended, report })
    }

    /// How it ended, for the exit code.
    pub fn ending(&self) -> Ending {
        ending(self.ended, self.repeats)
    }
}

/// Measures into the store; `None` where it was a dry run, which is then told.
pub fn carry_out(
    arguments: &Arguments,
    repeats: &Repeats,
    lab: &Lab<'_>,
    work: Work,
) -> Result<Option<(Store, Ended)>> {
    if let Some(file) = &repeats.export {
        // A name that cannot be used is told before anything is measured.
        Format::of(file)?;
        output::check_writable(file)?;
    }
    let mut told = Told::new();
    if work.resume {
        let mut store = laboratory::store_of_unfinished(&arguments.store)?;
        let ended = lab.resume(&mut store, &mut told);
        told.finish();
        return Ok(Some((store, ended?)));
    }
    let pages = work.pages.clone();
    let request = request(lab, repeats, work, Vec::new())?;
    if repeats.dry_run {
        plan(arguments, &lab.estimate(&request)?, pages.iter().chain(&repeats.export))?;
        return Ok(None);
    }
    if let Some(line) = time_of_each(&request) {
        output::tell(&line);
    }
    let mut store = laboratory::store(&arguments.store)?;
    let ended = lab.run(&mut store, &request, &mut told);
    told.finish();
    Ok(Some((store, ended?)))
}

/// The request that presets and command line make together.
pub fn request(
    lab: &Lab<'_>,
    repeats: &Repeats,
    work: Work,
    sides: Vec<tollway_lab::side::Side>,
) -> Result<Request> {
    let selection = Selection { presets: laboratory::adjust(work.presets, repeats)?, only: work.only };
    let mut request = Request {
        title: work.title,
        selection,
        sides,
        seed: repeats.seed,
        together: work.together,
        without_tolls: false,
        foretold: Vec::new(),
        narrow: None,
        within: None,
    };
    // A selection that cannot be used is told before there is a store.
    request.points(lab.registry)?;
    // Who says how many blocks is to have them, and waits for them.
    let budget = tollway_lab::budget(&request.selection.presets);
    let budget = budget.filter(|_| work.budgeted && repeats.runs.is_none());
    if let Some(asked) = repeats.time.or(budget) {
        request.fit_to(asked, lab)?;
        let least = lab.estimate(&request)?.seconds;
        if let Some(said) = not_kept(asked, least) {
            output::tell(&format!("warning: {said}"));
        }
    }
    Ok(request)
}

/// What a dry run prints: the plan, and the files that are written.
#[derive(Serialize)]
struct Planned<'e> {
    #[serde(flatten)]
    estimate: &'e Estimate,
    writes: Vec<String>,
}

/// Prints what a command has to tell.
pub fn tell<D: Serialize>(
    arguments: &Arguments,
    finding: &lab::Finding<D>,
    text: impl FnOnce(&D) -> String,
) -> Result<()> {
    match finding {
        lab::Finding::Planned(estimate) => plan(arguments, estimate, std::iter::empty()),
        lab::Finding::Found(None) => Ok(()),
        lab::Finding::Found(Some(document)) if arguments.json => output::json(document),
        lab::Finding::Found(Some(document)) => Ok(output::text(&text(document))?),
    }
}

/// Tells what would be done, what of the machine that uses, and what is written: the store, and these files.
pub fn plan<'f>(
    arguments: &Arguments,
    estimate: &Estimate,
    files: impl Iterator<Item = &'f PathBuf>,
) -> Result<()> {
    let mut writes = vec![arguments.store.display().to_string()];
    writes.extend(files.map(|file| file.display().to_string()));
    if arguments.json {
        return output::json(&Versioned::first(Planned { estimate, writes }));
    }
    let mut text = String::new();
    for point in &estimate.points {
        match &point.missing {
            None => {
                text += &format!(
                    "{:5} trials  {} ({} {})\n",
                    point.trials, point.title, point.path, point.variant
                )
            }
            Some(missing) => text += &format!("    skipped  {}: {missing}\n", point.title),
        }
    }
    if estimate.shares.len() > 1 {
        text += &shares(&estimate.shares);
    }
    let footprint = estimate.footprint.lines();
    let privileges = match footprint.is_empty() {
        true => "nothing needs root but what a skipped line says",
        false => "of privileges it needs what these lines say, and what a skipped line says",
    };
    footprint.iter().for_each(|line| text += &format!("{line}\n"));
    text += &format!(
        "{} trials, about {:.0} s; {} of {} points skipped; {privileges}\nwrites {}\n",
        estimate.trials,
        estimate.seconds,
        estimate.points.iter().filter(|p| p.missing.is_some()).count(),
        estimate.points.len(),
        writes.join(", "),
    );
    Ok(output::text(&text)?)
}

/// The time of a run that is divided among paths, and of each; `None` of another.
fn time_of_each(request: &Request) -> Option<String> {
    let presets = &request.selection.presets;
    let (within, all) = (request.within?, tollway_lab::budget(presets)?);
    let each = presets.iter().filter_map(|preset| {
        let seconds = preset.preset.budget_s? * within / all;
        Some(format!("{} {seconds:.0} s", preset.preset.path))
    });
    let each: Vec<String> = each.collect();
    (each.len() > 1).then(|| {
        format!("time: {within:.0} s, for {}; what is left of it is for headlines", each.join(" · "))
    })
}

/// What each path takes of a run, and what it may take.
fn shares(shares: &[Share]) -> String {
    let mut text = format!("{:12} {:>7} {:>9} {:>8}\n", "path", "trials", "takes", "budget");
    for Share { path, trials, seconds, budget, .. } in shares {
        let budget = budget.map_or("–".into(), |budget| format!("{budget:.0} s"));
        text += &format!("{path:12} {trials:>7} {:>9} {budget:>8}\n", format!("{seconds:.0} s"));
    }
    text
}

/// Prints a report, and exports it where that was asked for.
pub fn show(arguments: &Arguments, repeats: &Repeats, report: &RunReport) -> Result<()> {
    if let Some(file) = &repeats.export {
        export_measured(file, report)?;
    }
    if arguments.json {
        output::json(report.document())
    } else {
        Ok(output::text(&report.terminal(output::width()))?)
    }
}

/// Writes a report to a file, in the format that its ending names.
pub fn export(file: &Path, report: &RunReport) -> Result<()> {
    output::write(file, &exported(file, report)?)
}

/// The same of a run that was just measured: where that has come to nothing, an older file is left.
pub fn export_measured(file: &Path, report: &RunReport) -> Result<()> {
    write_page(file, report, || exported(file, report)).map(drop)
}

fn exported(file: &Path, report: &RunReport) -> Result<String> {
    Ok(match Format::of(file)? {
        Format::Json => report.json()?,
        Format::Csv => report.csv(),
        Format::Markdown => report.markdown(),
    })
}

/// Writes what was made of a run that was just measured; false where an older file was left, since the run
/// has come to nothing.
pub fn write_page(file: &Path, report: &RunReport, content: impl FnOnce() -> Result<String>) -> Result<bool> {
    output::write_or_keep(file, report.has_come_to_nothing(), content)
}

/// How a run ended, for the exit code.
pub fn ending(ended: &Ended, repeats: &Repeats) -> Ending {
    if ended.state == RunState::Interrupted {
        Ending::Interrupted
    } else if ended.failed > 0 {
        Ending::CheckFailed
    } else if ended.skipped > 0 && repeats.strict {
        Ending::RequirementMissing
    } else {
        Ending::Done
    }
}
