//! Points of this path, played by threads of this process.

#[path = "../../../../crates/host/testing/in_threads.rs"]
mod in_threads;

use in_threads::Times;
use tollway_core::{Params, Plan, Result, Spread, Tally, Value};
use tollway_host::requirement::{check, skip_test};

/// A point, by the variant's name and the axes that are not at their defaults.
pub fn point(name: &str, axes: &[(&str, Value)]) -> Result<(Plan, Params)> {
    in_threads::point(&tollway_ipc::path(), name, axes)
}

/// What the measured role recorded, and what all counted.
pub fn play(name: &str, axes: &[(&str, Value)]) -> Result<(Spread, Tally)> {
    in_threads::play(&tollway_ipc::path(), name, axes, &Times { lead: 10.0, window: 25.0 })
}

/// The same, of what must succeed and record something; nothing where the machine lacks what it needs.
pub fn played(name: &str, axes: &[(&str, Value)]) -> Option<(Spread, Tally)> {
    let (plan, _) = point(name, axes).unwrap_or_else(|error| panic!("{name} {axes:?}: {error}"));
    for need in &plan.requires {
        if let Err(missing) = check(need) {
            skip_test(&["cores", "io-uring"], &missing);
            return None;
        }
    }
    let (spread, tally) = play(name, axes).unwrap_or_else(|error| panic!("{name} {axes:?}: {error}"));
    assert!(spread.ops > 0, "{name} {axes:?}: nothing was recorded");
    Some((spread, tally))
}
