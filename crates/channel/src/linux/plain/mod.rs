//! Synchronous requests and replies, one at a time: the best plain versions, to hold the rings against.
//!
//! ```text
//!   seqpacket  the slow path: a datagram there and one back, through the kernel
//!   turn       the fast path: the word that says whose turn it is, and the one message that lies beside it
//!   waiting    looks, gives way, sleeps, until it is its turn
//!   futex      how an end sleeps on the turn, and is told that the other is gone
//!   meeting    what two ends agree on, and what the server gives the client
//! ```
//!
//! `turn` and `waiting` know no operating system: `tests/orderings/turns.rs` has loom try every order of theirs.

use crate::{atomic, ring, wait};

mod client;
mod failed;
mod futex;
mod line;
mod meeting;
mod seqpacket;
mod server;
mod turn;
mod waiting;

pub use client::Client;
pub use failed::{Failed, Violation};
pub use meeting::{Limits, Options, Way};
pub use server::Server;
pub use waiting::Counts;
