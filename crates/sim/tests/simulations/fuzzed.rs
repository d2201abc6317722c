//! Specifications that no person writes: the worked examples with lines changed, lost and doubled, and what a fuzzer found
//! worth keeping (`fuzz/seeds/spec`; `make soak fuzz TARGET=spec` goes on for longer).

mod harness;

use std::fs;
use std::path::Path;

use proptest::prelude::*;
use proptest::sample::{Index, select};

/// What a value is changed to.
const VALUES: &[&str] = &[
    "0",
    "-1",
    "1",
    "2",
    "3",
    "1e300",
    "nan",
    "inf",
    "100000",
    "100001",
    "4294967295",
    "\"\"",
    "\"exit\"",
    "\"device\"",
    "[]",
    "{}",
    "[1, 2]",
    "true",
    "{ device = 0.5, exit = 0.5 }",
    "{ device = 1.0 }",
    "\"exponential(1us)\"",
    "\"constant(1e-15)\"",
    "\"constant(1e15)\"",
    "\"constant(0.001)\"",
    "\"erlang(3, 50us)\"",
    "\"weibull(0.05, 1us)\"",
    "\"priority\"",
    "\"preemptive-resume\"",
    "\"processor-sharing\"",
    "{ count = 3 }",
    "{ poll = \"constant(1us)\" }",
    "{ count = 2, timer = \"1ms\" }",
    "{ spin = \"10us\", setup = \"constant(1us)\" }",
    "{ most = 4 }",
    "{ least = 3, most = 4, each = \"constant(1us)\" }",
    "{ customers = 3 }",
    "{ customers = 3, think = \"constant(1ms)\" }",
    "{ rates = [\"1k/s\", 0], stays = [\"1ms\", \"1ms\"] }",
    "[\"10us\", \"1ms\"]",
    "[[1, 0.5], [3, 0.5]]",
    "{ window = \"1ms\", from = [0, 1000], caps = [100, 1000] }",
];

/// Keys, to be added with a value.
const KEYS: &[&str] = &[
    "name",
    "class",
    "interarrival",
    "mmpp",
    "trace",
    "closed",
    "batch",
    "to",
    "servers",
    "service",
    "capacity",
    "order",
    "bulk",
    "wake",
    "count",
    "timer",
    "cap",
    "poll",
    "adaptive",
    "priority",
    "customers",
    "precision",
];

fn texts(folder: &str) -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(folder);
    let mut files: Vec<_> = fs::read_dir(folder).unwrap().map(|file| file.unwrap().path()).collect();
    files.sort();
    files.iter().map(|file| fs::read_to_string(file).unwrap()).collect()
}

/// One change of a text, by lines.
#[derive(Clone, Debug)]
enum Change {
    Value(Index, &'static str),
    Add(Index, &'static str, &'static str),
    Remove(Index),
    Double(Index, Index),
}

fn changes() -> impl Strategy<Value = Vec<Change>> {
    let line = any::<Index>;
    let change = prop_oneof![
        (line(), select(VALUES)).prop_map(|(at, value)| Change::Value(at, value)),
        (line(), select(KEYS), select(VALUES)).prop_map(|(at, key, value)| Change::Add(at, key, value)),
        line().prop_map(Change::Remove),
        (line(), line()).prop_map(|(from, to)| Change::Double(from, to)),
    ];
    prop::collection::vec(change, 0..4)
}

fn changed(text: &str, changes: &[Change]) -> String {
    let mut lines: Vec<String> = text.lines().map(String::from).collect();
    for change in changes {
        if lines.is_empty() {
            break;
        }
        match change {
            Change::Value(at, value) => {
                let line = at.get(&lines).clone();
                if let Some((key, _)) = line.split_once('=') {
                    let at = at.index(lines.len());
                    lines[at] = format!("{key}= {value}");
                }
            }
            Change::Add(at, key, value) => lines.insert(at.index(lines.len()), format!("{key} = {value}")),
            Change::Remove(at) => {
                lines.remove(at.index(lines.len()));
            }
            Change::Double(from, to) => {
                let line = from.get(&lines).clone();
                lines.insert(to.index(lines.len()), line);
            }
        }
    }
    lines.join("\n")
}

#[test]
fn examples_and_what_was_found_before() {
    assert!(texts("examples/simulate").iter().all(|text| harness::read(text.as_bytes())));
    for text in texts("fuzz/seeds/spec") {
        harness::read(text.as_bytes());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn examples_with_changes(which: Index, changes in changes()) {
        let texts = [texts("examples/simulate"), texts("fuzz/seeds/spec")].concat();
        let text: &String = which.get(&texts);
        harness::read(changed(text, &changes).as_bytes());
    }
}
