//! The axes that variants share.

use tollway_core::{Axis, Domain, TenantKind, Value};

use crate::engine::device::LONGEST;
use crate::engine::suite::Named;

fn whole(name: &'static str, about: &'static str, range: (u64, u64), default: u64) -> Axis {
    Axis { name, about, domain: Domain::Whole(range.0, range.1), default: Value::Int(default) }
}

fn words(name: &'static str, about: &'static str, all: &'static [&'static str]) -> Axis {
    Axis { name, about, domain: Domain::Words(all), default: Value::Text(all[0].into()) }
}

/// What is done to the bytes.
pub(crate) fn cipher() -> Axis {
    words("cipher", "what is done to the bytes, by the names of `openssl speed`", Named::NAMES)
}

/// What a kernel does for a program.
pub(crate) fn kernel_cipher() -> Axis {
    words(
        "cipher",
        "what is done to the bytes",
        &["aes-128-cbc", "aes-256-cbc", "aes-128-ctr", "aes-256-ctr"],
    )
}

/// By what the kernel does it.
pub(crate) fn driver() -> Axis {
    Axis {
        default: "kernel".into(),
        ..text(
            "driver",
            "by what the kernel does it: its own code, or a guest's virtio-crypto device that QEMU itself serves, or the card, or a \
             driver by its name in /proc/crypto",
            "kernel | virtio | card | NAME",
        )
    }
}

/// How long the card of a guest looks for requests itself.
pub(crate) fn card_spin() -> Axis {
    whole(
        "spin",
        "with driver=card: microseconds for which the card looks for requests before it sleeps",
        (0, 1000),
        0,
    )
}

/// Bytes that AF_ALG takes at once on any machine, whatever its sockets' buffers are.
pub(crate) fn kernel_size() -> Axis {
    Axis { domain: Domain::Whole(16, 65536), ..size() }
}

/// Bytes of a request.
pub(crate) fn size() -> Axis {
    whole("size", "bytes of a request, a multiple of 16", (16, LONGEST), 1024)
}

/// Threads of a tenant.
pub(crate) fn tasks() -> Axis {
    whole("tasks", "threads of each tenant, with a queue of their own; they share a core", (1, 16), 1)
}

/// Requests on their way.
pub(crate) fn depth() -> Axis {
    whole("depth", "requests that each task has on their way at once, at most", (1, 1024), 1)
}

/// Tenants.
pub(crate) fn tenants() -> Axis {
    whole("tenants", "how many share the card, each with a virtual function of its own", (1, 64), 1)
}

/// Where tenants live.
pub(crate) fn tenant() -> Axis {
    Axis {
        about: "where the card's tenants live; the card itself has a process",
        ..TenantKind::axis(&["process", "micro-guest"])
    }
}

/// Requests a second.
pub(crate) fn rate() -> Axis {
    Axis {
        name: "rate",
        about: "requests a second of each task, whether others have ended or not; 0: the next begins when one has ended, or \
                with arrivals=trace as it was recorded",
        domain: Domain::Real(0.0, 1e7),
        default: Value::Int(0),
    }
}

/// When they come.
pub(crate) fn arrivals() -> Axis {
    words(
        "arrivals",
        "with a rate: gaps exponential, all alike, or eight requests at once; with or without one: as in a recorded trace",
        &["poisson", "regular", "bursts", "trace"],
    )
}

fn text(name: &'static str, about: &'static str, form: &'static str) -> Axis {
    Axis { name, about, domain: Domain::Text(form), default: Value::Text(String::new()) }
}

/// What is played.
pub(crate) fn trace() -> Axis {
    text(
        "trace",
        "with arrivals=trace: a file of starts, and of bytes where it has them, which a point keeps with the hash of what it holds; none: the one that comes with the program",
        "FILE",
    )
}

/// Requests that are not all alike.
pub(crate) fn mix() -> Axis {
    text(
        "mix",
        "in the place of `size`: bytes of requests, each drawn as often as its weight says",
        "BYTES:WEIGHT,…",
    )
}

/// What tenants are entitled to.
pub(crate) fn classes() -> Axis {
    text(
        "classes",
        "of the first tenant, the second, …, the last being that of all others: with order=fair its weight, with order=rank its \
         rank (0 first); each class is counted apart. None: all have weight 1, and the rank of their number",
        "NUMBER,NUMBER,…",
    )
}

/// How the card learns of requests.
pub(crate) fn card() -> Axis {
    words(
        "card",
        "how the card learns of requests: it sleeps until it is kicked, or looks without end",
        &["asleep", "awake"],
    )
}

/// Whose request is next.
pub(crate) fn order() -> Axis {
    words(
        "order",
        "whose request is next: by fair shares of the card's time, as they came, or by rank",
        &["fair", "arrival", "rank"],
    )
}

/// Of coalesced interrupts, how many requests one tells of.
pub(crate) fn count() -> Axis {
    whole(
        "count",
        "requests that an interrupt tells of; 0: however many there are when the time is over",
        (0, 1024),
        8,
    )
}

/// And how long the first waits for others.
pub(crate) fn hold() -> Axis {
    whole(
        "hold",
        "microseconds that the first of them is held at most; 0: until there are as many",
        (0, 1_000_000),
        100,
    )
}

/// The cap of interrupts.
pub(crate) fn cap() -> Axis {
    whole("cap", "interrupts a second of each tenant at most", (1, 1_000_000), 5000)
}

/// How often a tenant looks.
pub(crate) fn period() -> Axis {
    whole("period", "microseconds between two looks", (1, 1_000_000), 100)
}

/// How long it looks before it sleeps.
pub(crate) fn spin() -> Axis {
    whole("spin", "microseconds for which it looks before it sleeps", (1, 1_000_000), 50)
}

/// A slowdown to be found.
pub(crate) fn planted() -> Axis {
    whole(
        "planted",
        "cycles of a delay that the tenant adds to each request and no gate owns: a bill must not explain it",
        (0, 10_000_000),
        0,
    )
}
