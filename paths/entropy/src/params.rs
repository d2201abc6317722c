//! The axes that variants share.

use tollway_core::{Axis, Domain, TenantKind, Value};

/// Where draws come from, and what is done with them.
pub(crate) fn kind() -> Axis {
    Axis {
        name: "kind",
        about: "the source: rdrand, rdseed, getrandom, hwrng (/dev/hwrng); rdrand-512 reduces RDRAND to seed grade on its \
                way, rdseed-rested lets the generator fill before each draw",
        domain: Domain::Words(&["rdrand", "rdseed", "rdseed-rested", "rdrand-512", "getrandom", "hwrng"]),
        default: Value::Text("rdrand".into()),
    }
}

/// The stream that is tested.
pub(crate) fn stream() -> Axis {
    Axis {
        name: "kind",
        about: "where the stream comes from; rdrand-512 is RDRAND reduced to seed grade",
        domain: Domain::Words(&["rdrand", "rdseed", "rdrand-512", "getrandom"]),
        default: Value::Text("rdrand".into()),
    }
}

/// What a guest's kernel is fed from.
pub(crate) fn chain() -> Axis {
    Axis {
        name: "kind",
        about: "what the guest's kernel is fed from: RDRAND reduced to seed grade, or the virtio device that the host fills",
        domain: Domain::Words(&["rdrand-512", "hwrng"]),
        default: Value::Text("rdrand-512".into()),
    }
}

/// How many guests.
pub(crate) fn guests() -> Axis {
    Axis {
        name: "tenants",
        about: "how many guests, each with one virtual processor",
        domain: Domain::Whole(1, 60),
        default: Value::Int(1),
    }
}

/// How many draw at once, each on a processor of its own.
pub(crate) fn depth() -> Axis {
    Axis {
        name: "depth",
        about: "how many draw at once, each on a processor of its own",
        domain: Domain::Whole(1, 1024),
        default: Value::Int(1),
    }
}

/// How many share a generator.
pub(crate) fn tenants() -> Axis {
    Axis {
        name: "tenants",
        about: "how many draw at once, each in a tenant of its own, spread over the processors",
        domain: Domain::Whole(1, 256),
        default: Value::Int(1),
    }
}

/// Where they live.
pub(crate) fn tenant() -> Axis {
    TenantKind::axis(&["process", "thread", "micro-guest", "linux-guest"])
}
