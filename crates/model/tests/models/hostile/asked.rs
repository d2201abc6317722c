//! A question to a model, and what is wrong with its answer: that is finite figures which fit each other, or an error that
//! names a parameter. `make soak fuzz TARGET=model` asks by the same words.

#[path = "invariants.rs"]
mod invariants;

use tollway_model::catalogue::{self, Model};
use tollway_model::{ModelError, Solution};

/// A model and `key=value` pairs from any text: the first line names the model, each other line is a pair.
pub fn read(input: &[u8]) -> Option<(&'static Model, Vec<(&str, &str)>)> {
    let mut lines = std::str::from_utf8(input).ok()?.lines();
    let model = catalogue::find(lines.next()?).ok()?;
    Some((model, lines.map(|line| line.split_once('=').unwrap_or((line, ""))).collect()))
}

pub fn answer(model: &Model, pairs: &[(&str, &str)]) -> Result<Solution, ModelError> {
    model.solve(&model.given(pairs.iter().copied())?)
}

/// What is wrong with an answer; nothing in most cases.
pub fn wrong(model: &Model, answer: &Result<Solution, ModelError>) -> Option<String> {
    match answer {
        Ok(solution) => invariants::broken(solution),
        Err(ModelError::Unstable { load, .. }) if load.is_nan() || *load < 1.0 => {
            Some(format!("no steady state at a load of {load}"))
        }
        Err(error) => {
            let told = error.to_string();
            let named = model.parameters.iter().any(|p| told.contains(p.name));
            (!named).then(|| format!("an error that names no parameter: {told}"))
        }
    }
}
