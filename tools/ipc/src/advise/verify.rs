//! The proof: every way that was foretold, at every step, with the predictions in the store before the first trial.

use anyhow::Result;
use tollway_core::{Preset, TrialSpec};
use tollway_lab::{Ended, Foretold, Request};
use tollway_report::document::Span;
use tollway_stats::Interval;
use tollway_store::{Point, PointState, Store};

use super::asked::{Asked, Way};
use super::choice::Advice;
use super::document::{CheckDocument, FateDocument, VerifiedDocument, VerifiedStep};
use super::foretold::Foreseen;
use crate::PATH;
use crate::args::advise::Advise;
use crate::request;
use crate::span::{outcome, span};
use crate::step::{StepDocument, cost_by_block, ratio};

/// How what was foretold is tried.
const TRIAL: TrialSpec = TrialSpec { window_ms: 20.0, warmup_ms: 2.0, runs: 6, repeats: 2 };

/// A crossover that was foretold holds if all that the measured one may be is no more than so many steps off.
const NEAR: usize = 1;

/// Every point that is foretold.
pub(super) fn preset(asked: &Asked, trial: TrialSpec) -> Preset {
    let case = |(way, n): (Way, u64)| request::case(way.variant(), &asked.set(way, n));
    request::preset("advise", PATH, asked.places().into_iter().map(case).collect(), trial)
}

/// The proof without what was foretold: what it takes, for who only wants to know that.
pub(super) fn without_foretold(asked: &Asked, options: &Advise) -> Request {
    let presets = vec![preset(asked, TrialSpec { runs: options.runs, ..TRIAL })];
    Request { without_tolls: true, ..request::request("ipc advise --verify".into(), presets, options.seed) }
}

/// The proof, with the predictions that the advice was made of.
pub(super) fn request(asked: &Asked, foreseen: &Foreseen, options: &Advise) -> Request {
    let foretold = foreseen.said.iter().map(|said| Foretold {
        path: PATH.into(),
        variant: said.way.variant().into(),
        params: said.params.clone(),
        forecast: said.forecast.clone(),
    });
    Request { foretold: foretold.collect(), ..without_foretold(asked, options) }
}

/// Reads what became of the advice.
///
/// # Errors
/// If the store cannot be read.
pub(super) fn read(
    asked: &Asked,
    foreseen: &Foreseen,
    advice: &Advice,
    store: &Store,
    ended: &Ended,
    hz: f64,
) -> Result<VerifiedDocument> {
    let points = store.points(ended.run)?;
    let ns = 1e9 / hz;
    let find = |way: Way, n: u64| {
        let said = foreseen.at(way, n)?;
        let is = |point: &&Point| {
            point.spec.variant == way.variant()
                && point.spec.params == said.params
                && matches!(point.state, PointState::Done)
        };
        points.iter().find(is)
    };
    let mut steps = Vec::new();
    for (way, n) in asked.places() {
        let (Some(point), Some(said)) = (find(way, n), foreseen.at(way, n)) else { continue };
        let Some(figure) = store.figure(point.id)? else { continue };
        // The figure that the prediction speaks of.
        let Some(measured) = figure.foretold.or(figure.median) else { continue };
        steps.push(VerifiedStep {
            way: way.title().into(),
            concurrency: n,
            foretold_ns: span(&said.ticks(), ns),
            measured_ns: span(&measured, ns),
            outcome: figure.grade.map(|grade| outcome(grade.outcome).into()),
        });
    }
    let over = |of: Way, to: Way, n: u64| -> Result<Option<Interval>> {
        let (Some(of), Some(to)) = (find(of, n), find(to, n)) else { return Ok(None) };
        Ok(ratio(&cost_by_block(store, of.id)?, &cost_by_block(store, to.id)?))
    };
    let mut checks = Vec::new();
    if let Some(other) = advice.other {
        let gain = over(other, advice.best, advice.together)?;
        checks.push(CheckDocument {
            what: format!(
                "{} is cheaper than {} with {} at a time",
                advice.best.title(),
                other.title(),
                advice.together
            ),
            foretold: advice.gain.map_or_else(String::new, |gain| format!("{:.2} times", gain.estimate)),
            measured: gain.as_ref().map_or_else(
                || "not measured".into(),
                |gain| format!("{:.2} times [{:.2}, {:.2}]", gain.estimate, gain.lo, gain.hi),
            ),
            fate: cheaper(gain.as_ref()),
        });
    }
    let last = asked.ladder.last().copied().unwrap_or_default();
    for crossing in &advice.crossings {
        let mut ratios = Vec::new();
        for n in &asked.ladder {
            ratios.extend(over(Way::Async, crossing.below, *n)?);
        }
        let measured = StepDocument::found(&ratios, &asked.ladder);
        checks.push(CheckDocument {
            what: format!("async comes below the {}", crossing.below.title()),
            foretold: crossing.step.words(last),
            measured: measured.map_or_else(|| "not measured".into(), |step| step.words(last)),
            fate: measured
                .map_or(FateDocument::NotTried, |step| crossed(&step, &crossing.step, &asked.ladder)),
        });
    }
    Ok(VerifiedDocument { run: ended.run.0, steps, checks })
}

/// What becomes of a crossover that was foretold.
pub(super) fn crossed(measured: &StepDocument, foretold: &StepDocument, ladder: &[u64]) -> FateDocument {
    match measured.is_near(foretold, NEAR, ladder) {
        Some(true) => FateDocument::Holds,
        Some(false) => FateDocument::Missed,
        None => FateDocument::NotSeparable,
    }
}

/// What becomes of "it is cheaper", by the cost of the other over its own.
pub(super) fn cheaper(gain: Option<&Interval>) -> FateDocument {
    match gain {
        None => FateDocument::NotTried,
        Some(gain) if gain.lo > 1.0 => FateDocument::Holds,
        Some(gain) if gain.hi < 1.0 => FateDocument::Missed,
        Some(_) => FateDocument::NotSeparable,
    }
}

impl VerifiedDocument {
    /// Whether something of the advice was wrong, or nothing of it could be tried.
    pub(super) fn missed(&self) -> bool {
        self.checks.iter().any(|check| check.fate == FateDocument::Missed)
            || self.checks.iter().all(|check| check.fate == FateDocument::NotTried)
    }
}

/// How far a measured time lies from a foretold one, of the farthest step.
pub(super) fn farthest(steps: &[VerifiedStep]) -> Option<f64> {
    let off = |step: &VerifiedStep| {
        let (Span { estimate: foretold, .. }, Span { estimate: measured, .. }) =
            (step.foretold_ns, step.measured_ns);
        foretold / measured - 1.0
    };
    steps.iter().map(off).max_by(|a, b| a.abs().total_cmp(&b.abs()))
}
