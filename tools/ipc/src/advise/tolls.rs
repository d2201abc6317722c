//! The tolls that predictions need: of the store, if they are no older than a week, else measured now.

use std::collections::BTreeSet;

use anyhow::Result;
use jiff::{SignedDuration, Timestamp};
use tollway_core::{Error, Preset, TollKey, TollSource, TrialSpec};
use tollway_lab::point::{self, Point, Selection};
use tollway_lab::progress::Progress;
use tollway_lab::{Lab, Request};
use tollway_store::{RunState, Store, Tolls};

use super::asked::Asked;
use super::verify;
use crate::args::advise::Advise;
use crate::request::{self, case, cut, lacking, preset};

/// How tolls are measured.
const TRIAL: TrialSpec = TrialSpec { window_ms: 10.0, warmup_ms: 1.0, runs: 6, repeats: 2 };

/// How old a toll of the store may be: as those that the laboratory predicts from.
const AGE: SignedDuration = SignedDuration::from_hours(24 * 7);

/// The tolls, and the runs that have them.
pub(super) struct Known {
    pub(super) tolls: Tolls,
    pub(super) runs: Vec<i64>,
}

/// Those that predictions of what was asked need, measured where the store does not have them; `None` if that was interrupted.
///
/// # Errors
/// If they cannot be measured.
pub(super) fn known(
    options: &Advise,
    asked: &Asked,
    lab: &Lab<'_>,
    store: &mut Store,
    progress: &mut dyn Progress,
) -> Result<Option<Known>> {
    let missing = missing(options, asked, lab, Some(store))?;
    let mut tolls = Tolls::default();
    if let Some(request) = request(&missing, options, lab)? {
        // Of what cannot be here nothing could be foretold: that is told, and not which toll there is none of then.
        if let Some(lacking) = lacking(&lab.estimate(&verify::without_foretold(asked, options))?) {
            return Err(Error::Missing(lacking).into());
        }
        let ended = lab.run(store, &request, progress)?;
        if ended.state == RunState::Interrupted {
            return Ok(None);
        }
        tolls = store.tolls_of_run(ended.run)?;
    }
    let tolls = tolls.or(stored(lab, store)?).in_ticks_of(lab.hz);
    let needed: BTreeSet<TollKey> = needed(asked, lab)?.0;
    let runs: BTreeSet<i64> = needed.iter().filter_map(|key| Some(tolls.toll(key)?.run)).collect();
    Ok(Some(Known { tolls, runs: runs.into_iter().collect() }))
}

fn stored(lab: &Lab<'_>, store: &Store) -> Result<Tolls> {
    Ok(store.tolls(&lab.machine, Timestamp::now() - AGE)?)
}

/// The keys that are needed, and the points that measure them.
fn needed(asked: &Asked, lab: &Lab<'_>) -> Result<(BTreeSet<TollKey>, Vec<Point>)> {
    let selection = Selection { presets: vec![verify::preset(asked, TRIAL)], only: Vec::new() };
    let named = point::named(lab.registry, &selection)?;
    let keys: BTreeSet<TollKey> = named.iter().flat_map(|point| point.plan.needs.iter().cloned()).collect();
    let mut points = point::points(lab.registry, &selection)?;
    points.retain(|point| point.plan.provides.as_ref().is_some_and(|key| keys.contains(key)));
    Ok((keys, points))
}

/// The points that measure what the store does not have.
///
/// # Errors
/// If the store cannot be read.
pub(super) fn missing(
    options: &Advise,
    asked: &Asked,
    lab: &Lab<'_>,
    store: Option<&Store>,
) -> Result<Vec<Point>> {
    let known = match store {
        Some(store) if !options.fresh => stored(lab, store)?,
        _ => Tolls::default(),
    };
    let (_, mut points) = needed(asked, lab)?;
    points.retain(|point| point.plan.provides.as_ref().is_none_or(|key| known.toll(key).is_none()));
    Ok(points)
}

/// What the laboratory is asked for to measure these; `None` where there is nothing.
///
/// # Errors
/// What of it cannot be used.
pub(super) fn request(points: &[Point], options: &Advise, lab: &Lab<'_>) -> Result<Option<Request>> {
    if points.is_empty() {
        return Ok(None);
    }
    let mut presets: Vec<Preset> = Vec::new();
    for point in points {
        let of = case(&point.variant, &point.params);
        match presets.iter_mut().find(|preset| preset.preset.path == point.path) {
            Some(preset) => preset.case.push(of),
            None => {
                let trial = TrialSpec { runs: options.runs, ..TRIAL };
                presets.push(preset("tolls", &point.path, vec![of], trial));
            }
        }
    }
    let mut request = Request {
        without_tolls: true,
        ..request::request("ipc advise: tolls".into(), presets, options.seed)
    };
    cut(&mut request, options.time, lab)?;
    Ok(Some(request))
}
