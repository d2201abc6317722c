//! Why nothing can be generated.

use tollway_core::Error;
use tollway_wire::WireError;

use crate::engine::file;

/// Why a generator cannot start. What ends one on its way is in its report.
#[derive(Debug, thiserror::Error)]
pub enum GenerateError {
    /// What was asked for cannot be.
    #[error("{place}: {reason}; {remedy}")]
    Input {
        /// What was asked about: a rate, a size, a group of flows, a file.
        place: String,
        /// What is wrong with it.
        reason: String,
        /// What to ask instead.
        remedy: String,
    },
    /// Nothing of the file to replay can be sent.
    #[error("the file to replay: {0}; give a capture of Ethernet frames")]
    Replay(String),
    /// The interface.
    #[error(transparent)]
    Wire(#[from] WireError),
    /// The file to replay.
    #[error(transparent)]
    File(#[from] file::Error),
}

impl GenerateError {
    pub(super) fn input(
        place: impl Into<String>,
        reason: impl Into<String>,
        remedy: impl Into<String>,
    ) -> GenerateError {
        GenerateError::Input { place: place.into(), reason: reason.into(), remedy: remedy.into() }
    }
}

impl From<GenerateError> for Error {
    fn from(error: GenerateError) -> Error {
        match error {
            GenerateError::Input { place, reason, remedy } => Error::Input { place, reason, remedy },
            GenerateError::Replay(reason) => Error::Input {
                place: "the file to replay".into(),
                reason,
                remedy: "give a capture of Ethernet frames".into(),
            },
            GenerateError::Wire(error) => error.into(),
            GenerateError::File(error) => error.into(),
        }
    }
}
