//! What the store keeps of the counters around a trial: those of the machine, and those of each actor's thread.
//!
//! No perf events: one that watches a thread makes each of its context switches and page faults dearer, and those are
//! what is measured. The kernel's own accounting is there anyway.

use serde::Serialize;
use tollway_host::meters::MetersDelta;

use crate::crew::{Outcome, Played};

/// Counters of a trial. What could not be read is null, never zero.
#[derive(Debug, Serialize)]
pub(crate) struct Counters<'a> {
    /// Of the whole machine, from before the window to after it.
    machine: &'a MetersDelta,
    /// Of the thread of each actor, while it ran.
    actors: Vec<Actor<'a>>,
}

#[derive(Debug, Serialize)]
struct Actor<'a> {
    role: &'a str,
    /// Which of the role's actors.
    number: u32,
    cpu_ns: u64,
    voluntary_switches: Option<u64>,
    involuntary_switches: Option<u64>,
    minor_faults: Option<u64>,
    major_faults: Option<u64>,
    /// Ticks that it began too late.
    late: u64,
}

impl<'a> Counters<'a> {
    pub(crate) fn of(outcome: &'a Outcome) -> Self {
        let actor = |Played { role, number, ran, .. }: &'a Played| Actor {
            role,
            number: *number,
            cpu_ns: ran.cpu_ns,
            voluntary_switches: ran.voluntary,
            involuntary_switches: ran.involuntary,
            minor_faults: ran.minor_faults,
            major_faults: ran.major_faults,
            late: ran.late,
        };
        Counters { machine: &outcome.meters, actors: outcome.actors.iter().map(actor).collect() }
    }
}
