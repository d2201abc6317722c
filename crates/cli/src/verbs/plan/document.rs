//! What `tollway plan` answers, as a document: the text is made from it.

use std::collections::BTreeMap;

use serde::Serialize;
use tollway_model::capacity::{Answer, Binds, CapacityError, Goal, Sensitivity};
use tollway_model::{Metric, Solution, Unit, catalogue};

use super::request::{PlannedCase, Request};
use crate::figure;

/// How much each case takes, in base units.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct PlanDocument {
    /// Version of this form.
    pub schema_version: u32,
    /// What it is about; empty where nobody said.
    pub title: String,
    /// The parameter that was varied.
    pub vary: String,
    /// Its unit: `per-second`, `seconds`, `count`, `ratio`.
    pub unit: String,
    /// Which value is wanted: `largest` or `smallest`.
    pub goal: String,
    /// The levels, as they were written.
    pub keep: Vec<String>,
    /// The case with the best value, or that keeps the levels in all the range; null where none keeps them, or the
    /// cases are not there to choose from.
    pub best: Option<String>,
    /// The cases, in the order given.
    pub cases: Vec<CaseDocument>,
    /// The figures of the levels and others to show, in order.
    #[serde(skip)]
    pub(super) columns: Vec<String>,
    #[serde(skip)]
    pub(super) of: Unit,
}

/// One case.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct CaseDocument {
    /// Its name.
    pub name: String,
    /// The model's name in the catalogue.
    pub model: String,
    /// What it was given, as it was written.
    pub parameters: BTreeMap<String, String>,
    /// Figures that were derived, as they were written.
    pub derived: Vec<String>,
    /// `kept`: there is a value; `never-kept`: no value keeps the levels; `always-kept`: all do, up to the end of the
    /// range.
    pub outcome: String,
    /// The value; with `always-kept` the end of the range, with `never-kept` null.
    pub value: Option<f64>,
    /// The figures at that value, by name.
    pub figures: BTreeMap<String, f64>,
    /// The unit of each figure.
    pub units: BTreeMap<String, String>,
    /// What is broken beyond the value: levels as they were written, `no steady state`, or what the model says.
    pub binds: Vec<String>,
    /// All intervals in which the levels are kept, rising; more than one where they are not monotone.
    pub kept: Vec<KeptDocument>,
    /// By how many per cent the value moves when a parameter or a limit moves by one.
    pub value_elasticities: BTreeMap<String, f64>,
    /// By how many per cent a figure of the levels moves when the varied parameter moves by one.
    pub figure_elasticities: BTreeMap<String, f64>,
    /// Why there is no value.
    pub problem: Option<String>,
    #[serde(skip)]
    pub(super) title: String,
    #[serde(skip)]
    pub(super) metrics: Vec<Metric>,
}

/// An interval in which every level is kept.
#[derive(Clone, Copy, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct KeptDocument {
    /// Its lower end.
    pub from: f64,
    /// Its upper end.
    pub to: f64,
    /// Whether the lower end is only that of the range that was looked at.
    pub from_end_of_range: bool,
    /// Whether the upper end is only that of the range that was looked at.
    pub to_end_of_range: bool,
}

impl PlanDocument {
    /// Of a request and its answers.
    pub fn of(request: &Request, answers: &[Result<Answer, CapacityError>]) -> Self {
        let cases: Vec<CaseDocument> = request
            .cases
            .iter()
            .zip(answers)
            .map(|(planned, answer)| CaseDocument::of(planned, answer))
            .collect();
        // Who keeps the levels up to the end of the range takes more than all others; of equals, the first.
        let reach = |case: &CaseDocument| match (case.outcome.as_str(), case.value, request.goal) {
            ("always-kept", ..) => Some(f64::INFINITY),
            (_, Some(value), Goal::Largest) => Some(value),
            (_, Some(value), Goal::Smallest) => Some(-value),
            _ => None,
        };
        let reaches = cases.iter().rev().filter_map(|case| Some((case, reach(case)?)));
        let reaches = reaches.filter(|_| request.choose);
        let best = reaches.max_by(|a, b| a.1.total_cmp(&b.1)).map(|(case, _)| case.name.clone());
        let of = request.cases.first().map_or(Unit::Ratio, |planned| planned.question.unit());
        PlanDocument {
            schema_version: 1,
            title: request.title.clone(),
            vary: request.vary.clone(),
            unit: figure::unit(of).into(),
            goal: if request.goal == Goal::Largest { "largest" } else { "smallest" }.into(),
            keep: request.levels.iter().map(ToString::to_string).collect(),
            best,
            columns: columns(request, &cases),
            of,
            cases,
        }
    }

    /// Whether there is a value, or all values will do, in some case.
    pub fn some_case_keeps(&self) -> bool {
        self.cases.iter().any(|case| case.outcome != "never-kept")
    }
}

/// The figures of the levels, those asked for, and where none are, those derived.
fn columns(request: &Request, cases: &[CaseDocument]) -> Vec<String> {
    let levels = request.levels.iter().map(|level| level.figure().to_owned());
    let derived = cases.iter().flat_map(|case| &case.derived);
    let derived: Vec<String> =
        derived.filter_map(|text| Some(text.split_once('=')?.0.trim().to_owned())).collect();
    let others = if request.show.is_empty() { derived } else { request.show.clone() };
    let mut columns: Vec<String> = Vec::new();
    for name in levels.chain(others) {
        if !columns.contains(&name) {
            columns.push(name);
        }
    }
    columns
}

impl CaseDocument {
    fn of(planned: &PlannedCase, answer: &Result<Answer, CapacityError>) -> Self {
        let case = &planned.case;
        let title = catalogue::find(&case.model).map_or(case.model.as_str(), |model| model.title);
        let empty = CaseDocument {
            name: case.name.clone(),
            model: case.model.clone(),
            parameters: case.given.iter().cloned().collect(),
            derived: planned.question.derived().iter().map(ToString::to_string).collect(),
            outcome: "kept".into(),
            value: None,
            figures: BTreeMap::new(),
            units: BTreeMap::new(),
            binds: Vec::new(),
            kept: Vec::new(),
            value_elasticities: BTreeMap::new(),
            figure_elasticities: BTreeMap::new(),
            problem: None,
            title: title.into(),
            metrics: Vec::new(),
        };
        match answer {
            Ok(answer) => empty.answered(answer),
            Err(problem) => {
                let problem_text = Some(problem.to_string());
                let CapacityError::AlwaysKept { goal, from, to, .. } = *problem else {
                    return CaseDocument { outcome: "never-kept".into(), problem: problem_text, ..empty };
                };
                let end = if goal == Goal::Largest { to } else { from };
                let range = planned.question.range();
                let (from_end_of_range, to_end_of_range) = (from == range.0, to == range.1);
                let case = CaseDocument {
                    outcome: "always-kept".into(),
                    value: Some(end),
                    kept: vec![KeptDocument { from, to, from_end_of_range, to_end_of_range }],
                    problem: problem_text,
                    ..empty
                };
                match planned.question.figures(end) {
                    Ok(figures) => case.with(&figures),
                    Err(_) => case,
                }
            }
        }
    }

    /// With these figures at the value.
    fn with(self, figures: &Solution) -> Self {
        let metrics = figures.metrics().to_vec();
        let named = |metric: &Metric| metric.name.clone().into_owned();
        CaseDocument {
            figures: metrics.iter().map(|metric| (named(metric), metric.value)).collect(),
            units: metrics.iter().map(|metric| (named(metric), figure::unit(metric.unit).into())).collect(),
            metrics,
            ..self
        }
    }

    fn answered(self, answer: &Answer) -> Self {
        let elasticities = |all: &[Sensitivity]| all.iter().map(|s| (s.of.clone(), s.elasticity)).collect();
        CaseDocument {
            value: Some(answer.value),
            binds: match &answer.binds {
                Binds::Levels(levels) => levels.clone(),
                Binds::NoSteadyState => vec!["no steady state".into()],
                Binds::Model(why) => vec![why.clone()],
            },
            kept: answer
                .kept
                .iter()
                .map(|kept| KeptDocument {
                    from: kept.from,
                    to: kept.to,
                    from_end_of_range: kept.from_first,
                    to_end_of_range: kept.to_last,
                })
                .collect(),
            value_elasticities: elasticities(&answer.of_answer),
            figure_elasticities: elasticities(&answer.of_figures),
            ..self.with(&answer.figures)
        }
    }
}
