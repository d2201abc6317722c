//! Memory: what it moves, how long a load takes, what the first touch of a page costs.

mod faults;
mod latency;
mod stream;

use tollway_core::{Axis, Domain, Error, Missing, Params, Plan, Requirement, Result, Role, Value, Variant};
use tollway_host::memory;

use crate::engine::memory::Pages;
use crate::surroundings;

/// The variants.
pub(super) fn all() -> Vec<Box<dyn Variant>> {
    vec![Box::new(stream::Stream), Box::new(latency::Latency), Box::new(faults::Faults)]
}

/// What of the available memory a part takes at most.
const SHARE: f64 = 0.6;

/// Which pages the memory is of.
fn backing() -> Axis {
    Axis {
        name: "backing",
        about: "the pages of the memory: as the kernel gives them to a program that says nothing, 4 KiB, or 2 MiB",
        domain: Domain::Words(&["own", "small", "huge"]),
        default: Value::Text("own".into()),
    }
}

/// The pages of the memory, for titles; nothing of what is usual.
fn backing_told(params: &Params) -> String {
    surroundings::unless_usual(params, &backing(), |pages| format!("{pages} pages"))
}

fn pages_of(params: &Params) -> Result<Pages> {
    Ok(match params.word("backing")? {
        "small" => Pages::Small,
        "huge" => Pages::Huge,
        _ => Pages::Own,
    })
}

/// The plan of so many actors that all do the same, each on a processor of its own.
fn plan(operation: &str, cores: u32, params: &Params) -> Result<Plan> {
    let plan = Plan {
        operation: operation.into(),
        roles: vec![Role { count: cores, ..Role::measured("worker") }],
        gates: Vec::new(),
        provides: None,
        needs: Vec::new(),
        requires: vec![Requirement::Cores(cores)],
        guests: Vec::new(),
    };
    surroundings::settled(plan, params, None)
}

/// A value that does not go with others.
fn refused(axis: &str, value: &str, reason: &str, wanted: &str) -> Error {
    Error::Input {
        place: format!("axis `{axis}`, value `{value}`"),
        reason: reason.into(),
        remedy: format!("set it to {wanted}"),
    }
}

/// Bytes that a part may take here, at most; nothing is known where the kernel does not tell.
fn room() -> Result<u64> {
    memory::available().map(|bytes| (bytes as f64 * SHARE) as u64).map_err(Error::Missing)
}

/// Refuses to take more than that.
fn fits(bytes: u64) -> Result<()> {
    let room = room()?;
    if bytes <= room {
        return Ok(());
    }
    Err(Error::Missing(Missing::new(
        format!("{} MiB of memory", bytes >> 20),
        format!("{:.0} % of what is available are {} MiB", SHARE * 100.0, room >> 20),
        "end other programs, or give the guest or control group more",
    )))
}
