//! The axes that several crossings share.

use tollway_core::{Axis, Domain, Value};

/// Whether the two sides share a core.
pub(crate) fn placement() -> Axis {
    Axis {
        name: "placement",
        about: "both sides on the same core, or on two",
        domain: Domain::Words(&["same", "across"]),
        default: Value::Text("across".into()),
    }
}

/// In which kind of tenant the serving side lives.
pub(crate) fn tenant() -> Axis {
    Axis {
        name: "tenant",
        about: "where the actors live: two processes, or two threads of one",
        domain: Domain::Words(&["process", "thread"]),
        default: Value::Text("process".into()),
    }
}
