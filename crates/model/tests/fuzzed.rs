//! Questions to the catalogue that no person asks: each parameter of each model at and beyond its limits, alone and two at
//! a time, and what a fuzzer found worth keeping (`fuzz/seeds/model`; `make fuzz TARGET=model` goes on for longer).

#[path = "fuzzed/harness.rs"]
mod harness;

use std::fs;
use std::path::Path;

use proptest::prelude::*;
use proptest::sample::{Index, select};
use tollway_model::catalogue::{self, Model};

/// Texts that ought to be refused, and some at the ends of what is taken.
const TEXTS: &[&str] = &[
    "",
    " ",
    "0",
    "-0",
    "-1",
    "1",
    "2",
    "NaN",
    "inf",
    "-inf",
    "1e15",
    "1e-15",
    "1e16",
    "1e-16",
    "1e300",
    "1e-320",
    "0.5",
    "1e6",
    "100000",
    "1000000",
    "100000000",
    "18446744073709551615",
    "99999999999999999999",
    "1,2",
    "1;2",
    "1,2;3,4",
    "1,,2",
    ",",
    ";",
    "0,0",
    "1e15,1e-15",
    "é",
    "\u{0}",
    "exponential(1us)",
    "exponential(1e15)",
    "exponential(1e-15)",
    "constant(1us)",
    "constant(1e15)",
    "erlang(10000, 1us)",
    "erlang(0, 1us)",
    "uniform(0, 1us)",
    "weibull(0.01, 1us)",
    "gamma(0.01, 1us)",
    "lognormal(1us, 10000)",
    "hyperexponential(0.5, 1e-15, 0.5, 1e15)",
    "constant(1us);exponential(1s)",
    "exponential(NaN)",
    "exponential(",
    "((((((((",
    "1/s",
    "10M/s",
    "1us",
    "99.9%",
    "100%",
];

/// The question of a model's own examples, with some of its parameters written otherwise.
fn question(model: &Model, changes: &[(usize, &str)]) -> String {
    let pairs = model.parameters.iter().enumerate().map(|(i, parameter)| {
        let changed = changes.iter().rev().find(|(at, _)| *at == i);
        format!("{}={}", parameter.name, changed.map_or(parameter.example, |(_, text)| text))
    });
    [model.name.to_owned()].into_iter().chain(pairs).collect::<Vec<_>>().join("\n")
}

#[test]
fn each_parameter_at_and_beyond_its_limits() {
    for model in catalogue::all() {
        assert!(harness::ask(question(model, &[]).as_bytes()), "{}", model.name);
        for parameter in 0..model.parameters.len() {
            for text in TEXTS {
                harness::ask(question(model, &[(parameter, text)]).as_bytes());
            }
        }
    }
}

#[test]
fn what_was_found_before() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds/model");
    let mut files: Vec<_> = fs::read_dir(folder).unwrap().map(|file| file.unwrap().path()).collect();
    files.sort();
    assert!(!files.is_empty());
    for file in files {
        harness::ask(&fs::read(file).unwrap());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn two_parameters_at_a_time(model: Index, first: Index, second: Index, texts in [select(TEXTS), select(TEXTS)]) {
        let all = catalogue::all();
        let model = model.get(&all);
        let at = |index: Index| index.index(model.parameters.len());
        harness::ask(question(model, &[(at(first), texts[0]), (at(second), texts[1])]).as_bytes());
    }

    #[test]
    fn any_number_at_a_time(model: Index, powers in prop::collection::vec(-16.0..16.0_f64, 8)) {
        let all = catalogue::all();
        let model = model.get(&all);
        let texts: Vec<String> = powers.iter().map(|power| 10_f64.powf(*power).to_string()).collect();
        let changes: Vec<(usize, &str)> = texts.iter().map(String::as_str).enumerate().collect();
        harness::ask(question(model, &changes[..changes.len().min(model.parameters.len())]).as_bytes());
    }
}
