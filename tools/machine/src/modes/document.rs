//! What a comparison of two modes says.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use tollway_core::Value;
use tollway_report::Comparison;
use tollway_report::document::{ComparisonDocument, OutcomeDocument, PointDocument, RunDocument, Span};

use super::Asked;
use super::repeated::RepeatedDocument;
use super::rows::{Titled, title};
use super::setback::{Lost, SetbackDocument, why};
use crate::mode::{Deviation, Mode};

/// The version of the document.
const SCHEMA_VERSION: u32 = 1;

/// Everything that is said of two modes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", schemars(title = "Two modes compared by Tollway"))]
pub struct ModesDocument {
    /// The version of this document.
    pub schema_version: u32,
    /// What is compared with, and what is compared.
    pub modes: [ModeDocument; 2],
    /// Whether the rows ran in guests, or on this machine itself.
    pub in_guests: bool,
    /// A row was measured until the interval of its ratio was this narrow to either side, as a share, or the time was up.
    pub until: f64,
    /// The rows, each with a verdict.
    pub comparison: ComparisonDocument,
    /// What encryption was foretold to cost before the rows were measured, and what it cost.
    pub foretold: Vec<ForetoldDocument>,
    /// Rows that were to be foretold and could not be, and why.
    #[serde(default)]
    pub not_foretold: Vec<SetbackDocument>,
    /// Rows that were skipped or failed, and why.
    pub setbacks: Vec<SetbackDocument>,
    /// What repetitions have come to, of which `comparison` and `foretold` are the last; null where there was one only.
    pub repeated: Option<RepeatedDocument>,
}

/// A mode.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ModeDocument {
    /// Its name.
    pub name: String,
    /// What it is.
    pub about: String,
    /// How a guest is made: axes and their values.
    pub guest: Vec<SetDocument>,
    /// What is set on the host meanwhile.
    pub host: Vec<SetDocument>,
    /// Where it is not what it stands for.
    pub deviations: Vec<DeviationDocument>,
}

/// What a mode sets.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct SetDocument {
    /// An axis, or a file of the host's.
    pub name: String,
    /// Its value.
    pub value: String,
}

/// Where a mode differs from what it stands for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct DeviationDocument {
    /// What it is there.
    pub from: String,
    /// What it is here.
    pub here: String,
}

/// A row that was foretold.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ForetoldDocument {
    /// The row.
    pub title: String,
    /// Of what its rates are.
    pub unit: String,
    /// What it was to give in a second.
    pub foretold: Span,
    /// What it gave.
    pub measured: Span,
    /// What became of the prediction.
    pub outcome: OutcomeDocument,
    /// How it was made.
    pub model: String,
}

impl ModeDocument {
    pub(super) fn of(mode: &Mode) -> ModeDocument {
        let deviation = |Deviation { from, here }: &Deviation| DeviationDocument {
            from: from.clone(),
            here: here.clone(),
        };
        let set = |name: String, value: String| SetDocument { name, value };
        ModeDocument {
            name: mode.mode.name.clone(),
            about: mode.mode.about.clone(),
            guest: mode.guest.iter().map(|(axis, value)| set(axis.clone(), value.to_string())).collect(),
            host: mode
                .host
                .iter()
                .map(|(file, value)| set(file.display().to_string(), value.clone()))
                .collect(),
            deviations: mode.deviation.iter().map(deviation).collect(),
        }
    }
}

impl ModesDocument {
    pub(super) fn of(
        asked: &Asked<'_>,
        comparison: Comparison,
        run: &RunDocument,
        titles: &[Titled],
        lost: &[Lost],
    ) -> ModesDocument {
        let called = |variant: &str, params: &BTreeMap<String, Value>, otherwise: &str| {
            title(titles, variant, |axis| params.get(axis).cloned()).unwrap_or(otherwise).to_owned()
        };
        let mut comparison = comparison.document().clone();
        for figure in &mut comparison.figures {
            figure.title = called(&figure.variant, &figure.params, &figure.title);
        }
        let mut setbacks: Vec<SetbackDocument> = Vec::new();
        for point in &run.points {
            let Some(why) = why(point) else { continue };
            let row = SetbackDocument { title: called(&point.variant, &point.params, &point.title), why };
            if !setbacks.contains(&row) {
                setbacks.push(row);
            }
        }
        let not_foretold = lost.iter().map(|Lost { variant, params, why }| SetbackDocument {
            title: title(titles, variant, |axis| params.get(axis).cloned()).unwrap_or(variant).to_owned(),
            why: why.clone(),
        });
        ModesDocument {
            schema_version: SCHEMA_VERSION,
            modes: [0, 1].map(|side| ModeDocument::of(&asked.modes[side])),
            in_guests: !asked.options.host,
            until: asked.options.until / 100.0,
            comparison,
            foretold: run
                .points
                .iter()
                .filter_map(|point| {
                    ForetoldDocument::of(point, called(&point.variant, &point.params, &point.title))
                })
                .collect(),
            not_foretold: not_foretold.collect(),
            setbacks,
            repeated: None,
        }
    }
}

impl ForetoldDocument {
    /// `None` where the point was not foretold, or has no figure.
    fn of(point: &PointDocument, title: String) -> Option<ForetoldDocument> {
        let (headline, prediction) = (point.rates.first()?, point.prediction.as_ref()?);
        let (measured, grade) = (prediction.measured?, prediction.grade?);
        // So many for each operation, by what it gave at the pace that was measured.
        let each = headline.per_second.estimate * measured.ns.estimate;
        let rate = |ns: Span| Span { estimate: each / ns.estimate, lo: each / ns.hi, hi: each / ns.lo };
        Some(ForetoldDocument {
            title,
            unit: headline.unit.clone(),
            foretold: rate(prediction.ns),
            measured: headline.per_second,
            outcome: grade.outcome,
            model: prediction.model.clone(),
        })
    }
}
