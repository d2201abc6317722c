//! What a message over TCP will cost whose reply an application in another process makes, from tolls alone.
//!
//! The figure is the pace: the time between two messages of all connections together, the reciprocal of the throughput; by Little's law the mean latency by
//! their number. With n connections, each of which has one message on its way, it is foretold to be
//!
//! ```text
//! pace(n) = stack(n) + asking(n)
//! ```
//!
//! - **stack(n)** is the toll `stack-request`: the same client, network and stack, whose tasks or threads answer by themselves. It is known of 1, 4 and 64
//!   connections, between two of these it is `each + once / n`, as messages are billed, and beyond the last it is as there.
//! - **asking(n)** is what the application adds. Where the core that has most to do is never idle, its work for a message is the pace, and what is added to
//!   its work adds to the pace; where all wait for each other, a message takes as much longer as is done for it (P. J. Denning and J. P. Buzen, "The
//!   Operational Analysis of Queueing Network Models", ACM Computing Surveys 10:3, 1978, section 5.2).
//!
//! | asking(n) | stack and application on one core | on two |
//! |---|---|---|
//! | datagrams | d | max(d / 2, d₂ / n) |
//! | handoff | f | f₂ for one connection |
//! | rings | m + w / n | m₂ + w₂ / n |
//!
//! where d is the toll `unix-seqpacket` and what n threads add to it (by `crowded-call`), f is `futex`, m is `message` as futures with 64 at once and w is
//! `notice` by eventfd; those with a 2 are across cores; each as it costs at work (`reckoned`). On one core the stack's has all of the exchange. On two each
//! has half of it, as the client's has the application, or all wait for the exchange: the larger of the two. Of several connections by handoff on two cores
//! nothing is foretold, as nothing is of the fast path: threads that wait for their turn give their core away in vain, the more the more there are, and it
//! is the client's. Rings are looked at for all that has come, so that all that are on their way share a sleep and a wake-up: on one core the stack's or the
//! application's, on two the client's, which has its core from the application.
//!
//! That with one on its way a message by rings takes some hundred ticks more is left out: a stack takes a hundred thousand then. So are the turns of
//! other programs, which a pace has in it and a toll's median has not.

use tollway_core::{Forecast, Placement, Quoted, Result, TollKey, TollSource};

use super::reckoned::{How, Ticks, by_tolls};
use crate::engine::tcp::{Itself, Style};
use crate::setting::{Setting, Way};
use crate::tolls;

/// A point, and the tolls of what stack and application do together.
struct Asked {
    style: Style,
    placement: Placement,
    setting: Setting,
}

impl Asked {
    fn of(style: Style, connections: usize, placement: Placement) -> Asked {
        Asked { style, placement, setting: Setting::of_connections(style, connections) }
    }

    fn is_foretold(&self) -> bool {
        self.setting.way != Way::Fast || self.placement == Placement::Same || self.setting.requests == 1
    }

    fn connections(&self) -> f64 {
        self.setting.requests as f64
    }

    /// The tolls of the stack by itself, with the share of each. The client has a core of its own in either case.
    fn stack(&self) -> impl Iterator<Item = (TollKey, f64)> {
        let itself = match self.style {
            Style::Asynchronous => Itself::Tasks,
            Style::Synchronous(_) => Itself::Threads,
        };
        tolls::shares(&tolls::STACK_DEPTHS, self.setting.requests as u32)
            .map(move |(depth, share)| (tolls::stack(itself, Placement::Across, depth), share))
    }

    /// The toll of a message where many are on their way.
    fn message(&self) -> Option<TollKey> {
        tolls::messages(&self.setting, self.placement).last()
    }

    /// The tolls of the application's part.
    fn asking(&self) -> Vec<TollKey> {
        let across = (self.placement == Placement::Across).then_some(Placement::Across);
        let placements = [Placement::Same].into_iter().chain(across);
        match self.setting.way {
            Way::Slow => {
                let crowd = (self.setting.requests > 1).then(|| tolls::crowding(&self.setting));
                placements.map(|at| tolls::datagrams(&self.setting, at)).chain(crowd).collect()
            }
            Way::Fast => vec![tolls::futex(self.placement)],
            Way::Ring | Way::Tasks => {
                self.message().into_iter().chain([tolls::noticing(&self.setting, self.placement)]).collect()
            }
        }
    }

    fn tolls(&self) -> Vec<TollKey> {
        self.stack().map(|(key, _)| key).chain(self.asking()).collect()
    }

    /// What the application adds.
    fn adds(&self, known: &Ticks<'_>) -> f64 {
        let n = self.connections();
        match self.setting.way {
            Way::Slow => {
                let alone = known.of(&tolls::datagrams(&self.setting, Placement::Same));
                let more = match known.get(&tolls::crowding(&self.setting)) {
                    Some(crowd) => (crowd - alone).max(0.0) * tolls::crowd_share(self.setting.requests),
                    None => 0.0,
                };
                match self.placement {
                    Placement::Same => alone + more,
                    Placement::Across => {
                        let across = known.of(&tolls::datagrams(&self.setting, Placement::Across));
                        ((alone + more) / 2.0).max(across / n)
                    }
                }
            }
            Way::Fast => known.of(&tolls::futex(self.placement)),
            Way::Ring | Way::Tasks => {
                let message = self.message().map_or(f64::NAN, |key| known.of(&key));
                message + known.of(&tolls::noticing(&self.setting, self.placement)) / n
            }
        }
    }

    fn words(&self) -> &'static str {
        match (self.setting.way, self.placement) {
            (Way::Ring | Way::Tasks, _) => {
                "the stack by itself, a message, and by the connections a sleep and wake-up"
            }
            (Way::Slow, Placement::Across) => {
                "the stack by itself, and half of the exchange or the whole by the connections, whichever is more"
            }
            (Way::Slow | Way::Fast, _) => "the stack by itself, and the exchange with the application",
        }
    }
}

/// The tolls that a prediction of that point is made from, none where nothing is foretold; `placement` is that of stack and application.
pub(crate) fn needs(style: Style, connections: usize, placement: Placement) -> Vec<TollKey> {
    let asked = Asked::of(style, connections, placement);
    if asked.is_foretold() { asked.tolls() } else { Vec::new() }
}

/// What a message will cost; `None` where nothing is foretold.
///
/// # Errors
/// [`Error::Missing`](tollway_core::Error::Missing) where a toll is not known.
pub(crate) fn forecast(
    style: Style,
    connections: usize,
    placement: Placement,
    tolls: &dyn TollSource,
) -> Option<Result<Forecast>> {
    let asked = Asked::of(style, connections, placement);
    asked.is_foretold().then(|| {
        let threads = if asked.setting.way.is_synchronous() { connections } else { 1 };
        let how = How { words: asked.words(), placement, threads };
        let (forecast, _) = by_tolls(&asked.tolls(), tolls, &how, |known| {
            let stack: f64 = asked.stack().map(|(key, share)| share * known.of(&key)).sum();
            stack + asked.adds(known)
        })?;
        Ok(Forecast { of: Quoted::Pace, ..forecast })
    })
}
