//! One error for the contract: it names the place and the remedy, and travels from an agent to its coordinator.

use serde::{Deserialize, Serialize};

use crate::Missing;

/// Why a path, variant or actor could not do what was asked.
#[derive(Clone, Debug, PartialEq, thiserror::Error, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Error {
    /// What a person wrote is not usable.
    #[error("{place}: {reason}; {remedy}")]
    Input {
        /// Where it stands.
        place: String,
        /// What is wrong with it.
        reason: String,
        /// What to write instead.
        remedy: String,
    },
    /// This machine lacks something: the point is skipped, not failed.
    #[error("{0}")]
    Missing(Missing),
    /// The operating system refused.
    #[error("{doing}: {reason}")]
    System {
        /// What was being done.
        doing: String,
        /// What the system answered.
        reason: String,
    },
    /// A program that was asked for cannot be started.
    #[error("command `{program}`: {reason}; {remedy}")]
    NotStarted {
        /// What it is called on the command line.
        program: String,
        /// What is wrong with it.
        reason: String,
        /// What to write instead.
        remedy: String,
        /// Whether there is none; else it cannot be executed.
        is_missing: bool,
    },
    /// A result was checked and is wrong; its figure must not be used.
    #[error("verification failed: {0}")]
    Wrong(String),
    /// A tenant died, hung, or broke the protocol.
    #[error("tenant {tenant}: {reason}")]
    Tenant {
        /// Which tenant.
        tenant: String,
        /// What happened to it.
        reason: String,
    },
}

impl Error {
    /// An operating-system error with what was being done.
    pub fn system(doing: impl Into<String>, source: impl std::fmt::Display) -> Self {
        Error::System { doing: doing.into(), reason: source.to_string() }
    }
}

/// A result with the contract's error.
pub type Result<T, E = Error> = std::result::Result<T, E>;
