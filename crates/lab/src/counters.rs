//! What the store keeps of the counters around a trial: what the machine did meanwhile, and what each actor did and
//! used.
//!
//! No perf events: one that watches a thread makes each of its context switches and page faults dearer, and those are
//! what is measured. The kernel's own accounting is there anyway.

use serde::Serialize;
use tollway_core::{ActorRecord, Spread, TenantKind, TrialSpec};
use tollway_host::meters::MetersDelta;

use crate::crew::{Outcome, Played};

/// Counters of the whole machine, from before the window to after it. What could not be read is null, never zero.
#[derive(Debug, Serialize)]
pub(crate) struct Counters<'a> {
    machine: &'a MetersDelta,
}

impl<'a> Counters<'a> {
    pub(crate) fn of(outcome: &'a Outcome) -> Self {
        Counters { machine: &outcome.meters }
    }
}

/// What an actor did and used in a trial whose window has that length.
pub(crate) fn record(Played { role, number, tenant, ran, given }: &Played, spec: &TrialSpec) -> ActorRecord {
    let recorded = ran.spread.as_ref();
    ActorRecord {
        role: role.clone(),
        number: *number,
        tenant: Some(*tenant),
        own_ns: (*tenant != TenantKind::MicroGuest).then_some(ran.cpu_ns),
        given_ns: match tenant {
            TenantKind::LinuxGuest => given.map(|share| (share * ran.span_ns as f64).round() as u64),
            _ => Some(ran.cpu_ns),
        },
        span_ns: Some(ran.span_ns),
        window_ns: Some((spec.window_ms * 1e6).round() as u64),
        ops: recorded.map(|s| s.ops),
        mean_ticks: recorded.and_then(Spread::mean),
        late_ticks: ran.late,
        voluntary_switches: ran.voluntary,
        involuntary_switches: ran.involuntary,
        minor_faults: ran.minor_faults,
        major_faults: ran.major_faults,
    }
}
