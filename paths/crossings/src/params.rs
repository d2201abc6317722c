//! The axes that several crossings share.

use tollway_core::{Axis, Domain, TenantKind, Value};

/// Whether the two sides share a core.
pub(crate) fn placement() -> Axis {
    Axis {
        name: "placement",
        about: "both sides on the same core, or on two",
        domain: Domain::Words(&["same", "across"]),
        default: Value::Text("across".into()),
    }
}

/// Where an operation can live that needs no kernel.
pub(crate) fn tenant_without_kernel() -> Axis {
    TenantKind::axis(&["process", "thread", "micro-guest", "linux-guest"])
}

/// Where actors can live that need a kernel.
pub(crate) fn tenant_with_kernel() -> Axis {
    TenantKind::axis(&["process", "thread", "linux-guest"])
}

/// How many actors do the same at once.
pub(crate) fn tenants() -> Axis {
    Axis {
        name: "tenants",
        about: "how many do it at once, each in a tenant of its own, spread over the processors",
        domain: Domain::Whole(1, 256),
        default: Value::Int(1),
    }
}
