//! What the trials of a sweep came to, read from the store.

use std::collections::BTreeMap;

use anyhow::Result;
use tollway_core::{Registry, Spread};
use tollway_lab::Ended;
use tollway_report::document::Span;
use tollway_report::quantile;
use tollway_stats::Interval;
use tollway_store::{Point, PointState, RunSpec, RunState, Store, Trial};

use super::document::{
    CrossoverDocument, FailedDocument, ForetoldDocument, LatencyDocument, SkippedDocument, SweepDocument,
    SweptDocument,
};
use super::plan::{Place, Sweep, Way};
use crate::args::words::Cores;
use crate::span::{a_second, outcome, span};
use crate::step::{StepDocument, cost_by_block, foretold_ratio, ratio};

/// A counter that the laboratory adds of the whole machine begins so.
const OF_THE_MACHINE: &str = "machine_";

/// What a run of the store found of the sweep that it was begun for.
///
/// # Errors
/// If the store cannot be read.
pub fn found(sweep: &Sweep, store: &Store, ended: &Ended, registry: &Registry) -> Result<SweepDocument> {
    let RunSpec { seed, hz, .. } = store.run(ended.run)?.spec;
    let (points, trials) = (store.points(ended.run)?, store.trials(ended.run)?);
    let mut document = SweepDocument {
        schema_version: 1,
        application: sweep.name.into(),
        run: ended.run.0,
        seed,
        interrupted: ended.state == RunState::Interrupted,
        axis: sweep.axis.into(),
        ladder: sweep.ladder.clone(),
        points: Vec::new(),
        crossovers: Vec::new(),
        skipped: Vec::new(),
        failed: Vec::new(),
        quiet_share: quiet(&trials),
    };
    let mut found: Vec<(Place, &Point)> = Vec::new();
    for place in sweep.places() {
        let axes = registry.path(crate::PATH)?.variant(place.way.variant)?.axes();
        let params = place.params.clone().complete(&axes)?;
        let point = points.iter().find(|p| p.spec.variant == place.way.variant && p.spec.params == params);
        found.extend(point.map(|point| (place, point)));
    }
    for point in &points {
        let title = point.spec.title.clone();
        match &point.state {
            PointState::Skipped(missing) => document.skipped.push(SkippedDocument {
                point: title,
                what: missing.what.clone(),
                reason: missing.reason.clone(),
                remedy: missing.remedy.clone(),
            }),
            PointState::Failed(reason) => {
                document.failed.push(FailedDocument { point: title, reason: reason.clone() });
            }
            PointState::Pending | PointState::Done => {}
        }
    }
    for (place, point) in &found {
        let of: Vec<&Trial> = trials.iter().filter(|trial| trial.point == point.id).collect();
        document.points.extend(swept(sweep, store, place, point, &of, hz)?);
    }
    document.crossovers = crossovers(sweep, store, &found)?;
    Ok(document)
}

fn quiet(trials: &[Trial]) -> Option<f64> {
    let quiet = trials.iter().filter(|trial| trial.quiet).count();
    (!trials.is_empty()).then(|| quiet as f64 / trials.len() as f64)
}

/// One point; `None` without a figure.
fn swept(
    sweep: &Sweep,
    store: &Store,
    place: &Place,
    point: &Point,
    trials: &[&Trial],
    hz: f64,
) -> Result<Option<SweptDocument>> {
    let Some(figure) = store.figure(point.id)? else { return Ok(None) };
    let time = if sweep.times_waits { store.pace(point.id)? } else { store.work(point.id)? };
    let Some(time) = time else { return Ok(None) };
    let ns = 1e9 / hz;
    let time_ns = span(&time, ns);
    let foretold = figure.prediction.as_ref().map(|prediction| {
        let forecast = &prediction.forecast;
        ForetoldDocument {
            time_ns: Span { estimate: forecast.ticks * ns, lo: forecast.lo * ns, hi: forecast.hi * ns },
            measured_ns: figure.foretold.map(|measured| span(&measured, ns)),
            model: forecast.model.clone(),
            outcome: figure.grade.map(|grade| outcome(grade.outcome).into()),
        }
    });
    Ok(Some(SweptDocument {
        variant: place.way.variant.into(),
        synchronous: place.way.is_sync,
        at_a_time: place.step,
        cores: place.cores.map(Cores::number),
        time_ns,
        per_second: a_second(&time_ns),
        latency_ns: latency(sweep, store, point, ns)?,
        foretold,
        counts: counts(trials),
        trials: figure.trials,
    }))
}

/// How long requests took: what was timed where that is it, else the first stage that was.
fn latency(sweep: &Sweep, store: &Store, point: &Point, ns: f64) -> Result<Option<LatencyDocument>> {
    let spread = if sweep.times_waits {
        Some(store.spread(point.id)?)
    } else {
        store.stages(point.id)?.into_iter().next().map(|stage| {
            let mut all = Spread::default();
            stage.blocks.values().for_each(|block| all.merge(block));
            all
        })
    };
    let read = |spread: &Spread| {
        let at = |q: f64| quantile(spread, q).map(|ticks| ticks * ns);
        Some(LatencyDocument { mean: spread.mean()? * ns, p50: at(0.5)?, p99: at(0.99), p999: at(0.999) })
    };
    Ok(spread.as_ref().and_then(read))
}

/// What the actors counted, for each operation that they counted.
fn counts(trials: &[&Trial]) -> BTreeMap<String, f64> {
    let mut sums: BTreeMap<&str, u64> = BTreeMap::new();
    for (name, count) in trials.iter().flat_map(|trial| &trial.tally.counters) {
        *sums.entry(name).or_default() += count;
    }
    let operations = sums.remove("operations").filter(|n| *n > 0);
    let each = |n: u64| move |(name, count): (&str, u64)| (name.to_string(), count as f64 / n as f64);
    sums.retain(|name, _| !name.starts_with(OF_THE_MACHINE));
    operations.map(|n| sums.into_iter().map(each(n)).collect()).unwrap_or_default()
}

/// Of every asynchronous way against every synchronous one, on as many cores.
fn crossovers(sweep: &Sweep, store: &Store, found: &[(Place, &Point)]) -> Result<Vec<CrossoverDocument>> {
    let mut all = Vec::new();
    let one = |way: &Way, step: u64, cores: Cores| {
        let is = |(place, _): &&(Place, &Point)| {
            place.way == *way
                && place.step.is_none_or(|of| of == step)
                && place.cores.is_none_or(|of| of == cores)
        };
        found.iter().find(is).map(|(_, point)| *point)
    };
    let block = |point: &Point| match sweep.times_waits {
        true => store.pace_by_block(point.id),
        false => cost_by_block(store, point.id),
    };
    for cores in &sweep.cores {
        for of in sweep.ways.iter().filter(|way| !way.is_sync) {
            for below in sweep.ways.iter().filter(|way| way.is_sync) {
                let (mut measured, mut foretold): (Vec<Interval>, Vec<Interval>) = (Vec::new(), Vec::new());
                for step in &sweep.ladder {
                    let (Some(of), Some(below)) = (one(of, *step, *cores), one(below, *step, *cores)) else {
                        continue;
                    };
                    if [of, below].iter().any(|point| matches!(point.state, PointState::Failed(_))) {
                        continue;
                    }
                    measured.extend(ratio(&block(of)?, &block(below)?));
                    let forecasts = forecast(store, of)?.zip(forecast(store, below)?);
                    foretold.extend(forecasts.and_then(|(of, below)| foretold_ratio(&of, &below)));
                }
                let Some(measured) = StepDocument::found(&measured, &sweep.ladder) else { continue };
                all.push(CrossoverDocument {
                    of: of.variant.into(),
                    below: below.variant.into(),
                    cores: cores.number(),
                    measured,
                    foretold: StepDocument::found(&foretold, &sweep.ladder),
                });
            }
        }
    }
    Ok(all)
}

/// What was foretold of a point, with its ends.
fn forecast(store: &Store, point: &Point) -> Result<Option<Interval>> {
    let forecast = store.prediction(point.id)?.map(|prediction| prediction.forecast);
    Ok(forecast.and_then(|f| Interval::new(f.ticks, f.lo, f.hi, 0.95).ok()))
}
