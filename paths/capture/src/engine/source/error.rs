//! Why a live source cannot be opened, or ends.

use tollway_core::Error;
use tollway_wire::WireError;

/// What went wrong with a live source.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// The interface, the socket, its ring.
    #[error(transparent)]
    Wire(#[from] WireError),
    /// What was asked for does not go together.
    #[error("{place}: {reason}; {remedy}")]
    Settings {
        /// Which interface or setting.
        place: String,
        /// What is wrong with it.
        reason: String,
        /// What to ask instead.
        remedy: String,
    },
}

impl SourceError {
    pub(super) fn settings(
        place: impl Into<String>,
        reason: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        SourceError::Settings { place: place.into(), reason: reason.into(), remedy: remedy.into() }
    }
}

impl From<SourceError> for Error {
    fn from(error: SourceError) -> Self {
        match error {
            SourceError::Wire(error) => error.into(),
            SourceError::Settings { place, reason, remedy } => Error::Input { place, reason, remedy },
        }
    }
}
