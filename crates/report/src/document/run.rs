//! The document of a run.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use tollway_store::{RunRecord, Trial};

use super::{
    BillDocument, ChangeDocument, GuestsDocument, HostAgainstGuestDocument, PointDocument, SCHEMA_VERSION,
    SharingDocument,
};
use crate::number::percent;

/// Everything that a report of a run says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", schemars(title = "A run of Tollway"))]
pub struct RunDocument {
    /// The version of this document.
    pub schema_version: u32,
    /// The run.
    pub run: RunHead,
    /// The machine.
    pub machine: MachineDocument,
    /// The virtual machines that it used.
    pub guests: GuestsDocument,
    /// How quiet it was.
    pub quality: QualityDocument,
    /// What is remarkable, in sentences made from the figures.
    pub remarks: Vec<RemarkDocument>,
    /// Its points, in the order in which they were planned.
    pub points: Vec<PointDocument>,
    /// What points cost gate by gate, of those that pass gates with tolls.
    pub bills: Vec<BillDocument>,
    /// What changes of a path bring, predicted and measured.
    pub changes: Vec<ChangeDocument>,
    /// What each gets of those who share something, by how many they are.
    pub sharing: Vec<SharingDocument>,
    /// What the same crossings cost in this machine and in its guests; null where none was measured in several kinds
    /// of tenants.
    pub host_against_guest: Option<HostAgainstGuestDocument>,
}

/// What identifies a run, and how to repeat it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct RunHead {
    /// Its number in the store.
    pub id: i64,
    /// What a person calls it.
    pub title: String,
    /// `running`, `complete`, `interrupted`, `failed`, or `killed`: its process is gone without having ended it.
    pub state: String,
    /// When it began.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub started: Timestamp,
    /// When it ended, if it did.
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
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
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct MachineDocument {
    /// An id that stays the same when it restarts.
    pub id: String,
    /// The machine in full, as it was found.
    pub fingerprint: serde_json::Value,
}

/// How quiet a run was.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
            guests: (&run.guests).into(),
            quality: QualityDocument::of(record),
            remarks: Vec::new(),
            points: record.points.iter().map(|p| PointDocument::of(p, spec.hz)).collect(),
            bills: Vec::new(),
            sharing: Vec::new(),
            changes: Vec::new(),
            host_against_guest: None,
        };
        document.sharing = super::sharing::of_run(record, &document.points);
        document.host_against_guest = crate::host_against_guest::of(record, &document);
        document
    }
}

impl QualityDocument {
    fn of(record: &RunRecord) -> QualityDocument {
        let trials = || record.points.iter().flat_map(|p| &p.measured);
        let lost: f64 = trials().map(|t| t.lost_ticks).sum();
        let spent: f64 = trials().map(|t| t.mean * t.ops as f64).sum();
        QualityDocument {
            trials: trials().count() as u64,
            quiet: trials().filter(|t| t.quiet).count() as u64,
            lost_share: (spent > 0.0).then(|| (lost / spent).clamp(0.0, 1.0)),
            noise: noise_of(trials()),
        }
    }

    /// That the machine was noisy, and mostly why; `None` where it was quiet enough. Said once of a run and
    /// not by each of its rows.
    pub(crate) fn noisy(&self) -> Option<String> {
        let quiet = self.quiet_share().filter(|share| *share < crate::price_list::QUIET_ENOUGH)?;
        let why = self.noise.first().map(|noise| format!(", mostly by {}", noise.reason)).unwrap_or_default();
        Some(format!("noisy machine: {} of the trials disturbed{why}", percent(1.0 - quiet)))
    }

    /// Share of quiet trials; `None` without a trial.
    pub(crate) fn quiet_share(&self) -> Option<f64> {
        (self.trials > 0).then(|| self.quiet as f64 / self.trials as f64)
    }
}

/// Why trials were not quiet, the most frequent reason first.
pub(super) fn noise_of<'t>(trials: impl Iterator<Item = &'t Trial>) -> Vec<NoiseDocument> {
    let mut noise: BTreeMap<String, NoiseDocument> = BTreeMap::new();
    for example in trials.filter_map(|t| t.noise.as_ref()) {
        for reason in causes(example) {
            noise
                .entry(reason.clone())
                .or_insert_with(|| NoiseDocument { reason, trials: 0, example: example.clone() })
                .trials += 1;
        }
    }
    let mut noise: Vec<NoiseDocument> = noise.into_values().collect();
    noise.sort_by_key(|n| std::cmp::Reverse(n.trials));
    noise
}

/// The causes that a trial's noise names, without their figures: `2.1 % stolen, 3.0 % foreign processor time` names two.
pub(crate) fn causes(noise: &str) -> Vec<String> {
    let figure = |part: &str| part.starts_with(|c: char| c.is_ascii_digit());
    if !figure(noise) {
        return vec![noise.into()];
    }
    let without = |part: &str| {
        let rest = part.trim_start_matches(|c: char| c.is_ascii_digit() || ".%× ".contains(c));
        rest.strip_prefix("ms ").unwrap_or(rest).to_string()
    };
    noise.split(", ").map(without).filter(|cause| !cause.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::causes;

    #[test]
    fn a_cause_is_told_without_its_figure() {
        assert_eq!(
            causes("2.1 % stolen, 3.0 % foreign processor time"),
            ["stolen", "foreign processor time"]
        );
        assert_eq!(
            causes(
                "2 × throttled by heat, 7.3 % below the run's median frequency, 3.2 ms too late for the warm-up"
            ),
            ["throttled by heat", "below the run's median frequency", "too late for the warm-up"]
        );
        assert_eq!(causes("12.0 % of the watched time lost in gaps"), ["of the watched time lost in gaps"]);
        let coarse = "ticks of 10 ms are too coarse for so short a time, and nobody watched for gaps";
        assert_eq!(causes(coarse), [coarse]);
    }
}
