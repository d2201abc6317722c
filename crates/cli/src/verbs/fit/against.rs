//! A prediction that was written down before, held against what a trace shows.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;

use anyhow::Result;
use serde::{Deserialize, Serialize};
use tollway_model::ModelError;

use super::document::EstimateDocument;
use crate::standard_input;

/// Figures that a model was asked with, not what it predicts.
const ASKED_WITH: [&str; 1] = ["throughput"];

/// What is read of a document of `tollway model --json`.
#[derive(Deserialize)]
struct Prediction {
    model: String,
    points: Vec<Point>,
}

#[derive(Deserialize)]
struct Point {
    figures: Option<BTreeMap<String, f64>>,
}

/// A prediction and how it did.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct CheckDocument {
    /// The file that it was frozen in.
    pub file: String,
    /// The model that made it.
    pub model: String,
    /// How far off a prediction may be, as a share of what was measured.
    pub tolerance: f64,
    /// Whether every figure holds.
    pub holds: bool,
    /// Each figure that the model predicts and the trace shows.
    pub figures: BTreeMap<String, CheckedFigure>,
}

/// One figure.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct CheckedFigure {
    /// What was predicted.
    pub predicted: f64,
    /// Prediction over measurement, less 1.
    pub off: f64,
    /// Whether the prediction lies in the interval of what was measured, made wider by the tolerance on both sides.
    pub holds: bool,
}

/// Reads the prediction and grades it.
pub fn check(
    file: &Path,
    tolerance: f64,
    estimates: &BTreeMap<String, EstimateDocument>,
) -> Result<CheckDocument> {
    let unusable = |reason: String| {
        let remedy = "give a document that `tollway model NAME key=value … --json` wrote for one point";
        ModelError::parameter(format!("--against {}", file.display()), reason, remedy)
    };
    let text = if file == Path::new("-") {
        io::read_to_string(standard_input::read())
    } else {
        fs::read_to_string(file)
    };
    let text = text.map_err(|error| unusable(error.to_string()))?;
    let prediction: Prediction = serde_json::from_str(&text).map_err(|error| unusable(error.to_string()))?;
    let [Point { figures: Some(predicted) }] = &prediction.points[..] else {
        return Err(
            unusable(format!("it has {} points, or one without figures", prediction.points.len())).into()
        );
    };
    let figures: BTreeMap<String, CheckedFigure> = predicted
        .iter()
        .filter(|(name, _)| !ASKED_WITH.contains(&name.as_str()))
        .filter_map(|(name, predicted)| {
            let seen = estimates.get(name)?;
            let (lo, hi) = (seen.lo?, seen.hi?);
            let reach = tolerance * seen.value.abs();
            let holds = (lo - reach..=hi + reach).contains(predicted);
            Some((
                name.clone(),
                CheckedFigure { predicted: *predicted, off: predicted / seen.value - 1.0, holds },
            ))
        })
        .collect();
    if figures.is_empty() {
        return Err(unusable("the trace shows no figure that it predicts with an interval".into()).into());
    }
    Ok(CheckDocument {
        file: file.display().to_string(),
        model: prediction.model,
        tolerance,
        holds: figures.values().all(|figure| figure.holds),
        figures,
    })
}
