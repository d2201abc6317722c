//! What-ifs of everyday programs that can be tried from outside, tried: each that a bill shows has to come true.

use serde_json::Value;

use crate::Line;
use crate::everyday::{self, Everyday};
use crate::program::Bench;

/// Turns of each: the program as it is, and changed.
const TURNS: &str = "9";

/// A line for each what-if that is worth it and can be tried, of each everyday program that ends by itself.
pub fn lines(bench: &Bench) -> Vec<Line> {
    bench.measure_prices();
    let Some(programs) = everyday::set_up(bench) else { return Vec::new() };
    let mut lines: Vec<Line> = programs.iter().flat_map(|program| of(bench, program)).collect();
    let known: Vec<bool> = lines.iter().filter_map(|line| line.holds).collect();
    let kept = known.iter().filter(|holds| **holds).count();
    lines.push(Line {
        what: "what-ifs of everyday programs, tried".into(),
        found: format!("{kept} of {} came true, of {} shown", known.len(), lines.len()),
        bar: "all".into(),
        holds: (!known.is_empty()).then_some(kept == known.len()),
    });
    lines
}

fn of(bench: &Bench, program: &Everyday) -> Vec<Line> {
    // Each start has a folder of its own.
    let script = format!("OUT=$(mktemp -d -p {})\n{}", bench.file(""), program.script);
    let command = ["sh".into(), "-c".into(), script];
    let bill = bench.bill(&[], &command);
    let shown = bill["what_if"].as_array().into_iter().flatten();
    let shown = shown.filter(|one| one["is_worth_it"] == true && one["can_be_tried"] == true);
    let names: Vec<&str> = shown.filter_map(|one| one["name"].as_str()).collect();
    if names.is_empty() {
        return Vec::new();
    }
    let tries = names.iter().flat_map(|name| ["--try", *name]);
    let options: Vec<&str> = tries.chain(["--rounds", TURNS]).collect();
    let bill = bench.bill(&options, &command);
    bill["tried"].as_array().into_iter().flatten().map(|tried| line(program.name, tried)).collect()
}

fn line(program: &str, tried: &Value) -> Line {
    let share = |share: &Value| {
        let of = |end: &str| 100.0 * share[end].as_f64().unwrap_or(0.0);
        format!("{:+.1} % [{:+.1}, {:+.1}]", of("share"), of("lo"), of("hi"))
    };
    // The time that goes by, where that was predicted.
    let (predicted, measured) = match &tried["foretold_sooner"] {
        Value::Null => (&tried["foretold"], &tried["saved"]),
        sooner => (sooner, &tried["sooner"]),
    };
    Line {
        what: format!("{} of {program}", tried["name"].as_str().unwrap_or_default()),
        found: format!("predicted {}, measured {}", share(predicted), share(measured)),
        bar: "within its interval, or a fifth".into(),
        holds: tried["holds"].as_bool(),
    }
}
