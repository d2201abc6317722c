//! What was found, for programs.

use serde::Serialize;
use tollway_stats::Interval;
use tollway_store::RunId;

use super::search::Choice;
use crate::args::plan::{Level, Plan};
use crate::fitted::foreseen;
use crate::fitted::observed::Observed;
use crate::predict::{Fitted, FittedDocument, Measured, OutcomeDocument, Span, outcome};

/// All of it; times in nanoseconds.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PlanDocument {
    /// Of this document's form.
    pub schema_version: u32,
    /// What is done to the bytes.
    pub cipher: String,
    /// Bytes of a request.
    pub size: usize,
    /// The service level, in words.
    pub slo: String,
    /// What was to be foretold at most, so that it is kept although the model is off by a tenth (a mean) or a fifth.
    pub at_most_ns: f64,
    /// The model.
    pub fitted: FittedDocument,
    /// Each way of telling, in the order that was asked for.
    pub choices: Vec<ChoiceDocument>,
    /// Which of them is best; null where none keeps the level.
    pub best: Option<usize>,
    /// What came when that was tried.
    pub verified: Option<VerifiedDocument>,
    /// Runs of the store: the steps, the light loads, what was tried.
    pub runs: Vec<i64>,
}

/// A way of telling.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ChoiceDocument {
    /// The way.
    pub way: String,
    /// Why it was left out.
    pub left_out: Option<String>,
    /// Requests a second of all tenants together; null where no load keeps the level.
    pub rate: Option<f64>,
    /// How many tenants.
    pub tenants: Option<u32>,
    /// What the level speaks of, at that load.
    pub at_ns: Option<f64>,
    /// Mean response at that load.
    pub mean_ns: Option<f64>,
    /// Interrupts a second.
    pub interrupts: Option<f64>,
    /// Processors that are at work.
    pub processors: Option<f64>,
    /// What is known to be off there.
    pub remark: Option<String>,
}

/// What came when it was tried.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct VerifiedDocument {
    /// Requests.
    pub requests: u64,
    /// What the level speaks of, as it was foretold.
    pub foretold_ns: f64,
    /// And as it was measured: a mean by the means of blocks, a 99th percentile of a typical block; other quantiles are of all requests,
    /// and have no ends.
    pub measured_ns: Span,
    /// What became of what was foretold: it holds within a tenth (a mean) or a fifth, or in the interval.
    pub outcome: OutcomeDocument,
    /// Whether the level was kept.
    pub kept: bool,
}

impl VerifiedDocument {
    /// Whether the level was kept, and nothing else than was foretold came.
    pub(super) fn as_planned(&self) -> bool {
        self.kept && self.outcome != OutcomeDocument::Missed
    }
}

impl PlanDocument {
    pub(super) fn of(
        options: &Plan,
        fitted: &Fitted,
        choices: &[Choice],
        best: Option<usize>,
    ) -> PlanDocument {
        PlanDocument {
            schema_version: 1,
            cipher: options.cipher.name.into(),
            size: options.size,
            slo: options.slo.words(),
            at_most_ns: options.slo.foretold(),
            fitted: FittedDocument::from(fitted),
            choices: choices.iter().map(ChoiceDocument::from).collect(),
            best,
            verified: None,
            runs: fitted.runs.iter().map(|run| run.0).collect(),
        }
    }

    pub(super) fn verified(
        &mut self,
        level: Level,
        foretold_ns: f64,
        observed: &Observed,
        measured: &Measured,
        run: RunId,
    ) {
        let interval = match level.share {
            None => measured.mean,
            Some(0.99) => measured.p99,
            // Of others no block has kept its figure: it is that of all, and nobody knows how exact.
            Some(share) => {
                let estimate = observed.quantile(share);
                Interval { estimate, lo: estimate, hi: estimate, ..measured.p99 }
            }
        };
        self.runs.push(run.0);
        self.verified = Some(VerifiedDocument {
            requests: measured.requests,
            foretold_ns,
            outcome: outcome(foretold_ns, &interval, level.within()).into(),
            kept: interval.estimate < level.most.as_nanos() as f64,
            measured_ns: interval.into(),
        });
    }
}

impl From<&Choice> for ChoiceDocument {
    fn from(choice: &Choice) -> ChoiceDocument {
        let found = choice.found.as_ref();
        ChoiceDocument {
            way: choice.way.to_string(),
            left_out: choice.left_out.map(String::from),
            rate: found.map(|found| found.rate * f64::from(found.tenants)),
            tenants: found.map(|found| found.tenants),
            at_ns: found.map(|found| found.at),
            mean_ns: found.map(|found| found.foreseen.mean),
            interrupts: found.map(|found| found.foreseen.interrupts),
            processors: found.map(|found| found.foreseen.processors),
            remark: found.and_then(|found| foreseen::remark(found.tenants)).map(String::from),
        }
    }
}
