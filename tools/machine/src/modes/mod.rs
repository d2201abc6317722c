//! Two modes side by side, in turns: what encryption is to cost is foretold first, then each row gets a verdict.

mod document;
mod foretold;
mod words;

use std::path::Path;

use anyhow::Result;
use tollway_core::{Case, Error, OneOrMany, Preset, Value};
use tollway_lab::point::Selection;
use tollway_lab::progress::Progress;
use tollway_lab::{Ended, Estimate, Lab, Request};
use tollway_report::{Comparison, RunReport};
use tollway_stats::Criteria;
use tollway_store::{RunId, RunState, Store};

pub use document::{ForetoldDocument, ModeDocument, ModesDocument};

use crate::PATH;
use crate::args::Modes;
use crate::mode::Mode;
use crate::suite;

/// The presets: in guests, and on this machine itself.
const IN_GUESTS: &str = "modes";
const HERE: &str = "quick";

/// Share of the time, where it is limited, that is for what the prediction is made of.
const FOR_TOLLS: f64 = 0.2;

/// How a command ended that did not err.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// All was done.
    Done,
    /// A row failed.
    CheckFailed,
    /// Something is lacking, and --strict was given.
    RequirementMissing,
    /// It was interrupted; what was measured is kept.
    Interrupted,
}

/// What it has to tell.
pub enum Told {
    /// The modes that there are.
    Listed(Vec<ModeDocument>),
    /// What it would do.
    Planned(Estimate),
    /// What it found; nothing of what was interrupted before there was anything.
    Found(Option<Box<ModesDocument>>),
}

/// Compares, or lists what can be compared.
///
/// # Errors
/// What of modes and options cannot be used, and of the laboratory.
pub fn run(
    options: &Modes,
    lab: &Lab<'_>,
    store: &Path,
    progress: &mut dyn Progress,
) -> Result<(Told, Ending)> {
    let (Some(a), Some(b)) = (&options.a, &options.b) else {
        return Ok((Told::Listed(Mode::shipped()?.iter().map(ModeDocument::of).collect()), Ending::Done));
    };
    let modes = [Mode::find(a)?, Mode::find(b)?];
    if modes[0].mode.name == modes[1].mode.name {
        return Err(Error::Input {
            place: format!("modes `{a}` and `{b}`"),
            reason: "both have the same name".into(),
            remedy: "give one of them another name in its file".into(),
        }
        .into());
    }
    let mut request = request(options, lab, &modes)?;
    if let Some(seconds) = options.repeats.time {
        request.fit_to(seconds * (1.0 - FOR_TOLLS), lab.registry)?;
    }
    if options.repeats.dry_run {
        return Ok((Told::Planned(lab.estimate(&request)?), Ending::Done));
    }
    let mut store = Store::open(store)?;
    let Some(foretold) = foretold::of(&request, options, lab, &mut store, progress)? else {
        return Ok((Told::Found(None), Ending::Interrupted));
    };
    request.foretold = foretold;
    let ended = lab.run(&mut store, &request, progress)?;
    let document = found(&store, ended.run, &modes, options)?;
    Ok((Told::Found(Some(Box::new(document))), ending(&ended, options)))
}

fn ending(ended: &Ended, options: &Modes) -> Ending {
    match ended {
        Ended { state: RunState::Interrupted, .. } => Ending::Interrupted,
        Ended { failed, .. } if *failed > 0 => Ending::CheckFailed,
        Ended { skipped, .. } if *skipped > 0 && options.repeats.strict => Ending::RequirementMissing,
        _ => Ending::Done,
    }
}

/// What a run of two modes has come to.
fn found(store: &Store, run: RunId, modes: &[Mode; 2], options: &Modes) -> Result<ModesDocument> {
    let criteria = Criteria { margin: options.margin / 100.0, ..Criteria::default() };
    let labels = [0, 1].map(|side| &*modes[side].mode.name);
    let comparison = Comparison::of_sides(store, run, labels, criteria)?;
    let report = RunReport::from_store(store, run)?;
    Ok(ModesDocument::of(modes, options, comparison, report.document()))
}

/// The rows, on both sides, until they are known narrowly.
fn request(options: &Modes, lab: &Lab<'_>, modes: &[Mode; 2]) -> Result<Request> {
    let name = if options.host { HERE } else { IN_GUESTS };
    let mut rows = suite::preset(lab.registry, PATH, name)?;
    let path = lab.registry.path(PATH)?;
    rows.case = suite::points(&rows, path, &options.part)?
        .iter()
        .map(|(variant, params)| with_business(suite::case(variant, params), options.business))
        .collect();
    rows.axes = Case::default();
    rows.trial.runs = options.repeats.runs.unwrap_or(rows.trial.runs);
    let sides = modes.iter().map(|mode| mode.side(!options.host)).collect();
    let title = format!("machine modes {} {}", modes[0].mode.name, modes[1].mode.name);
    Ok(Request { sides, narrow: Some(options.until / 100.0), ..asked(title, rows, options) })
}

fn with_business(mut case: Case, business: bool) -> Case {
    if business {
        case.0.insert("business".into(), OneOrMany::One(Value::from("service")));
    }
    case
}

/// What the laboratory is asked for.
fn asked(title: String, preset: Preset, options: &Modes) -> Request {
    Request {
        title,
        selection: Selection { presets: vec![preset], only: Vec::new() },
        sides: Vec::new(),
        seed: options.repeats.seed,
        together: false,
        without_tolls: true,
        foretold: Vec::new(),
        narrow: None,
        within: None,
    }
}
