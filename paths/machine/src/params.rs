//! The axes that all parts of the suite share: where they run, and who measures.

use tollway_core::{Axis, Domain, Error, Params, Result, TenantKind, Value};
use tollway_host::cpu::planned;

/// Where a part runs.
pub(crate) fn tenant() -> Axis {
    TenantKind::axis(&["process", "linux-guest"])
}

/// How the disk of a Linux guest is kept.
pub(crate) fn disk() -> Axis {
    Axis {
        name: "disk",
        about: "the disk of a Linux guest, by the format of its image; elsewhere the folder for measurements as it is",
        domain: Domain::Words(&["own", "raw", "luks"]),
        default: Value::Text("own".into()),
    }
}

/// What the memory of a Linux guest is made of.
pub(crate) fn pages() -> Axis {
    Axis {
        name: "pages",
        about: "the pages of which a Linux guest's memory is made: as the host has it, or huge ones where it has any",
        domain: Domain::Words(&["own", "huge"]),
        default: Value::Text("own".into()),
    }
}

/// Whether a Linux guest's kernel checks its own memory.
pub(crate) fn checks() -> Axis {
    Axis {
        name: "checks",
        about: "what a Linux guest's kernel checks of its memory: as it comes, or free pages and slabs (page_poison, slub_debug)",
        domain: Domain::Words(&["own", "kernel"]),
        default: Value::Text("own".into()),
    }
}

/// The memory of a Linux guest.
pub(crate) fn memory() -> Axis {
    Axis {
        name: "memory",
        about: "memory of a Linux guest, in MiB",
        domain: Domain::Whole(128, 1 << 20),
        default: Value::Int(512),
    }
}

/// Whether a business goes on beside what is measured.
pub(crate) fn business() -> Axis {
    Axis {
        name: BUSINESS,
        about: "what goes on beside what is measured: nothing, or a web service with clients that work with it without end",
        domain: Domain::Words(&["none", SERVICE]),
        default: Value::Text("none".into()),
    }
}

/// The axis of the business, and its word for the web service.
pub(crate) const BUSINESS: &str = "business";
pub(crate) const SERVICE: &str = "service";

/// Who measures: this program, or one of the tools of the field.
pub(crate) fn by(tools: &'static [&'static str]) -> Axis {
    Axis {
        name: "by",
        about: "who measures: this program, or a tool of the field that is installed",
        domain: Domain::Words(tools),
        default: Value::Text(TOLLWAY.into()),
    }
}

/// The word of the axis `by` for this program.
pub(crate) const TOLLWAY: &str = "tollway";

/// How many threads work.
pub(crate) fn threads() -> Axis {
    Axis {
        name: "threads",
        about: "threads that work, each on a processor of its own while there are any left; 0 for as many as there are processors",
        domain: Domain::Whole(0, 4096),
        default: Value::Int(1),
    }
}

/// The axis `threads` as a number of threads.
pub(crate) fn threads_of(params: &Params) -> Result<u32> {
    match params.int("threads")? {
        0 => planned(),
        count => u32::try_from(count).map_err(|e| Error::system("reading the axis `threads`", e)),
    }
}

/// How many they are, for titles; nothing of one.
pub(crate) fn threads_told(params: &Params) -> String {
    match params.int("threads") {
        Ok(0) => ", all threads".into(),
        Ok(1) | Err(_) => String::new(),
        Ok(count) => format!(", {count} threads"),
    }
}

/// The same point with its threads counted, so that points of machines of different sizes are not taken for the same.
pub(crate) fn threads_named(params: Params) -> Result<Params> {
    let threads = threads_of(&params)?;
    Ok(params.with("threads", u64::from(threads)))
}
