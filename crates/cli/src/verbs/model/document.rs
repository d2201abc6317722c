//! What `tollway model NAME …` answers, as a document: every other form is made from it.

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;
use tollway_model::{ModelError, Result, Unit};

use super::sweep::{Answer, Point};
use crate::figure;

/// The figures of a model at one or more points, in base units.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ModelDocument {
    /// Version of this form.
    pub schema_version: u32,
    /// The model's name in the catalogue.
    pub model: String,
    /// Its name in the field.
    pub title: String,
    /// Parameters that are the same at every point, as they were written.
    pub parameters: BTreeMap<String, String>,
    /// The swept parameters, in order; none where there is one point.
    pub sweep: Vec<String>,
    /// The figures, in the order in which a person reads them.
    pub figures: Vec<FigureName>,
    /// The points; the last swept parameter changes fastest.
    pub points: Vec<PointDocument>,
}

/// A figure that the points have.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct FigureName {
    /// Its flat name.
    pub name: String,
    /// The unit of its values: `seconds`, `per-second`, `share` …
    pub unit: String,
    #[serde(skip)]
    pub(super) of: Unit,
}

/// One point.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct PointDocument {
    /// The swept parameters' values here, in base units where they are numbers.
    pub at: BTreeMap<String, Value>,
    /// The figures by name; none where there is no answer.
    pub figures: BTreeMap<String, f64>,
    /// Why there is no answer.
    pub problem: Option<String>,
    /// The load on one server, where the problem is that there is no steady state.
    pub load: Option<f64>,
}

/// The value of a swept parameter.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum Value {
    /// A number, in base units.
    Number(f64),
    /// A distribution, a list, a word.
    Text(String),
}

impl Value {
    /// As it was written, or what the sweep made of it.
    fn of(text: &str) -> Self {
        text.parse()
            .ok()
            .filter(|x: &f64| x.is_finite())
            .map_or_else(|| Value::Text(text.into()), Value::Number)
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Number(value) => value.fmt(f),
            Value::Text(text) => text.fmt(f),
        }
    }
}

impl ModelDocument {
    /// Of an answer, with these figures, or all where none is named.
    ///
    /// # Errors
    /// When a figure is named that the model does not give.
    pub fn of(answer: &Answer<'_>, figures: &[String]) -> Result<Self> {
        let all = names(answer);
        let chosen = if figures.is_empty() {
            all
        } else {
            let find = |name: &String| {
                all.iter().find(|figure| figure.name == *name).cloned().ok_or_else(|| {
                    let known: Vec<&str> = all.iter().map(|figure| figure.name.as_str()).collect();
                    let remedy = format!("it gives {}", known.join(", "));
                    let reason = format!("{} gives no `{name}`", answer.model.name);
                    ModelError::parameter("--figure", reason, remedy)
                })
            };
            figures.iter().map(find).collect::<Result<_>>()?
        };
        Ok(ModelDocument {
            schema_version: 1,
            model: answer.model.name.into(),
            title: answer.model.title.into(),
            parameters: answer
                .fixed
                .iter()
                .map(|(name, text)| (String::from(*name), String::from(*text)))
                .collect(),
            sweep: answer.swept.iter().map(|name| String::from(*name)).collect(),
            points: answer
                .points
                .iter()
                .map(|point| PointDocument::of(point, &answer.swept, &chosen))
                .collect(),
            figures: chosen,
        })
    }
}

/// Every figure that a point has, in the order of the first point that has it.
fn names(answer: &Answer<'_>) -> Vec<FigureName> {
    let mut names: Vec<FigureName> = Vec::new();
    for solution in answer.points.iter().filter_map(|point| point.solution.as_ref().ok()) {
        for metric in solution.metrics() {
            if !names.iter().any(|known| known.name == metric.name) {
                names.push(FigureName {
                    name: metric.name.clone().into_owned(),
                    unit: figure::unit(metric.unit).into(),
                    of: metric.unit,
                });
            }
        }
    }
    names
}

impl PointDocument {
    fn of(point: &Point, swept: &[&str], chosen: &[FigureName]) -> Self {
        let at =
            swept.iter().zip(&point.at).map(|(name, text)| (String::from(*name), Value::of(text))).collect();
        match &point.solution {
            Ok(solution) => {
                let value = |figure: &FigureName| Some((figure.name.clone(), solution.get(&figure.name)?));
                let figures = chosen.iter().filter_map(value).collect();
                PointDocument { at, figures, problem: None, load: None }
            }
            Err(error) => {
                let load = match error {
                    ModelError::Unstable { load, .. } => Some(*load).filter(|load| load.is_finite()),
                    _ => None,
                };
                PointDocument { at, figures: BTreeMap::new(), problem: Some(error.to_string()), load }
            }
        }
    }
}
