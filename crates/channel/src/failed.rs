//! Why a request has no reply.

use super::ring::Violation;
use super::ring::client::Refused;
use super::wait::Gone;

/// Why a request has no reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failed {
    /// It was not sent.
    Refused(Refused),
    /// The server broke the rules.
    Broken(Violation),
    /// The server is no more.
    Gone,
    /// The server has given the request up: it was dropped there, or who had to answer it has failed.
    Unanswered,
    /// The time for it is over. Its slot is free again when the server has answered nevertheless.
    TimedOut,
}

impl From<Refused> for Failed {
    fn from(refused: Refused) -> Failed {
        match refused {
            Refused::Broken(violation) => Failed::Broken(violation),
            refused => Failed::Refused(refused),
        }
    }
}

impl core::fmt::Display for Failed {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Failed::Refused(refused) => refused.fmt(f),
            Failed::Broken(violation) => violation.fmt(f),
            Failed::Gone => Gone.fmt(f),
            Failed::Unanswered => f.write_str("the server has given the request up without an answer"),
            Failed::TimedOut => {
                f.write_str("the server has not answered in time: give it more, or see what holds it up")
            }
        }
    }
}

impl core::error::Error for Failed {}
