//! What a network gives to programs, between two ends that each are a thread, a process or a machine: how much of one way
//! ([`streams`] of TCP, [`datagrams`] of UDP at a rate, with loss and jitter), and how long a question and its answer take
//! ([`requests`]).
//!
//! One end listens ([`Listener`]), the other comes. Whatever becomes of the other, each ends: with an error that says why, after
//! [`PATIENCE`] at the latest. What arrives is counted at both ends and looked at by samples; on wrong content everything ends.
//!
//! [`Network`] is a network to try it on that nobody else is on. [`iperf3`] has the field's tool do the same.

mod content;
mod control;
pub mod datagrams;
pub mod iperf3;
mod listener;
mod namespaces;
pub mod requests;
pub mod streams;
mod wait;

use std::time::Duration;

pub use listener::Listener;
pub use namespaces::Network;

/// How long nothing may come from the other end while something is due.
pub const PATIENCE: Duration = Duration::from_secs(3);
