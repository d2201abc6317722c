//! Clients that always have so many requests on their way, and servers, by every way.
//!
//! ```text
//!   ring     one thread, requests in rings, no futures
//!   tasks    one thread, each request is a task's future
//!   threads  a thread for each request, which sleeps until its reply is there
//!   alone    both ends in one thread, which never waits: what messages cost by themselves
//! ```
//!
//! All do the same: write a request ([`message::ask`]), have it answered, and look whether the reply is right.

pub mod alone;
pub mod ring;
pub mod tasks;
pub mod threads;

use std::fmt;

use tollway_channel::coroutine::Stopped;
use tollway_channel::linux::{Failed, plain};
use tollway_core::Ticks;

use super::message;

/// What a client keeps on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Demand {
    /// So many requests at a time, at least one.
    pub requests: usize,
    /// Bytes of a request, and of its reply.
    pub size: usize,
    /// What the server finds out ([`Load::result`](super::service::Load::result)).
    pub result: u64,
}

impl Demand {
    fn is_right(&self, number: u64, reply: &[u8]) -> bool {
        message::is_answer(number, self.size, self.result, reply)
    }
}

/// Who times a client's requests and says when it is enough.
pub trait Course {
    /// Before a request: when that is, if it is one of those that are timed.
    fn begins(&mut self) -> Option<Ticks>;

    /// A request that began then has its reply; `done` says how many have by now, of all. Whether another is to follow.
    fn came(&mut self, began: Option<Ticks>, done: impl FnOnce() -> u64) -> bool;
}

/// What came of a client's requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Requests that were sent.
    pub asked: u64,
    /// Replies that came.
    pub done: u64,
    /// Replies that were not what they had to be.
    pub wrong: u64,
    /// Why no more came, where that was not the client's wish.
    pub lost: Option<Loss>,
}

/// Why a client's requests have no replies any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    /// Of rings.
    Failed(Failed),
    /// Of tasks.
    Stopped(Stopped),
    /// Of threads.
    Called(plain::Failed),
    /// The kernel refused, by that error number (errno(3)).
    Kernel(i32),
}

impl fmt::Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Loss::Failed(failed) => failed.fmt(f),
            Loss::Stopped(stopped) => stopped.fmt(f),
            Loss::Called(failed) => failed.fmt(f),
            Loss::Kernel(errno) => std::io::Error::from_raw_os_error(*errno).fmt(f),
        }
    }
}
