//! What can go wrong on the wire: what was being done, why it failed, what would help.

use std::io;

use tollway_core::{Error, Missing};

/// Why something about an interface, a namespace or a socket could not be done.
#[derive(Debug, thiserror::Error)]
pub enum WireError {
    /// This process may not do it, or the kernel has it not.
    #[error("{0}")]
    Missing(Missing),
    /// What was asked for cannot be: a name that no interface has, a size that no ring can have.
    #[error("{place}: {reason}; {remedy}")]
    Input {
        /// What was asked about, mostly an interface.
        place: String,
        /// What is wrong.
        reason: String,
        /// What to ask instead.
        remedy: String,
    },
    /// An interface that was there is so no longer: down, or gone.
    #[error("interface {interface}: {reason}; {remedy}")]
    Lost {
        /// Its name.
        interface: String,
        /// What happened to it.
        reason: String,
        /// What to do about it.
        remedy: String,
    },
    /// The kernel refused.
    #[error("{doing}: {source}")]
    System {
        /// What was being done.
        doing: String,
        /// What the kernel answered.
        source: io::Error,
    },
}

impl WireError {
    /// What the kernel answered to `doing`. A lack of privileges becomes [`WireError::Missing`].
    pub(crate) fn system(doing: impl Into<String>, source: impl Into<io::Error>) -> Self {
        let (doing, source) = (doing.into(), source.into());
        match source.raw_os_error() {
            Some(libc::EPERM | libc::EACCES) => WireError::Missing(Missing::new(
                doing,
                source.to_string(),
                "run as root, or with CAP_NET_RAW (sockets) and CAP_NET_ADMIN (interfaces, promiscuous mode)",
            )),
            _ => WireError::System { doing, source },
        }
    }

    /// Something asked for that cannot be.
    pub(crate) fn input(
        place: impl Into<String>,
        reason: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        WireError::Input { place: place.into(), reason: reason.into(), remedy: remedy.into() }
    }

    /// No interface has that name.
    pub(crate) fn no_interface(name: &str) -> Self {
        WireError::input(
            format!("interface {name}"),
            "there is none of that name in this network namespace",
            "`ip link` lists those that are there",
        )
    }

    /// The number of the kernel's answer, if it was the kernel that refused.
    pub fn errno(&self) -> Option<i32> {
        match self {
            WireError::System { source, .. } => source.raw_os_error(),
            _ => None,
        }
    }
}

impl From<WireError> for Error {
    fn from(error: WireError) -> Self {
        match error {
            WireError::Missing(missing) => Error::Missing(missing),
            WireError::Input { place, reason, remedy } => Error::Input { place, reason, remedy },
            WireError::Lost { interface, reason, remedy } => {
                Error::Input { place: format!("interface {interface}"), reason, remedy }
            }
            WireError::System { doing, source } => Error::system(doing, source),
        }
    }
}
