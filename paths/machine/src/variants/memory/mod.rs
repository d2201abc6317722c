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

/// What of the available memory a part takes at most. Half: see [`fits`].
const SHARE: f64 = 0.5;

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

/// Refuses to take more than there is room for. Of `bytes` others of the same trial take so many at the same time, and nobody knows
/// whether they have them already. With at most half of what is available, them included, nobody is refused who has room, and all of
/// them together have it: `b ≤ (a + o) / 2` and `o < b` make `b < a`.
fn fits(bytes: u64, by_others: u64) -> Result<()> {
    let available = memory::available().map_err(Error::Missing)?;
    let room = ((available + by_others) as f64 * SHARE) as u64;
    if bytes <= room {
        return Ok(());
    }
    Err(Error::Missing(Missing::new(
        format!("{} MiB of memory", bytes >> 20),
        format!("{} MiB are available, and {:.0} % of them may be taken", available >> 20, SHARE * 100.0),
        "end other programs, or give the guest or control group more",
    )))
}
