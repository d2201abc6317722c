//! Where random bytes come from: one small trait, and every source behind it.

mod device;
mod instruction;
mod kernel;
mod planted;
mod seeded;

use std::path::PathBuf;
use std::str::FromStr;

use tollway_core::Missing;

use super::health::Watch;

pub use device::Device;
pub use instruction::{Rdrand, Rdseed};
pub use kernel::Getrandom;
pub use planted::{Fault, Planted};
pub use seeded::Seeded;

/// Something that gives random bytes.
pub trait Source: Send {
    /// Its name, for people: `rdrand`, `/dev/hwrng`.
    fn name(&self) -> &str;

    /// Fills all of `into`.
    ///
    /// # Errors
    /// It could not; then what `into` holds is worth nothing and must not be used.
    fn fill(&mut self, into: &mut [u8]) -> Result<(), Error>;

    /// What it did so far.
    fn counts(&self) -> Counts;

    /// What may be assumed of its bytes.
    fn claim(&self) -> Claim;

    /// For others to see how it is, where it is under health tests.
    fn watch(&self) -> Option<Watch> {
        None
    }
}

impl<S: Source + ?Sized> Source for Box<S> {
    fn name(&self) -> &str {
        (**self).name()
    }

    fn fill(&mut self, into: &mut [u8]) -> Result<(), Error> {
        (**self).fill(into)
    }

    fn counts(&self) -> Counts {
        (**self).counts()
    }

    fn claim(&self) -> Claim {
        (**self).claim()
    }

    fn watch(&self) -> Option<Watch> {
        (**self).watch()
    }
}

/// What a source did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Bytes that it gave.
    pub bytes: u64,
    /// How often it was asked, with or without success: instructions executed, reads, system calls.
    pub draws: u64,
    /// How often it had nothing to give.
    pub failures: u64,
}

/// What a source's maker says of its bytes, in bits of min-entropy a byte (0 to 8).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Claim {
    /// How evenly its bytes come: what health tests hold it to. A deterministic generator's bytes look like 8 bits each.
    pub evenness: f64,
    /// What of a byte cannot be worked out from those before it: what may be credited.
    pub entropy: f64,
}

/// Why a source gave nothing.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// This machine has no such source.
    #[error("{0}")]
    Missing(Missing),
    /// It failed so often in a row that it counts as broken, or as far too slow.
    #[error("{source_name}: nothing came in {tries} tries; another source, or fewer who draw from this one")]
    Dry {
        /// Which source.
        source_name: String,
        /// How often it was tried.
        tries: u64,
    },
    /// A file or a pipe has no more bytes.
    #[error("{source_name}: it ended after {bytes} bytes")]
    Ended {
        /// Which source.
        source_name: String,
        /// How many bytes it gave before.
        bytes: u64,
    },
    /// Its health tests found that it has broken.
    #[error("{source_name} has failed its health tests: {test}: {detail}")]
    Unhealthy {
        /// Which source.
        source_name: String,
        /// Which test ([`crate::engine::health`]).
        test: &'static str,
        /// What was found.
        detail: String,
    },
    /// The operating system refused.
    #[error("{source_name}: {doing}: {reason}")]
    System {
        /// Which source.
        source_name: String,
        /// What was being done.
        doing: &'static str,
        /// What the system answered.
        reason: std::io::Error,
    },
}

impl Error {
    /// Whether it may be gone when the source is asked again.
    pub fn may_pass(&self) -> bool {
        match self {
            Error::Missing(_) | Error::Ended { .. } => false,
            Error::Dry { .. } | Error::Unhealthy { .. } | Error::System { .. } => true,
        }
    }
}

impl From<Error> for tollway_core::Error {
    fn from(error: Error) -> Self {
        match error {
            Error::Missing(missing) => tollway_core::Error::Missing(missing),
            Error::System { source_name, doing, reason } => {
                tollway_core::Error::system(format!("{source_name}: {doing}"), reason)
            }
            other => tollway_core::Error::system("drawing random bytes", other),
        }
    }
}

/// Which source: what a person writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `rdrand`.
    Rdrand,
    /// `rdseed`.
    Rdseed,
    /// `getrandom`: this kernel's generator.
    Getrandom,
    /// A file, a pipe or a device, by its path.
    Path(PathBuf),
}

impl Kind {
    /// The sources with names of their own.
    pub const NAMES: &[&str] = &["rdrand", "rdseed", "getrandom"];

    /// Opens it.
    ///
    /// # Errors
    /// This machine lacks it, or the file cannot be opened.
    pub fn open(&self) -> Result<Box<dyn Source>, Error> {
        Ok(match self {
            Kind::Rdrand => Box::new(Rdrand::open()?),
            Kind::Rdseed => Box::new(Rdseed::open()?),
            Kind::Getrandom => Box::new(Getrandom::default()),
            Kind::Path(path) => Box::new(Device::open(path)?),
        })
    }
}

impl FromStr for Kind {
    type Err = String;

    /// A name, or else a path: `/dev/hwrng`, `./numbers`.
    fn from_str(text: &str) -> Result<Self, String> {
        Ok(match text {
            "rdrand" => Kind::Rdrand,
            "rdseed" => Kind::Rdseed,
            "getrandom" => Kind::Getrandom,
            path if path.contains('/') => Kind::Path(path.into()),
            other => {
                return Err(format!(
                    "there is no source `{other}`; there are {}, and files by a path with a slash",
                    Kind::NAMES.join(", ")
                ));
            }
        })
    }
}

impl std::fmt::Display for Kind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Kind::Rdrand => f.write_str("rdrand"),
            Kind::Rdseed => f.write_str("rdseed"),
            Kind::Getrandom => f.write_str("getrandom"),
            Kind::Path(path) => path.display().fmt(f),
        }
    }
}

#[cfg(test)]
mod tests;
