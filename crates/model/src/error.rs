//! What a model answers instead of a number it cannot stand for.

/// Why a model has no answer. Never a NaN: the parameter is named, with what to do about it.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ModelError {
    /// A parameter is missing, unreadable, out of range or at odds with another one.
    #[error("{name}: {reason}; {remedy}")]
    Parameter {
        /// The parameter, or the place in a specification: `lambda`, `station device: service`.
        name: String,
        /// What is wrong with it.
        reason: String,
        /// What to write instead.
        remedy: String,
    },
    /// There is no steady state: work arrives as fast as it is done, or faster.
    #[error("{name}: no steady state at a load of {load:.4}; {remedy}")]
    Unstable {
        /// The parameter to change first.
        name: String,
        /// The load offered to one server, as a share of what it can do: 1 or more.
        load: f64,
        /// What to write instead.
        remedy: String,
    },
    /// The numbers left what floating point can hold, or a method did not converge.
    #[error("{method}: {reason}")]
    Numerical {
        /// The method that failed.
        method: &'static str,
        /// What happened.
        reason: String,
    },
}

impl ModelError {
    /// A parameter that cannot be used.
    pub fn parameter(name: impl Into<String>, reason: impl Into<String>, remedy: impl Into<String>) -> Self {
        ModelError::Parameter { name: name.into(), reason: reason.into(), remedy: remedy.into() }
    }

    /// The same error with the place before the name of its parameter: `station device: service: mean`.
    #[must_use]
    pub fn within(self, place: &str) -> Self {
        match self {
            ModelError::Parameter { name, reason, remedy } => {
                ModelError::Parameter { name: format!("{place}: {name}"), reason, remedy }
            }
            ModelError::Unstable { name, load, remedy } => {
                ModelError::Unstable { name: format!("{place}: {name}"), load, remedy }
            }
            other => other,
        }
    }
}

/// A result with a model's error.
pub type Result<T, E = ModelError> = std::result::Result<T, E>;
