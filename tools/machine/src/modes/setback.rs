//! Rows that have less than they should, and why.

use serde::{Deserialize, Serialize};
use tollway_core::Params;
use tollway_report::document::PointDocument;

/// A row that has less than it should.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct SetbackDocument {
    /// The row.
    pub title: String,
    /// Why.
    pub why: String,
}

/// A row that was to be foretold and was not.
pub(super) struct Lost {
    pub(super) variant: String,
    pub(super) params: Params,
    /// What was not measured of what the prediction is made of.
    pub(super) why: String,
}

/// Why a point has no figure.
pub(super) fn why(point: &PointDocument) -> Option<String> {
    match (&point.skipped, &point.error) {
        (Some(missing), _) => {
            Some(format!("skipped: {}: {} → {}", missing.what, missing.reason, missing.remedy))
        }
        (None, Some(error)) => Some(format!("failed: {error}")),
        (None, None) => None,
    }
}
