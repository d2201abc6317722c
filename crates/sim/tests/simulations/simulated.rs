//! The vocabulary of the tests: a system is simulated, its figures are held against values.

use tollway_model::spec::Spec;
use tollway_sim::{Options, Outcome, simulate};

/// Intervals of this confidence are missed once in a hundred thousand.
pub const SURE: f64 = 0.99999;

/// Simulates the system event by event, with intervals that are missed by chance almost never.
pub fn simulated(text: &str) -> Outcome {
    let mut spec = Spec::from_toml(text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    (spec.stop.customers, spec.stop.replications) = (49_152, 16);
    let options = Options { confidence: SURE, lindley: false, ..Options::default() };
    let outcome = simulate(&spec, &options).unwrap_or_else(|error| panic!("{error}\n{text}"));
    for law in &outcome.invariants {
        assert!(law.holds, "{law:?}");
    }
    outcome
}

/// Each figure's interval has the value, and is not wider than a fifth of it.
#[track_caller]
pub fn agrees(outcome: &Outcome, values: &[(&str, f64)]) {
    for (name, value) in values {
        let estimate = outcome.get(name).unwrap_or_else(|| panic!("there is no {name}"));
        let interval = estimate.interval.unwrap_or_else(|| panic!("{name} has no interval"));
        // A histogram's bin, and rounding of what is always the same.
        let slack = if name.contains(".p") { 0.004 } else { 1e-9 } * value;
        let near = (value - estimate.value).abs() <= interval.half_width() + slack;
        assert!(near, "{name}: {interval:?} has not {value}");
        assert!(interval.half_width() <= 0.2 * value.abs(), "{name}: {interval:?} says too little");
    }
}

/// A Poisson source of so many a second.
pub fn poisson(rate: u32) -> String {
    format!("[[source]]\nname = \"machines\"\ninterarrival = \"exponential({}us)\"\n", 1e6 / f64::from(rate))
}

/// A station with this service and more.
pub fn station(service: &str, more: &str) -> String {
    format!("[[station]]\nname = \"device\"\nservice = \"{service}\"\n{more}\n")
}
