//! How it is going: everything that is counted.

use tollway_virtio::backend::Ring;
use tollway_virtio::order::{Share, Waits};

use super::line::Standing;
use super::reply::Done;
use crate::engine::protocol::Status as Ending;

/// A card, or several behind one front.
#[derive(Clone, Debug, PartialEq)]
pub struct Status {
    /// Seconds since it started.
    pub seconds: f64,
    /// Its virtual functions, in the order in which they were given.
    pub functions: Vec<FunctionStatus>,
    /// Its cards.
    pub cards: Vec<CardStatus>,
    /// Requests that stand at all of them; the most are those at one.
    pub standing: Standing,
}

impl Status {
    /// How long each engine worked, in seconds, card by card.
    pub fn engines(&self) -> Vec<f64> {
        self.cards.iter().flat_map(|card| card.engines.iter().copied()).collect()
    }
}

/// One card.
#[derive(Clone, Debug, PartialEq)]
pub struct CardStatus {
    /// Whether it serves anybody: one that failed does not, until all is started anew.
    pub runs: bool,
    /// Its engines: how long each worked, in seconds.
    pub engines: Vec<f64>,
    /// Requests that stand at it.
    pub standing: Standing,
}

/// One virtual function.
#[derive(Clone, Debug, PartialEq)]
pub struct FunctionStatus {
    /// Its name.
    pub name: String,
    /// What it is entitled to.
    pub share: Share,
    /// The card that it is on, while a peer is connected.
    pub card: Option<usize>,
    /// Whether a peer is connected.
    pub connected: bool,
    /// Whether a queue of it is served.
    pub served: bool,
    /// Sessions that it has.
    pub sessions: usize,
    /// What was counted.
    pub counts: Counts,
    /// What it had to wait.
    pub waits: Waits,
    /// Its requests that stand at the card.
    pub standing: Standing,
}

/// What is counted of a virtual function.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Requests that were done, with whatever status.
    pub requests: u64,
    /// Bytes that they were done to.
    pub bytes: u64,
    /// Requests that ended otherwise than well.
    pub failed: u64,
    /// Sessions made and closed by the control queue, or tried to be.
    pub controls: u64,
    /// Kicks that were noticed; several at once count as one.
    pub kicks: u64,
    /// Interrupts that were sent.
    pub interrupts: u64,
    /// Queues that were given up, for a buffer that could not be used.
    pub refused_chains: u64,
    /// Messages, and connections, that were refused.
    pub refused_messages: u64,
    /// Connections.
    pub connections: u64,
}

impl Counts {
    pub(super) fn add(&mut self, done: &Done) {
        self.requests += 1;
        self.bytes += done.bytes as u64;
        self.failed += u64::from(done.status != Ending::Ok);
    }

    /// Interrupts the driver, if it wants to be, and counts it. Whether it was.
    pub(super) fn call(&mut self, ring: &mut Ring) -> bool {
        let called = ring.call();
        self.interrupts += u64::from(called);
        called
    }

    /// The same where more follows, and `call` after the last.
    pub(super) fn call_early(&mut self, ring: &mut Ring) {
        self.interrupts += u64::from(ring.call_early());
    }
}
