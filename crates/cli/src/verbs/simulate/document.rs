//! What `tollway simulate` answers, as a document: every other form is made from it.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;
use tollway_model::Unit;
use tollway_model::spec::{Formula, Spec};
use tollway_sim::{Engine, Outcome, StoppedBy};

use super::agreement::{Judgement, judge};
use crate::figure;

/// One specification, solved in every way that there is. Times in seconds, rates per second.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SimulationDocument {
    /// Version of this form.
    pub schema_version: u32,
    /// The specification's title.
    pub title: String,
    /// The formula that solves it exactly; none where the catalogue has none.
    pub formula: Option<FormulaDocument>,
    /// How it was simulated.
    pub simulation: RunDocument,
    /// The figures by name.
    pub figures: BTreeMap<String, FigureDocument>,
    /// Laws that must hold whatever was simulated.
    pub invariants: Vec<InvariantDocument>,
    /// The names of the figures, in the order in which a person reads them.
    #[serde(skip)]
    pub(super) order: Vec<(String, Unit)>,
}

/// A formula of the catalogue.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FormulaDocument {
    /// The model's name.
    pub model: String,
    /// The command that asks the model the same.
    pub command: String,
    /// Why it has no answer.
    pub problem: Option<String>,
}

/// How it was simulated.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RunDocument {
    /// `lindley` (one queue, customer by customer) or `events`.
    pub engine: String,
    /// Seed of all random numbers.
    pub seed: u64,
    /// Independent replications.
    pub replications: u32,
    /// Customers of each replication that were left out at its beginning.
    pub warm_up: u64,
    /// Customers that count, over all replications.
    pub customers: u64,
    /// Events, over all replications, warm-up included.
    pub events: u64,
    /// `customers`, `precision` or `interruption`.
    pub stopped_by: String,
    /// Threads.
    pub threads: u64,
    /// Time that it took, seconds.
    pub seconds: f64,
}

/// One figure, solved in several ways.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FigureDocument {
    /// The unit of all its values: `seconds`, `per-second`, `share` …
    pub unit: String,
    /// By the formula.
    pub formula: Option<f64>,
    /// By simulation.
    pub simulated: Option<f64>,
    /// Lower end of the interval.
    pub low: Option<f64>,
    /// Upper end of the interval.
    pub high: Option<f64>,
    /// Confidence of the interval.
    pub confidence: Option<f64>,
    /// `within` (the interval has the exact value), `beside` (it has not, by chance or by less than 0.5 %), `differs`, or
    /// `not-judged` (too rare).
    pub verdict: Option<String>,
}

/// A law, held against what was seen.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct InvariantDocument {
    /// Which, and where.
    pub name: String,
    /// One side.
    pub left: f64,
    /// The other side.
    pub right: f64,
    /// How far they may be apart.
    pub tolerance: f64,
    /// Whether they are not farther apart.
    pub holds: bool,
}

/// What a document is made of.
pub struct Made<'a> {
    pub spec: &'a Spec,
    pub outcome: &'a Outcome,
    pub formula: Option<Formula>,
    pub seconds: f64,
    pub threads: u64,
}

impl SimulationDocument {
    /// Puts formula and simulation side by side.
    pub fn of(made: &Made<'_>) -> Self {
        let (outcome, formula) = (made.outcome, made.formula.as_ref());
        let solution = formula.and_then(|formula| formula.solution.as_ref().ok());
        let mut order: Vec<(String, Unit)> = Vec::new();
        let mut figures = BTreeMap::new();
        let exact = |name: &str| solution.and_then(|solution| solution.get(name));
        let compared: Vec<_> =
            outcome.estimates.iter().filter_map(|e| exact(&e.name).map(|exact| (e, exact))).collect();
        let mut verdicts: BTreeMap<&str, Judgement> =
            compared.iter().map(|(estimate, _)| &*estimate.name).zip(judge(outcome, &compared)).collect();
        for estimate in &outcome.estimates {
            order.push((estimate.name.clone().into_owned(), estimate.unit));
            let figure = FigureDocument {
                unit: figure::unit(estimate.unit).into(),
                formula: exact(&estimate.name),
                simulated: Some(estimate.value),
                low: estimate.interval.map(|interval| interval.lo),
                high: estimate.interval.map(|interval| interval.hi),
                confidence: estimate.interval.map(|interval| interval.confidence),
                verdict: verdicts.remove(&*estimate.name).map(|judgement| word(judgement).into()),
            };
            figures.insert(estimate.name.clone().into_owned(), figure);
        }
        for metric in solution.iter().flat_map(|solution| solution.metrics()) {
            let name = metric.name.clone().into_owned();
            figures.entry(name).or_insert_with_key(|name| {
                order.push((name.clone(), metric.unit));
                let unit = figure::unit(metric.unit).into();
                let formula = Some(metric.value);
                FigureDocument {
                    unit,
                    formula,
                    simulated: None,
                    low: None,
                    high: None,
                    confidence: None,
                    verdict: None,
                }
            });
        }
        SimulationDocument {
            schema_version: 1,
            title: made.spec.title.clone(),
            formula: formula.map(|formula| FormulaDocument {
                model: formula.model.name.into(),
                command: formula.command(),
                problem: formula.solution.as_ref().err().map(ToString::to_string),
            }),
            simulation: RunDocument {
                engine: match outcome.engine {
                    Engine::Lindley => "lindley",
                    Engine::Events => "events",
                }
                .into(),
                seed: outcome.seed,
                replications: outcome.replications,
                warm_up: outcome.warm_up,
                customers: outcome.customers,
                events: outcome.events,
                stopped_by: match outcome.stopped_by {
                    StoppedBy::Customers => "customers",
                    StoppedBy::Precision => "precision",
                    StoppedBy::Interruption => "interruption",
                }
                .into(),
                threads: made.threads,
                seconds: made.seconds,
            },
            figures,
            invariants: outcome
                .invariants
                .iter()
                .map(|law| InvariantDocument {
                    name: law.name.clone(),
                    left: law.left,
                    right: law.right,
                    tolerance: law.tolerance,
                    holds: law.holds,
                })
                .collect(),
            order,
        }
    }

    /// Whether nothing differs from the formula, and every law holds.
    pub fn agrees(&self) -> bool {
        self.count(Judgement::Differs) == 0 && self.invariants.iter().all(|law| law.holds)
    }

    /// Figures of that verdict.
    pub fn count(&self, judgement: Judgement) -> usize {
        self.figures.values().filter(|figure| figure.verdict.as_deref() == Some(word(judgement))).count()
    }
}

fn word(judgement: Judgement) -> &'static str {
    match judgement {
        Judgement::Within => "within",
        Judgement::Beside => "beside",
        Judgement::Differs => "differs",
        Judgement::NotJudged => "not-judged",
    }
}
