//! Requests as futures, and an executor for them; what waits for the other end is a [`Driver`].
//!
//! A request is given no memory of its own: its state is in the future itself and in a table that is as long as there are slots. A future that is
//! dropped leaves its slot with the server until the reply has come; nothing of the dropped future is written by anybody.

mod call;
#[cfg(feature = "linux")]
mod driven;
mod executor;
mod incoming;
mod kept;
pub(crate) mod line;
mod sharing;
mod woken;
// Not in woken.rs, which tests of orderings and pauses compile once more, with other atomics.
#[cfg(test)]
mod woken_tests;

pub use call::{Call, Calls, Lost};
#[cfg(feature = "linux")]
pub(crate) use driven::Driven;
pub use executor::{Executor, PRIORITIES, Rouser, Spawner};
pub use incoming::{Incoming, Next, Request};
#[cfg(feature = "linux")]
pub use sharing::Together;
pub use sharing::{Alone, Sharing};

use crate::ring::{Violation, Watched};
use crate::wait::Gone;

/// What brings tasks what they wait for.
pub trait Driver {
    /// Takes what has come and wakes who waits for it. Whether there was anything. What was sent before is on its way after this, and the
    /// other end awake to see it.
    ///
    /// # Errors
    /// [`Violation`] if the other end breaks the rules.
    fn turn(&mut self) -> Result<bool, Violation>;

    /// Waits until something has come, or `is_ready` says that there is something to do here. That is asked while the end is borrowed: it must not come back
    /// to what the tasks share.
    ///
    /// # Errors
    /// [`Gone`] if the other end is no more and has left nothing.
    fn wait(&mut self, is_ready: &mut dyn FnMut() -> bool) -> Result<(), Gone>;
}

/// An end that tasks share.
pub trait Shared {
    /// The end itself.
    type End: Watched;

    /// Takes what has come and wakes who waits for it; whether there was anything.
    ///
    /// # Errors
    /// [`Violation`] if the other end breaks the rules.
    fn turn(&self) -> Result<bool, Violation>;

    /// Nothing comes any more, for that reason or one that was said before: who waits is told, and no waker is kept.
    fn ends(&self, why: Stopped);

    /// With the end itself.
    fn with<T>(&self, does: impl FnOnce(&Self::End) -> T) -> T;
}

/// Why what tasks wait for cannot come any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stopped {
    /// The other end broke the rules.
    Broken(Violation),
    /// The other end is no more, or nobody here takes what comes from it.
    Gone,
}

impl From<Violation> for Stopped {
    fn from(violation: Violation) -> Stopped {
        Stopped::Broken(violation)
    }
}

impl From<Gone> for Stopped {
    fn from(_: Gone) -> Stopped {
        Stopped::Gone
    }
}

impl core::fmt::Display for Stopped {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Stopped::Broken(violation) => violation.fmt(f),
            Stopped::Gone => Gone.fmt(f),
        }
    }
}

impl core::error::Error for Stopped {}
