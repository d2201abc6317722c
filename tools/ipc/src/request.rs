//! What the laboratory is asked for: points as cases of presets, in whatever time there is.

use tollway_core::{Case, Missing, OneOrMany, Params, Preset, PresetHead, Result, TrialSpec, Value};
use tollway_lab::point::Selection;
use tollway_lab::{Estimate, Lab, Request};

/// A point as a case of a preset.
pub(crate) fn case(variant: &str, params: &Params) -> Case {
    let mut case = Case::default();
    for (axis, value) in params.iter() {
        case.0.insert(axis.into(), OneOrMany::One(value.clone()));
    }
    case.0.insert("variant".into(), OneOrMany::One(Value::Text(variant.into())));
    case
}

/// Points of a path, and how each is tried.
pub(crate) fn preset(name: &str, path: &str, case: Vec<Case>, trial: TrialSpec) -> Preset {
    let preset = PresetHead { name: name.into(), path: path.into(), ..PresetHead::default() };
    Preset { preset, case, trial, ..Preset::default() }
}

/// To measure what these presets name, and the tolls that predictions of it need.
pub(crate) fn request(title: String, presets: Vec<Preset>, seed: u64) -> Request {
    Request {
        title,
        selection: Selection { presets, only: Vec::new() },
        sides: Vec::new(),
        seed,
        together: false,
        without_tolls: false,
        foretold: Vec::new(),
        narrow: None,
        within: None,
    }
}

/// What this machine lacks, where it is for everything.
pub(crate) fn lacking(estimate: &Estimate) -> Option<Missing> {
    let all: Option<Vec<&Missing>> = estimate.points.iter().map(|point| point.missing.as_ref()).collect();
    all?.first().copied().cloned()
}

/// Cuts runs and windows until it takes no longer than so many seconds, if that is said.
///
/// # Errors
/// What it names that is no point.
pub(crate) fn cut(request: &mut Request, seconds: Option<f64>, lab: &Lab<'_>) -> Result<()> {
    seconds.map_or(Ok(()), |seconds| request.fit_to(seconds, lab))
}
