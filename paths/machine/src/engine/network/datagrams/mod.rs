//! Datagrams of UDP from one end to the other at a rate, whatever becomes of them: how many arrive, which do not, and how evenly.
//!
//! A datagram has its number, the time at which it was sent, and content that is known. What arrived is told by who received it.

mod jitter;
mod numbers;
mod receive;
mod send;

pub use jitter::Jitter;
pub use numbers::Numbers;
pub use receive::{Received, Receiver};
pub use send::{Lateness, Sender, Sent};

/// Bytes of number and time, the least that a datagram has.
pub const HEADER: usize = 16;

/// The most content that UDP over IPv4 carries (RFC 768, RFC 791).
pub const MOST: usize = 65_507;
