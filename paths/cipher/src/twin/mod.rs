//! The path in simulation: a card, its tenant's thread, and their ways of telling, on a clock that is only counted.
//!
//! What each step takes is given ([`Parts`]): as it was measured alone, or fitted. What follows from it is not: who waits for whom,
//! who sleeps and is woken, what is told together. The rules of telling are the card's own code ([`Delivery`]); who was told is not
//! told again before it has looked, as VIRTIO has it (1.2, 2.7.7).
//!
//! ```text
//!   law        a step's times, as they were seen
//!   taken      what the machine takes of cores
//!   core       a core, from which the machine takes time now and then
//!   tenant     the tenant's thread: sends, takes, sleeps
//!   card       the card: sleeps, serves, tells
//!   run        their steps in order of time
//! ```

mod card;
mod core;
mod law;
mod run;
mod taken;
mod tenant;
#[cfg(test)]
mod tests;

use crate::engine::device::Delivery;
use crate::engine::driver::Waiting;

pub use law::Law;
pub use run::run;
pub use taken::{Interruptions, Watched};

/// What it takes to wake somebody by how long that has slept: `(slept, takes)`, the shortest sleep first, both in nanoseconds.
pub type Wakes = Vec<(f64, Law)>;

/// What the steps of a request take, in nanoseconds.
#[derive(Clone, Debug, Default)]
pub struct Parts {
    /// To write a request and lay it into the queue.
    pub submit: Law,
    /// To take a result out of the queue and read it.
    pub take: Law,
    /// To do a request: from the look that finds it to the look for the next.
    pub serve: Law,
    /// How much longer the first takes after a sleep: a core that has slept is cold.
    pub cold: f64,
    /// To write an eventfd on which the card sleeps.
    pub kick: Wakes,
    /// From that until the card runs.
    pub card: Wakes,
    /// To write an eventfd on which a tenant sleeps whose core is idle.
    pub call: Wakes,
    /// The same of one whose core is another's meanwhile.
    pub call_shared: Wakes,
    /// From that until the tenant runs.
    pub tenant: Wakes,
    /// What a tenant's sleep and its end take of a core that was another's meanwhile.
    pub switch: Law,
    /// How much longer a sleep lasts than it was asked to, while the other core is at work.
    pub nap: Wakes,
    /// The same while both are idle.
    pub nap_idle: Wakes,
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
    /// Requests a second of each, Poisson; 0: the next begins when one has ended.
    pub rate: f64,
    /// How many of them, after a tenth as many that are not counted.
    pub requests: u64,
    /// Of all that is drawn.
    pub seed: u64,
}

/// What came of it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Answer {
    /// Responses in nanoseconds, in the order in which they ended: from when each was to begin until its result was read.
    pub responses: Vec<f64>,
    /// Seconds that passed.
    pub seconds: f64,
    /// Interrupts that the card sent.
    pub interrupts: u64,
    /// How often the card fell asleep.
    pub card_sleeps: u64,
    /// How often the tenant did.
    pub sleeps: u64,
    /// Requests that stood at the card and of which it knew, the one that it was at included: the mean over time.
    pub queue: f64,
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
        quantile(&self.responses, share)
    }

    /// The same of so many requests in a row at a time: the median over these.
    pub fn typical_quantile(&self, share: f64, requests: usize) -> f64 {
        let of: Vec<f64> =
            self.responses.chunks_exact(requests.max(1)).map(|block| quantile(block, share)).collect();
        if of.is_empty() { self.quantile(share) } else { quantile(&of, 0.5) }
    }
}

fn quantile(of: &[f64], share: f64) -> f64 {
    let mut of = of.to_vec();
    let last = of.len().saturating_sub(1);
    match of.get((share * last as f64).round() as usize) {
        Some(_) => *of.select_nth_unstable_by((share * last as f64).round() as usize, f64::total_cmp).1,
        None => f64::NAN,
    }
}
