//! The path in simulation: a card, its tenant's thread, and their ways of telling, on a clock that is only counted.
//!
//! What each step takes is given ([`Parts`]): as it was measured alone, or fitted. What follows from it is not: who waits for whom,
//! who sleeps and is woken, what is told together. The rules of telling are the card's own code ([`Delivery`]).
//!
//! ```text
//!   law        a step's times: equally likely values, as they were seen
//!   core       a core, from which the machine takes time now and then
//!   tenant     the tenant's thread: sends, takes, sleeps
//!   card       the card: sleeps, serves, tells
//!   run        their steps in order of time
//! ```

mod card;
mod core;
mod law;
mod run;
mod tenant;
#[cfg(test)]
mod tests;

use crate::engine::device::Delivery;
use crate::engine::driver::Waiting;

pub use law::Law;
pub use run::run;

/// What wake-ups take by how long one slept: `(slept, late)`, the shortest sleep first, both in nanoseconds.
pub type Wakes = Vec<(f64, Law)>;

/// What the machine takes from a thread that never gives its core away.
#[derive(Clone, Debug, Default)]
pub struct Interruptions {
    /// How many a second.
    pub rate: f64,
    /// How long they are, in nanoseconds.
    pub lengths: Law,
}

/// What the steps of a request take, in nanoseconds.
#[derive(Clone, Debug, Default)]
pub struct Parts {
    /// To write a request and lay it into the queue.
    pub submit: Law,
    /// To take a result out of the queue and read it.
    pub take: Law,
    /// To do a request: from the look that finds it to the look for the next.
    pub serve: Law,
    /// To write an eventfd on which somebody sleeps.
    pub call: Law,
    /// From that until who slept in poll(2) runs.
    pub poll: Wakes,
    /// And in epoll(7), as the card does.
    pub epoll: Wakes,
    /// How much longer a sleep lasts than it was asked to.
    pub nap: Wakes,
    /// What is left of a response that no step explains: added to each.
    pub rest: f64,
    /// What the machine takes of each core.
    pub interruptions: Interruptions,
}

/// What is asked of the card, and how.
#[derive(Clone, Debug)]
pub struct Question {
    /// How the card tells.
    pub delivery: Delivery,
    /// What the tenant does until it is told.
    pub waiting: Waiting,
    /// Whether the card looks without end, and never sleeps.
    pub awake: bool,
    /// Tenants with a thread each, which share a core.
    pub tenants: usize,
    /// Requests a second of each, Poisson.
    pub rate: f64,
    /// How many of them, after a tenth as many that are not counted.
    pub requests: u64,
    /// Of all that is drawn.
    pub seed: u64,
}

/// What came of it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Answer {
    /// Responses in nanoseconds, ascending: from when each was to begin until its result was read.
    pub responses: Vec<f64>,
    /// Seconds that passed.
    pub seconds: f64,
    /// Interrupts that the card sent.
    pub interrupts: u64,
    /// How often the card fell asleep.
    pub card_sleeps: u64,
    /// How often the tenant did.
    pub sleeps: u64,
    /// Seconds that the card's core was at work.
    pub card_busy: f64,
    /// And the tenant's, looking included.
    pub tenant_busy: f64,
}

impl Answer {
    /// Mean response, nanoseconds.
    pub fn mean(&self) -> f64 {
        self.responses.iter().sum::<f64>() / self.responses.len().max(1) as f64
    }

    /// The response that this share of requests does not exceed, nanoseconds.
    pub fn quantile(&self, share: f64) -> f64 {
        let last = self.responses.len().saturating_sub(1);
        self.responses.get((share * last as f64).round() as usize).copied().unwrap_or(f64::NAN)
    }
}
