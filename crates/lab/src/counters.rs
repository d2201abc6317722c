//! What the store keeps of the counters around a trial: what the machine did meanwhile, and what each actor did and
//! used.
//!
//! No perf events: one that watches a thread makes each of its context switches and page faults dearer, and those are
//! what is measured. The kernel's own accounting is there anyway.

use serde::Serialize;
use tollway_core::{ActorRecord, Plan, Spread, TenantKind, TrialSpec};
use tollway_host::meters::MetersDelta;
use tollway_tenant::protocol::Paced;

use crate::crew::{Outcome, Played};

/// Counters of the whole machine, from before the window to after it, and how fast the measured actors' processors ran. What could
/// not be read is null, never zero.
#[derive(Debug, Serialize)]
pub(crate) struct Counters<'a> {
    machine: &'a MetersDelta,
    pace: Vec<&'a Paced>,
}

impl<'a> Counters<'a> {
    pub(crate) fn of(outcome: &'a Outcome) -> Self {
        let pace = outcome.actors.iter().filter_map(|actor| actor.ran.pace.as_ref()).collect();
        Counters { machine: &outcome.meters, pace }
    }
}

/// What an actor of the plan did and used in a trial whose window has that length.
pub(crate) fn record(played: &Played, plan: &Plan, spec: &TrialSpec, hz: f64) -> ActorRecord {
    let Played { role, number, tenant, ran, given } = played;
    let recorded = ran.spread.as_ref();
    let class = plan.roles.iter().find(|r| r.name == *role).and_then(|r| r.classes.get(*number as usize));
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
        window_ns: Some(match ran.stretch {
            Some(ticks) => (ticks as f64 / hz * 1e9).round() as u64,
            None => (spec.window_ms * 1e6).round() as u64,
        }),
        ops: recorded.map(|s| s.ops),
        mean_ticks: recorded.and_then(Spread::mean),
        late_ticks: ran.late,
        voluntary_switches: ran.voluntary,
        involuntary_switches: ran.involuntary,
        minor_faults: ran.minor_faults,
        major_faults: ran.major_faults,
        class: class.cloned(),
        spread: class.and(recorded).cloned(),
    }
}

#[cfg(test)]
mod tests {
    use tollway_core::{Recorder, Role};
    use tollway_tenant::protocol::Ran;

    use super::*;

    #[test]
    fn what_an_actor_recorded_is_kept_where_its_role_has_classes() {
        let classes = ["0", "1"].map(String::from).into();
        let tenants = Role { count: 2, classes, ..Role::measured("tenant") };
        let mut plan = Plan {
            operation: "request".into(),
            roles: vec![Role::serving("card"), tenants],
            gates: Vec::new(),
            provides: None,
            needs: Vec::new(),
            requires: Vec::new(),
            guests: Vec::new(),
        };
        let spec = TrialSpec { window_ms: 1.0, warmup_ms: 1.0, runs: 1, repeats: 1 };
        let mut recorder = Recorder::new();
        recorder.sample(10);
        let ran = Ran { spread: Some(recorder.spread()), ..Ran::default() };
        let of = |plan: &Plan, role: &str, number: u32| {
            let ran = if role == "card" { Ran::default() } else { ran.clone() };
            let played = Played { role: role.into(), number, tenant: TenantKind::Process, ran, given: None };
            let kept = record(&played, plan, &spec, 1e9);
            (kept.class, kept.spread.map(|spread| spread.samples()))
        };
        assert_eq!(of(&plan, "card", 0), (None, None));
        assert_eq!(of(&plan, "tenant", 0), (Some("0".into()), Some(1)));
        assert_eq!(of(&plan, "tenant", 1), (Some("1".into()), Some(1)));
        plan.roles[1].classes.clear();
        assert_eq!(of(&plan, "tenant", 1), (None, None));
    }
}
