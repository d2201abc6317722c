//! What a card is told when it starts.

use std::time::Duration;

use tollway_virtio::order::{Discipline, Share};
use tollway_virtio::socket::Meeting;

use super::delivery::Delivery;

/// Bytes that a request is done to at most, unless a card is told otherwise.
pub const LONGEST: u64 = 1 << 20;

/// A virtual function to be.
#[derive(Debug)]
pub struct NewFunction {
    /// Its name.
    pub name: String,
    /// Where its virtual machine is met.
    pub meeting: Meeting,
    /// What it is entitled to: a limit is one of requests.
    pub share: Share,
    /// When its tenant is told that requests are done.
    pub delivery: Delivery,
}

impl NewFunction {
    /// Of that name, met there: entitled to what everybody is, and told of each request.
    pub fn new(name: impl Into<String>, meeting: Meeting) -> NewFunction {
        NewFunction { name: name.into(), meeting, share: Share::default(), delivery: Delivery::Each }
    }
}

/// What a card is like.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// How many cards there are behind the front, each with engines and an order of its own. A function is on one of them.
    pub cards: usize,
    /// Threads of a card that do requests.
    pub engines: usize,
    /// Engines of a card beside these, each for a thread of the card's user ([`Card::engine`](super::Card::engine)).
    pub lent: usize,
    /// Whose request is next.
    pub discipline: Discipline,
    /// Requests that a function has done in one turn at most; first come, first served, it is all that lie there.
    pub quantum: usize,
    /// Data queues of each function, 1 to 64.
    pub queues: usize,
    /// Sessions of each function at most.
    pub sessions: usize,
    /// Bytes that a request is done to at most, those that are only authenticated among them. A longer one ends with
    /// [`Status::Err`](crate::engine::protocol::Status::Err). It says how long a tenant may have to wait for another's request.
    pub longest: u64,
    /// How long an engine that has nothing to do looks for requests itself, before it asks to be kicked and sleeps.
    pub spin: Duration,
}

impl Default for Options {
    /// One card with one engine that sleeps at once, fair shares, turns of 32 requests of a MiB at most, a queue and 1024 sessions each.
    fn default() -> Self {
        Options {
            cards: 1,
            engines: 1,
            lent: 0,
            discipline: Discipline::Fair,
            quantum: 32,
            queues: 1,
            sessions: 1024,
            longest: LONGEST,
            spin: Duration::ZERO,
        }
    }
}
