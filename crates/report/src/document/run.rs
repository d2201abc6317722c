//! The document of a run.

use std::collections::BTreeMap;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tollway_store::RunRecord;

use super::{PointDocument, SCHEMA_VERSION};

/// Everything that a report of a run says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "A run of Tollway")]
pub struct RunDocument {
    /// The version of this document.
    pub schema_version: u32,
    /// The run.
    pub run: RunHead,
    /// The machine.
    pub machine: MachineDocument,
    /// How quiet it was.
    pub quality: QualityDocument,
    /// What is remarkable, in sentences made from the figures.
    pub remarks: Vec<RemarkDocument>,
    /// Its points, in the order in which they were planned.
    pub points: Vec<PointDocument>,
}

/// What identifies a run, and how to repeat it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RunHead {
    /// Its number in the store.
    pub id: i64,
    /// What a person calls it.
    pub title: String,
    /// `running`, `complete`, `interrupted` or `failed`.
    pub state: String,
    /// When it began.
    #[schemars(with = "String")]
    pub started: Timestamp,
    /// When it ended, if it did.
    #[schemars(with = "Option<String>")]
    pub ended: Option<Timestamp>,
    /// Tollway's version.
    pub version: String,
    /// The command line.
    pub argv: Vec<String>,
    /// The seed of everything random in it.
    pub seed: u64,
    /// The labels of what is compared with what; empty where nothing is.
    pub sides: Vec<String>,
    /// Ticks per second of its clock.
    pub hz: f64,
}

/// The machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MachineDocument {
    /// An id that stays the same when it restarts.
    pub id: String,
    /// The machine in full, as it was found.
    pub fingerprint: serde_json::Value,
}

/// How quiet a run was.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct QualityDocument {
    /// How many trials it has.
    pub trials: u64,
    /// How many of them were quiet.
    pub quiet: u64,
    /// Share of the windows' time that something else took; null without a trial.
    pub lost_share: Option<f64>,
    /// Why trials were not quiet, the most frequent reason first.
    pub noise: Vec<NoiseDocument>,
}

/// One reason why trials were not quiet.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NoiseDocument {
    /// The reason, without its figures.
    pub reason: String,
    /// How many trials.
    pub trials: u64,
    /// The reason of the first such trial, in full.
    pub example: String,
}

/// A sentence about a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RemarkDocument {
    /// The rule that says it.
    pub rule: String,
    /// The sentence.
    pub text: String,
}

impl RunDocument {
    pub(crate) fn of(record: &RunRecord) -> RunDocument {
        let (run, spec) = (&record.run, &record.run.spec);
        let mut document = RunDocument {
            schema_version: SCHEMA_VERSION,
            run: RunHead {
                id: run.id.0,
                title: spec.title.clone(),
                state: run.state.name().into(),
                started: spec.started,
                ended: run.ended,
                version: spec.version.clone(),
                argv: spec.argv.clone(),
                seed: spec.seed,
                sides: spec.sides.clone(),
                hz: spec.hz,
            },
            machine: MachineDocument { id: spec.machine.clone(), fingerprint: spec.fingerprint.clone() },
            quality: QualityDocument::of(record),
            remarks: Vec::new(),
            points: record.points.iter().map(|p| PointDocument::of(p, spec.hz)).collect(),
        };
        document.remarks = crate::remark::remarks(&document);
        document
    }
}

impl QualityDocument {
    fn of(record: &RunRecord) -> QualityDocument {
        let trials = || record.points.iter().flat_map(|p| &p.measured);
        let mut noise: BTreeMap<String, NoiseDocument> = BTreeMap::new();
        for example in trials().filter_map(|t| t.noise.as_ref()) {
            let reason = without_figures(example);
            noise
                .entry(reason.clone())
                .or_insert_with(|| NoiseDocument { reason, trials: 0, example: example.clone() })
                .trials += 1;
        }
        let mut noise: Vec<NoiseDocument> = noise.into_values().collect();
        noise.sort_by_key(|n| std::cmp::Reverse(n.trials));
        let lost: f64 = trials().map(|t| t.lost_ticks).sum();
        let spent: f64 = trials().map(|t| t.mean * t.ops as f64).sum();
        QualityDocument {
            trials: trials().count() as u64,
            quiet: trials().filter(|t| t.quiet).count() as u64,
            lost_share: (spent > 0.0).then(|| (lost / spent).clamp(0.0, 1.0)),
            noise,
        }
    }

    /// Share of quiet trials; `None` without a trial.
    pub(crate) fn quiet_share(&self) -> Option<f64> {
        (self.trials > 0).then(|| self.quiet as f64 / self.trials as f64)
    }
}

/// `steal 2.1 %, foreign CPU time 3 %` and `steal 0.7 %` share a cause, so the words up to the first figure name it.
fn without_figures(reason: &str) -> String {
    let end = reason.find(|c: char| c.is_ascii_digit()).unwrap_or(reason.len());
    let words = reason[..end].trim().trim_end_matches([':', ',', '=', '(', '>', '≥']).trim_end();
    if words.is_empty() { reason.into() } else { words.into() }
}

#[cfg(test)]
mod tests {
    use super::without_figures;

    #[test]
    fn the_cause_is_what_stands_before_the_figure() {
        assert_eq!(without_figures("steal 2.1 %, foreign CPU time 3 %"), "steal");
        assert_eq!(without_figures("foreign CPU time: 3 %"), "foreign CPU time");
        assert_eq!(without_figures("7 interrupts"), "7 interrupts");
    }
}
