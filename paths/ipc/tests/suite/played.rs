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

/// How long actors are recorded, in milliseconds. The first is long enough where they have a processor in it; all of
/// them together are taken away by nothing but a hang.
const WINDOWS: [f64; 4] = [25.0, 250.0, 2500.0, 25_000.0];

fn play_for(window: f64, name: &str, axes: &[(&str, Value)]) -> Result<(Spread, Tally)> {
    let (spread, tally) = in_threads::play(&tollway_ipc::path(), name, axes, &Times { lead: 10.0, window })?;
    // Shorter where the client began late.
    let recorded = tally.counters.get("window_ns").map_or(0.0, |ns| *ns as f64);
    assert!(recorded < window * 1e6 + 10_000.0, "{name} {axes:?}: {recorded} ns");
    Ok((spread, tally))
}

/// What the measured role recorded, and what all counted.
pub fn play(name: &str, axes: &[(&str, Value)]) -> Result<(Spread, Tally)> {
    play_for(WINDOWS[0], name, axes)
}

/// The same, of what must succeed and record something, as soon as its actors have a processor; nothing where the machine lacks what it needs.
pub fn played(name: &str, axes: &[(&str, Value)]) -> Option<(Spread, Tally)> {
    let (plan, _) = point(name, axes).unwrap_or_else(|error| panic!("{name} {axes:?}: {error}"));
    for need in &plan.requires {
        if let Err(missing) = check(need) {
            skip_test(&["cores", "io-uring"], &missing);
            return None;
        }
    }
    let played = WINDOWS.iter().map(|window| {
        play_for(*window, name, axes).unwrap_or_else(|error| panic!("{name} {axes:?}: {error}"))
    });
    // An actor that begins after its window's end records one message, in a window of no length.
    let in_window = |tally: &Tally| tally.counters.get("window_ns") != Some(&0);
    let recorded = played.into_iter().find(|(spread, tally)| spread.ops > 0 && in_window(tally));
    Some(recorded.unwrap_or_else(|| panic!("{name} {axes:?}: nothing was recorded")))
}
