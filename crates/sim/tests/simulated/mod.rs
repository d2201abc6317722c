//! The vocabulary of the tests: a specification is simulated, a figure is held against a value.

use tollway_model::spec::Spec;
use tollway_sim::{Options, Outcome, simulate};

/// Intervals of this confidence are missed once in a hundred thousand.
pub const SURE: f64 = 0.99999;

/// Simulates the text's system, the event engine, with intervals that are missed by chance almost never.
pub fn simulated(text: &str) -> Outcome {
    let spec = Spec::from_toml(text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let options = Options { confidence: SURE, lindley: false, ..Options::default() };
    let outcome = simulate(&spec, &options).unwrap_or_else(|error| panic!("{error}\n{text}"));
    for law in &outcome.invariants {
        assert!(law.holds, "{law:?}");
    }
    outcome
}

/// Each figure's interval has the value, and is not wider than a tenth of it.
#[track_caller]
pub fn agrees(outcome: &Outcome, values: &[(&str, f64)]) {
    for (name, value) in values {
        let estimate = outcome.get(name).unwrap_or_else(|| panic!("there is no {name}"));
        let interval = estimate.interval.unwrap_or_else(|| panic!("{name} has no interval"));
        assert!(interval.contains(*value), "{name}: {interval:?} has not {value}");
        assert!(interval.half_width() <= 0.1 * value.abs(), "{name}: {interval:?} says too little");
    }
}
