//! What-ifs that can be tried from outside, tried: each that the bill of an everyday program shows has to come true, and each on a program
//! that is made for it.

use serde_json::Value;

use crate::Line;
use crate::everyday::{self, Everyday};
use crate::program::Bench;

/// Turns of each: the program as it is, and changed.
const TURNS: &str = "9";
/// The share of processor time from which on a change is shown.
const LEAST: f64 = 0.01;

/// What-ifs, and a shell's script that has what they are for.
const MADE_FOR: [(&str, &str); 4] = [
    ("reuse-memory", "exec python3 -c 'for i in range(400): x = [b\"x\" * 65536 for j in range(64)]; del x'"),
    ("huge-pages", "exec python3 -c 'for i in range(8): x = [b\"x\" * (64 << 20) for i in range(4)]'"),
    // Who reads is woken for each line, and has the processor of who writes.
    ("batch-class", "exec taskset -c 0 sh -c 'seq 3000000 | grep --line-buffered 7 | cat > /dev/null'"),
    (
        "processor-limit",
        "count() { i=0; while [ $i -lt 4000000 ]; do i=$((i+1)); done; }; count & count; wait",
    ),
];

/// A line for each what-if that is worth it and can be tried, of each everyday program that ends by itself.
pub fn lines(bench: &Bench) -> Vec<Line> {
    bench.measure_prices();
    let mut lines: Vec<Line> =
        MADE_FOR.iter().flat_map(|(name, script)| made_for(bench, name, script)).collect();
    let Some(programs) = everyday::set_up(bench) else { return lines };
    lines.extend(programs.iter().flat_map(|program| of(bench, program)));
    let known: Vec<bool> = lines.iter().filter_map(|line| line.holds).collect();
    let kept = known.iter().filter(|holds| **holds).count();
    lines.push(Line {
        what: "what-ifs that can be tried".into(),
        found: format!("{kept} of {} came true, of {} shown", known.len(), lines.len()),
        bar: "all".into(),
        holds: (!known.is_empty()).then_some(kept == known.len()),
    });
    lines
}

fn made_for(bench: &Bench, name: &str, script: &str) -> Vec<Line> {
    let command = ["sh".into(), "-c".into(), script.into()];
    let bill = bench.bill(&["--try", name, "--rounds", TURNS], &command);
    let what = format!("a program made for {name}");
    bill["tried"].as_array().into_iter().flatten().map(|tried| line(&what, tried)).collect()
}

fn of(bench: &Bench, program: &Everyday) -> Vec<Line> {
    // Each start has a folder of its own.
    let script = format!("OUT=$(mktemp -d -p {})\n{}", bench.file(""), program.script);
    let command = ["sh".into(), "-c".into(), script];
    let bill = bench.bill(&[], &command);
    let shown = bill["what_if"].as_array().into_iter().flatten();
    // Those of which it is not sure that they are worth it stand in the bill as well.
    let may_be_worth_it = |one: &Value| {
        let saves = one["saves"]["ns"].as_f64().zip(bill["ran"].as_f64());
        one["is_worth_it"] == true || saves.is_some_and(|(saves, ran)| saves > LEAST * ran)
    };
    let shown = shown.filter(|one| may_be_worth_it(one) && one["can_be_tried"] == true);
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
    let end = |share: &Value, end: &str| share[end].as_f64().unwrap_or(0.0);
    // Both are sure of their sign, and the two differ.
    let is_wrong = end(predicted, "lo") > 0.0 && end(measured, "hi") < 0.0
        || end(predicted, "hi") < 0.0 && end(measured, "lo") > 0.0;
    Line {
        what: format!("{} of {program}", tried["name"].as_str().unwrap_or_default()),
        found: format!("predicted {}, measured {}", share(predicted), share(measured)),
        bar: "within its interval, or a fifth".into(),
        holds: if is_wrong { Some(false) } else { tried["holds"].as_bool() },
    }
}
