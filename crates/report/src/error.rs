//! Why a report could not be made.

use tollway_stats::StatsError;
use tollway_store::{RunId, StoreError};

/// Why a report could not be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReportError {
    /// The store could not be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The criteria of a comparison are not usable.
    #[error("the criteria of a comparison: {0}; give a margin above 0 and a rate between 0 and 1")]
    Criteria(#[from] StatsError),
    /// A run has not the side that was asked for.
    #[error("run {run} has no side `{side}`; {remedy}")]
    NoSide {
        /// The run.
        run: RunId,
        /// The label that was asked for.
        side: String,
        /// What the run has.
        remedy: String,
    },
    /// A template does not fit its data.
    #[error("the page: {0}; this is a defect of Tollway, please report it")]
    Page(#[from] minijinja::Error),
    /// A document does not become JSON.
    #[error("the document: {0}; this is a defect of Tollway, please report it")]
    Json(#[from] serde_json::Error),
}

/// A result with the report's error.
pub type Result<T, E = ReportError> = std::result::Result<T, E>;
