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
