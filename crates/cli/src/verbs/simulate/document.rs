//! What `tollway simulate` answers, as a document: every other form is made from it.

use std::collections::BTreeMap;

use serde::Serialize;
use tollway_model::chain::system as chain;
use tollway_model::spec::{Formula, Spec};
use tollway_model::{ModelError, Unit};
use tollway_sim::{Engine, Outcome, StoppedBy};

use super::agreement::{Judgement, judge, short, why_not};
use crate::figure;

/// One specification, solved in every way that there is. Times in seconds, rates per second.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct SimulationDocument {
    /// Version of this form.
    pub schema_version: u32,
    /// The specification's title.
    pub title: String,
    /// The formula that solves it exactly; none where the catalogue has none.
    pub formula: Option<FormulaDocument>,
    /// The same as a Markov chain, solved as numbers.
    pub chain: ChainDocument,
    /// How it was simulated.
    pub simulation: RunDocument,
    /// The figures by name.
    pub figures: BTreeMap<String, FigureDocument>,
    /// Why no figure was held against what is exact: too little was seen of what makes them.
    pub not_judged: Option<String>,
    /// What only some figures were not judged for.
    pub short: Vec<ShortDocument>,
    /// Laws that must hold whatever was simulated.
    pub invariants: Vec<InvariantDocument>,
    /// The names of the figures, in the order in which a person reads them.
    #[serde(skip)]
    pub(super) order: Vec<(String, Unit)>,
}

/// A formula of the catalogue.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct FormulaDocument {
    /// The model's name.
    pub model: String,
    /// The command that asks the model the same.
    pub command: String,
    /// Why it has no answer.
    pub problem: Option<String>,
}

/// A Markov chain, solved as numbers.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ChainDocument {
    /// How many states it has.
    pub states: Option<usize>,
    /// Why the system is no small chain.
    pub problem: Option<String>,
    /// The largest difference to the formula, as a share of the figure.
    pub from_formula: Option<f64>,
}

/// How it was simulated.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
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
    /// The half-width of the mean response that was asked for, as a share of the mean.
    pub precision: Option<f64>,
    /// `customers`, `precision` or `interruption`.
    pub stopped_by: String,
    /// Threads.
    pub threads: u64,
    /// Time that it took, seconds.
    pub seconds: f64,
}

/// One figure, solved in several ways.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct FigureDocument {
    /// The unit of all its values: `seconds`, `per-second`, `share` …
    pub unit: String,
    /// By the formula.
    pub formula: Option<f64>,
    /// By the numerical chain.
    pub chain: Option<f64>,
    /// By simulation.
    pub simulated: Option<f64>,
    /// Lower end of the interval.
    pub low: Option<f64>,
    /// Upper end of the interval.
    pub high: Option<f64>,
    /// Confidence of the interval.
    pub confidence: Option<f64>,
    /// Held against the formula, or against the chain where there is no formula: `within` (the interval has the exact value), `beside` (it has not, by chance or by less than 0.5 %), `differs`, or
    /// `not-judged` (too little was seen of it, exact value or none: its interval may be too narrow).
    pub verdict: Option<String>,
}

/// Something of which too little was seen, and the figures that hang on it.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ShortDocument {
    /// How their names begin.
    pub figures: Vec<String>,
    /// What, and how many customers it takes.
    pub reason: String,
}

/// A law, held against what was seen.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
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
    pub chain: Result<chain::Answer, ModelError>,
    pub seconds: f64,
    pub threads: u64,
}

/// Formula and chain may be apart by this share: the chain's queues are cut off where little is lost.
const CHAIN: f64 = 1e-6;

/// What is smaller than this share of a response, of the throughput, of one, is rounding.
const NOTHING: f64 = 1e-6;

impl FigureDocument {
    /// How far the chain is from the formula, as a share of the figure, or of what would be something.
    fn chain_apart(&self, typical: f64) -> Option<f64> {
        let (formula, chain) = (self.formula?, self.chain?);
        let apart = (formula - chain).abs();
        let least = NOTHING * typical;
        Some(if apart == 0.0 { 0.0 } else { apart / formula.abs().max(chain.abs()).max(least) })
    }
}

impl SimulationDocument {
    /// Puts formula, chain and simulation side by side.
    pub fn of(made: &Made<'_>) -> Self {
        let (outcome, formula) = (made.outcome, made.formula.as_ref());
        let solution = formula.and_then(|formula| formula.solution.as_ref().ok());
        let mut order: Vec<(String, Unit)> = Vec::new();
        let mut figures = BTreeMap::new();
        let (numerical, states) = match &made.chain {
            Ok(chain::Answer::Solved { solution, states }) => (Some(solution), Some(*states)),
            _ => (None, None),
        };
        let by_formula = |name: &str| solution.and_then(|solution| solution.get(name));
        let by_chain = |name: &str| numerical.and_then(|solution| solution.get(name));
        let exact = |name: &str| by_formula(name).or_else(|| by_chain(name));
        let compared: Vec<_> = outcome.estimates.iter().map(|e| (e, exact(&e.name))).collect();
        let verdicts = judge(outcome, &compared);
        for (estimate, verdict) in outcome.estimates.iter().zip(verdicts) {
            order.push((estimate.name.clone().into_owned(), estimate.unit));
            let figure = FigureDocument {
                unit: figure::unit(estimate.unit).into(),
                formula: by_formula(&estimate.name),
                chain: by_chain(&estimate.name),
                simulated: Some(estimate.value),
                low: estimate.interval.map(|interval| interval.lo),
                high: estimate.interval.map(|interval| interval.hi),
                confidence: estimate.interval.map(|interval| interval.confidence),
                verdict: verdict.map(|judgement| word(judgement).into()),
            };
            figures.insert(estimate.name.clone().into_owned(), figure);
        }
        let exactly = solution.iter().chain(&numerical).flat_map(|solution| solution.metrics());
        for metric in exactly {
            let name = metric.name.clone().into_owned();
            figures.entry(name).or_insert_with_key(|name| {
                order.push((name.clone(), metric.unit));
                FigureDocument {
                    unit: figure::unit(metric.unit).into(),
                    formula: by_formula(name),
                    chain: by_chain(name),
                    simulated: None,
                    low: None,
                    high: None,
                    confidence: None,
                    verdict: None,
                }
            });
        }
        let typical = |unit: Unit| match unit {
            Unit::Seconds => exact("response.mean").unwrap_or(0.0),
            Unit::PerSecond => exact("throughput").unwrap_or(0.0),
            Unit::Share | Unit::Count => 1.0,
            _ => 0.0,
        };
        let apart = order.iter().filter_map(|(name, unit)| figures[name].chain_apart(typical(*unit)));
        let from_formula = apart.reduce(f64::max);
        let problem = match &made.chain {
            Ok(chain::Answer::Solved { .. }) => None,
            Ok(chain::Answer::Unsuited(why)) => Some(why.to_string()),
            Err(error) => Some(error.to_string()),
        };
        SimulationDocument {
            schema_version: 1,
            title: made.spec.title.clone(),
            formula: formula.map(|formula| FormulaDocument {
                model: formula.model.name.into(),
                command: formula.command(),
                problem: formula.solution.as_ref().err().map(ToString::to_string),
            }),
            chain: ChainDocument { states, problem, from_formula },
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
                precision: made.spec.stop.precision,
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
            not_judged: why_not(outcome, exact("response.mean")),
            short: short(outcome)
                .into_iter()
                .map(|(figures, reason)| ShortDocument { figures: figures.to_vec(), reason })
                .collect(),
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

    /// Whether nothing differs from what is exact, and every law holds.
    pub fn agrees(&self) -> bool {
        self.count(Judgement::Differs) == 0
            && self.invariants.iter().all(|law| law.holds)
            && self.chain.from_formula.is_none_or(|distance| distance <= CHAIN)
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
