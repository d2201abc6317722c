//! The designs of doing nothing.

mod batched;
mod stamped;

pub use batched::Batched;
pub use stamped::Stamped;

use tollway_core::{Crossing, Gate, Plan, Role, TollKey, Visits};

/// One actor whose only gate is the harness.
fn plan(crossing: Crossing) -> Plan {
    let key = TollKey::of(crossing);
    Plan {
        operation: "nothing".into(),
        roles: vec![Role::measured("idler")],
        gates: vec![Gate {
            name: crossing.name().into(),
            role: "idler".into(),
            visits: Visits::Fixed(1.0),
            toll: Some(key.clone()),
        }],
        provides: Some(key),
        needs: Vec::new(),
        requires: Vec::new(),
    }
}
