//! `tollway cipher plan`: how much the card can do so that responses keep a service level, by each way of telling.

mod document;
mod search;
mod text;

use std::path::Path;

use anyhow::Result;
use tollway_core::TrialSpec;
use tollway_lab::progress::Progress;
use tollway_lab::{Estimate, Finding, Lab};
use tollway_store::{RunState, Store};

use crate::Ending;
use crate::args::plan::Plan;
use crate::fitted::asked::Asked;
use crate::fitted::foreseen::{self, Foreseen};
use crate::fitted::observed::Observed;
use crate::fitted::way::Way;
use crate::predict::{Asking, WATCHED, fitted, fitting, freeze, measured, simulated};
pub use document::{ChoiceDocument, PlanDocument, VerifiedDocument};
use search::{Choice, Looked};

/// Blocks of a trial of what was found.
const RUNS: u32 = 8;

/// Fits, looks, tries what was found where that is wanted, and tells.
///
/// # Errors
/// What was asked for cannot be, or this machine lacks what it takes.
pub fn run(
    options: &Plan,
    lab: &Lab<'_>,
    store: &Path,
    progress: &mut dyn Progress,
) -> Result<(Finding<PlanDocument>, Ending)> {
    let asked = Asked {
        registry: lab.registry,
        cipher: options.cipher.name,
        size: options.size,
        tenants: options.tenants,
        seed: options.seed,
    };
    if options.dry_run {
        return Ok((Finding::Planned(planned(options, &asked, lab)?), Ending::Done));
    }
    let mut store = Store::open(store)?;
    let fitted = fitted(&asked, "cipher plan", options.requests, lab, &mut store, progress)?;
    let Some(fitted) = fitted else {
        return Ok((Finding::Found(None), Ending::Interrupted));
    };
    let looked = Looked { fit: &fitted.fit, asked: &asked, level: options.slo };
    let mut choices = Vec::new();
    for way in options.ways.iter().flat_map(Way::looked_through) {
        choices.push(match options.rate {
            Some(rate) => looked.most_tenants(&way, f64::from(rate))?,
            None => looked.largest_load(&way)?,
        });
    }
    let best = best(&choices);
    let mut document = PlanDocument::of(options, &fitted, &choices, best);
    let Some(Choice { way, found: Some(found), .. }) = best.and_then(|at| choices.get(at)) else {
        return Ok((Finding::Found(Some(document)), Ending::CheckFailed));
    };
    if !options.verify {
        return Ok((Finding::Found(Some(document)), Ending::Done));
    }
    progress.stage("what was found");
    let asked = Asked { tenants: found.tenants, ..asked };
    let at = asked.card(way, found.rate as u64, found.tenants, false)?;
    let all = found.rate * f64::from(found.tenants);
    let trial = trial(options.requests, all);
    let asking = Asking {
        at: at.clone(),
        way: way.clone(),
        rate: found.rate,
        tenants: found.tenants,
        trial: trial.clone(),
    };
    let (answer, block) = simulated(&fitted.fit, &asking, asked.seed)?;
    let foreseen = Foreseen::of(&answer, block);
    // Of quantiles but the 99th no block has kept its own: they are those of all requests.
    let foretold = match options.slo.share {
        None => foreseen.mean,
        Some(0.99) => foreseen.p99,
        Some(share) => answer.quantile(share),
    };
    let frozen = vec![freeze(&foreseen, &at, &fitted.fit, lab.hz)];
    let points = [at.clone()];
    let ended = lab.run(&mut store, &asked.request("cipher plan", &[(&points, trial)], frozen), progress)?;
    if ended.state == RunState::Interrupted {
        return Ok((Finding::Found(Some(document)), Ending::Interrupted));
    }
    let observed = Observed::read(&store, ended.run, &at, lab.hz)?;
    let mm1 = foreseen::mm1(foreseen.occupied, all).map(|(mean, _)| mean);
    document.verified(options.slo, foretold, &observed, &measured(&observed, mm1)?, ended.run);
    let as_planned = document.verified.as_ref().is_some_and(VerifiedDocument::as_planned);
    Ok((Finding::Found(Some(document)), if as_planned { Ending::Done } else { Ending::CheckFailed }))
}

/// The trial of the configuration that was found; `rate`: requests a second of all tenants.
fn trial(requests: u64, rate: f64) -> TrialSpec {
    let window_ms = 1e3 * requests as f64 / rate / f64::from(RUNS);
    TrialSpec { window_ms: window_ms.max(50.0), warmup_ms: 20.0, runs: RUNS, repeats: 1 }
}

/// What would be measured: a request takes the card about as long as the library, called here, and what is found is about the load
/// for which the machine is watched.
fn planned(options: &Plan, asked: &Asked<'_>, lab: &Lab<'_>) -> Result<Estimate> {
    let serve = asked.by_library()?;
    let mut estimate = fitting(asked, "cipher plan", options.requests, serve, lab)?;
    if options.verify {
        let all = WATCHED * 1e9 / serve;
        let way = options.ways.iter().flat_map(Way::looked_through).next();
        let way = way.unwrap_or_else(Way::busy);
        let at = asked.card(&way, (all / f64::from(asked.tenants)) as u64, asked.tenants, false)?;
        estimate.add(lab.estimate(&asked.request(
            "cipher plan",
            &[(&[at], trial(options.requests, all))],
            Vec::new(),
        ))?);
    }
    Ok(estimate)
}

/// The way that does most; of ways that do as much, to a twentieth, the one that takes the least of the processors.
fn best(choices: &[Choice]) -> Option<usize> {
    let all = |choice: &Choice| choice.found.as_ref().map(|found| found.rate * f64::from(found.tenants));
    let most = choices.iter().filter_map(all).fold(0.0, f64::max);
    let near = |(_, choice): &(usize, &Choice)| all(choice).is_some_and(|rate| rate >= 0.95 * most);
    let takes =
        |choice: &Choice| choice.found.as_ref().map_or(f64::INFINITY, |found| found.foreseen.processors);
    let near = choices.iter().enumerate().filter(near);
    near.min_by(|(_, a), (_, b)| takes(a).total_cmp(&takes(b))).map(|(at, _)| at)
}
