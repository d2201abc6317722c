//! What is put on trial: a generator drawn from by one, by all processors, and by many tenants that share it.

mod blocks;
mod drawer;
mod drawing;
mod guest_chain;
mod scale;
mod seeds;

use tollway_core::{Gate, Plan, Role, Variant};

/// Every variant.
pub(crate) fn all() -> Vec<Box<dyn Variant>> {
    vec![
        Box::new(drawing::Drawing),
        Box::new(seeds::Reducing),
        Box::new(seeds::Seed),
        Box::new(blocks::Testing),
        Box::new(blocks::Stream),
        Box::new(scale::Scale),
        Box::new(guest_chain::GuestChain),
    ]
}

/// A plan with one actor.
fn plan_of_one(operation: &str, role: &str, gates: Vec<Gate>) -> Plan {
    Plan {
        operation: operation.into(),
        roles: vec![Role::measured(role)],
        gates,
        provides: None,
        needs: Vec::new(),
        requires: Vec::new(),
        guests: Vec::new(),
    }
}
