//! `tollway ipc`: what somebody wants to know who has a request made of another process, or of the kernel.
//!
//! | command | does |
//! |---|---|
//! | `ping-pong` | requests and replies between two processes, by every way |
//! | `alloc-server` | memory that is taken and given back: calls one by one, queued, or asked of a server |
//! | `tcp-server` | a TCP server behind a network stack of its own |
//! | `advise` | synchronous or asynchronous, look or sleep, and from where on that changes |
//!
//! It is mounted in the program as a verb; each command is a module here or, of the three that measure, in [`sweep`]; its options are in
//! [`args`].
#![warn(missing_debug_implementations)]

pub mod advise;
pub mod args;
mod request;
mod span;
pub mod step;
pub mod sweep;

/// The examples of the page are compiled.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/ipc.md")]
struct Page;

/// The path whose variants are measured.
pub const PATH: &str = "ipc";

/// How a command ended that did not err.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// All was done.
    Done,
    /// Something was wrong, or the advice did not hold.
    CheckFailed,
    /// Something is lacking, and --strict was given.
    RequirementMissing,
    /// It was interrupted; what was measured is kept.
    Interrupted,
}
