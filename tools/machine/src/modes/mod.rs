//! Two modes side by side, in turns: what encryption is to cost is foretold first, then each row gets a verdict.

mod document;
mod foretold;
mod page;
mod part;
mod repeated;
mod rows;
mod setback;
mod words;

use std::path::Path;
use std::time::Instant;

use anyhow::Result;
use tollway_core::{Error, Preset};
use tollway_lab::point::Selection;
use tollway_lab::progress::Progress;
use tollway_lab::{Ended, Estimate, Lab, Request, not_kept};
use tollway_report::{Comparison, RunReport};
use tollway_stats::Criteria;
use tollway_store::{RunId, RunState, Store};

pub use document::{DeviationDocument, ForetoldDocument, ModeDocument, ModesDocument, SetDocument};
pub use repeated::{RepeatedDocument, RepeatedRow};
pub use setback::SetbackDocument;

use crate::args::Modes;
use crate::mode::Mode;

/// Share of the time, where it is limited, that is for what the prediction is made of, of a single comparison.
const FOR_TOLLS: f64 = 0.2;

/// How a command ended that did not err.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// All was done.
    Done,
    /// A row failed, or got different verdicts in repetitions.
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
    /// What it found.
    Found(Box<ModesDocument>),
    /// It was interrupted before there was a row, in this run, which has what the prediction is made of.
    Nothing(RunId),
}

/// Two modes, and what is asked about them.
struct Asked<'a> {
    modes: [Mode; 2],
    options: &'a Modes,
}

/// Compares, or lists what can be compared. `warn` is told what cannot be kept.
///
/// # Errors
/// What of modes and options cannot be used, and of the laboratory.
pub fn run(
    options: &Modes,
    lab: &Lab<'_>,
    store: &Path,
    progress: &mut dyn Progress,
    warn: &dyn Fn(&str),
) -> Result<(Told, Ending)> {
    let (Some(a), Some(b)) = (&options.a, &options.b) else {
        return Ok((Told::Listed(Mode::shipped()?.iter().map(ModeDocument::of).collect()), Ending::Done));
    };
    let asked = Asked { modes: both(a, b)?, options };
    let mut request = rows::request(&asked, lab.registry)?;
    let prices = foretold::Prices::of(&request, &asked, lab)?;
    let planned = planned(&request, &prices, options, lab)?;
    if options.repeats.dry_run {
        return Ok((Told::Planned(planned), Ending::Done));
    }
    // The prediction is measured first, and would have been in vain.
    lab.check_sides(&request)?;
    if let Some(said) = options.repeats.time.and_then(|time| not_kept(time, planned.seconds)) {
        warn(&format!("warning: {said}"));
    }
    let begun = Instant::now();
    let mut store = Store::open(store)?;
    let progress = &mut part::OfTheWhole(progress);
    let lost;
    match prices.foretell(lab, &mut store, progress)? {
        Ok(foretelling) => (request.foretold, lost) = (foretelling.rows, foretelling.lost),
        Err(run) => return Ok((Told::Nothing(run), Ending::Interrupted)),
    }
    let mut documents = Vec::new();
    let mut ending = Ending::Done;
    for number in 1..=options.repeat {
        let mut again = request.clone();
        again.seed = again.seed.wrapping_add(u64::from(number - 1));
        if options.repeat > 1 {
            again.title += &format!(", {number} of {}", options.repeat);
        }
        if let Some(time) = options.repeats.time {
            let left = (time - begun.elapsed().as_secs_f64()) / f64::from(options.repeat + 1 - number);
            again.fit_to(left.max(1.0), lab)?;
        }
        let ended = lab.run(&mut store, &again, progress)?;
        documents.push(found(&store, ended.run, &asked, lab, &lost)?);
        ending = ending.and(of_run(&ended, options));
        if ending == Ending::Interrupted {
            break;
        }
    }
    let repeated = (options.repeat > 1).then(|| {
        let whole = documents.len() - usize::from(ending == Ending::Interrupted);
        RepeatedDocument::of(&documents[..whole], options.repeat)
    });
    if repeated.as_ref().is_some_and(|repeated| !repeated.agree) {
        ending = ending.and(Ending::CheckFailed);
    }
    let last = documents.pop().ok_or_else(|| Error::system("comparing modes", "nothing was measured"))?;
    Ok((Told::Found(Box::new(ModesDocument { repeated, ..last })), ending))
}

/// What a run of two modes that was gone on with has come to; nothing where it is only what the prediction is made of.
///
/// # Errors
/// Modes that cannot be read any more, and the store.
pub fn resumed(
    options: &Modes,
    lab: &Lab<'_>,
    store: &Store,
    ended: &Ended,
) -> Result<Option<(ModesDocument, Ending)>> {
    let (Some(a), Some(b), 1) = (&options.a, &options.b, options.repeat) else { return Ok(None) };
    if store.run(ended.run)?.spec.sides.is_empty() {
        return Ok(None);
    }
    let asked = Asked { modes: both(a, b)?, options };
    Ok(Some((found(store, ended.run, &asked, lab, &[])?, of_run(ended, options))))
}

fn both(a: &str, b: &str) -> Result<[Mode; 2]> {
    let modes = [Mode::find(a)?, Mode::find(b)?];
    if modes[0].mode.name == modes[1].mode.name {
        return Err(Error::Input {
            place: format!("modes `{a}` and `{b}`"),
            reason: format!("both have the name `{}`", modes[0].mode.name),
            remedy: "give one of them another name in its file".into(),
        }
        .into());
    }
    Ok(modes)
}

/// What all of it would do and take: no more than the time that it has, but the fewest blocks in any case.
fn planned(request: &Request, prices: &foretold::Prices, options: &Modes, lab: &Lab<'_>) -> Result<Estimate> {
    let times = f64::from(options.repeat);
    let (foretelling, mut whole) = (prices.estimate(lab)?, lab.estimate(request)?);
    let mut least = request.clone();
    for preset in &mut least.selection.presets {
        preset.trial.runs = preset.trial.runs.min(foretold::BLOCKS);
    }
    let least = lab.estimate(&least)?.seconds * times;
    whole.seconds *= times;
    whole.trials *= u64::from(options.repeat);
    if let Some(foretelling) = foretelling {
        whole.seconds += foretelling.seconds;
        whole.trials += foretelling.trials;
        whole.footprint.add(foretelling.footprint);
        whole.points.splice(0..0, foretelling.points);
        if let Some(time) = options.repeats.time {
            whole.seconds = whole.seconds.min(time.max(least + foretelling.seconds));
        }
    } else if let Some(time) = options.repeats.time {
        whole.seconds = whole.seconds.min(time.max(least));
    }
    Ok(whole)
}

impl Ending {
    /// How both ended: what is worse.
    fn and(self, other: Ending) -> Ending {
        let rank = |ending| match ending {
            Ending::Done => 0,
            Ending::RequirementMissing => 1,
            Ending::CheckFailed => 2,
            Ending::Interrupted => 3,
        };
        if rank(other) > rank(self) { other } else { self }
    }
}

fn of_run(ended: &Ended, options: &Modes) -> Ending {
    match ended {
        Ended { state: RunState::Interrupted, .. } => Ending::Interrupted,
        Ended { failed, .. } if *failed > 0 => Ending::CheckFailed,
        Ended { skipped, .. } if *skipped > 0 && options.repeats.strict => Ending::RequirementMissing,
        _ => Ending::Done,
    }
}

/// What a run of two modes has come to.
fn found(
    store: &Store,
    run: RunId,
    asked: &Asked<'_>,
    lab: &Lab<'_>,
    lost: &[setback::Lost],
) -> Result<ModesDocument> {
    let criteria = Criteria { margin: asked.options.margin / 100.0, ..Criteria::default() };
    let labels = [0, 1].map(|side| &*asked.modes[side].mode.name);
    let comparison = Comparison::of_sides(store, run, labels, criteria)?;
    let report = RunReport::from_store(store, run)?;
    let titles = rows::titles(asked, lab.registry)?;
    Ok(ModesDocument::of(asked, comparison, report.document(), &titles, lost))
}

/// What the laboratory is asked for.
fn laboratory(title: String, presets: Vec<Preset>, options: &Modes) -> Request {
    Request {
        title,
        selection: Selection { presets, only: Vec::new() },
        sides: Vec::new(),
        seed: options.repeats.seed,
        together: false,
        without_tolls: true,
        foretold: Vec::new(),
        narrow: None,
        within: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_worse_is_how_it_ended() {
        use Ending::{CheckFailed, Done, Interrupted, RequirementMissing};
        assert_eq!(Done.and(RequirementMissing).and(Done), RequirementMissing);
        assert_eq!(CheckFailed.and(RequirementMissing), CheckFailed);
        assert_eq!(Done.and(Interrupted).and(CheckFailed), Interrupted);
    }

    #[test]
    fn two_modes_of_one_name_are_refused() {
        let error = both("balanced", "balanced").unwrap_err().to_string();
        assert!(
            error.contains("modes `balanced` and `balanced`") && error.contains("another name"),
            "{error}"
        );
    }
}
