//! What-ifs: foretold from the bill of a program as it is, then the program is changed and measured.

use serde_json::Value;

use crate::Line;
use crate::program::{Bench, spread, took};

/// Turns of each: the program as it is, and changed.
const TURNS: usize = 7;
/// How near a prediction has to be, as a share of what was measured, and how many of them.
const NEAR: f64 = 0.2;
const OF_TEN: usize = 8;

/// Program, how often, and the change that is made in it. What is foretold is time that goes by where threads wait for each other, else processor time.
const CHANGES: [(&str, &str, &str); 10] = [
    ("pipe", "20000", "one-core"),
    ("unix", "20000", "one-core"),
    ("eventfd", "20000", "one-core"),
    ("zero-512", "8000", "larger-reads"),
    ("file-512", "8000", "larger-reads"),
    ("file-1", "30", "larger-reads"),
    ("file-4096", "30000", "larger-reads"),
    ("pipe-512", "6000", "larger-reads"),
    ("null-1", "100000", "io-uring"),
    ("null-4096", "100000", "io-uring"),
];

pub fn lines(bench: &Bench) -> Vec<Line> {
    bench.measure_prices();
    let mut lines: Vec<Line> = CHANGES.iter().map(|change| line(bench, *change)).collect();
    let kept = lines.iter().filter(|line| line.holds == Some(true)).count();
    let signs = lines.iter().all(|line| !line.found.contains("WRONG SIGN"));
    // One by one they are only told; the bar is of all.
    lines
        .iter_mut()
        .for_each(|line| line.bar = if line.holds == Some(true) { "near".into() } else { "NOT near".into() });
    lines.iter_mut().for_each(|line| line.holds = line.holds.filter(|holds| *holds));
    lines.push(Line {
        what: "what-ifs that came true".into(),
        found: format!("{kept} of {}; signs {}", CHANGES.len(), if signs { "right in all" } else { "WRONG" }),
        bar: format!("{OF_TEN}, signs right in all"),
        holds: Some(kept >= OF_TEN && signs),
    });
    lines
}

fn line(bench: &Bench, (program, count, change): (&str, &str, &str)) -> Line {
    let command = |when: &str| bench.example("changes", &[program, count, when]);
    let bill = bench.bill(&["--exact"], &command("before"));
    let none = Value::Null;
    let what_if = bill["what_if"]
        .as_array()
        .and_then(|all| all.iter().find(|one| one["name"] == change))
        .unwrap_or(&none);
    let goes_by = change == "one-core";
    let foretold = if goes_by { &what_if["sooner"] } else { &what_if["saves"] };
    let foretold = ["ns", "lo", "hi"].map(|end| foretold[end].as_f64().unwrap_or(0.0) / 1e9);
    let saved: Vec<f64> = (0..TURNS)
        .map(|turn| {
            let of = |when: &str| {
                let took = took(&command(when));
                if goes_by { took.elapsed } else { took.processor }
            };
            if turn % 2 == 0 {
                let before = of("before");
                before - of("after")
            } else {
                let after = of("after");
                of("before") - after
            }
        })
        .collect();
    let (measured, least, most) = spread(saved);
    let near = (foretold[0] - measured).abs() <= NEAR * measured.abs();
    let within = foretold[1] <= measured && measured <= foretold[2];
    let sign = if foretold[0] * measured < 0.0 && least * most > 0.0 { " WRONG SIGN" } else { "" };
    Line {
        what: format!("what if {change}: {program}"),
        found: format!(
            "foretold {:.3} s [{:.3}, {:.3}], measured {measured:.3} s [{least:.3}, {most:.3}]{sign}",
            foretold[0], foretold[1], foretold[2]
        ),
        bar: String::new(),
        holds: Some(near || within),
    }
}
