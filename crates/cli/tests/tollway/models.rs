//! `tollway model`: what it answers, and what it says to what it cannot answer.

use std::fs;
use std::process::Command;

use crate::program::{Bench, SHORT, checked};
use serde_json::Value;

fn json(bench: &Bench, arguments: &[&str]) -> Value {
    serde_json::from_str(&bench.ends(&[arguments, &["--json"]].concat(), 0).0).unwrap()
}

#[test]
fn the_command_on_every_card_runs() {
    let bench = Bench::with(SHORT);
    let catalogue = json(&bench, &["model"]);
    let models = catalogue["models"].as_array().unwrap();
    assert!(!models.is_empty());
    for model in models {
        let (card, _) = bench.ends(&["model", model["model"].as_str().unwrap()], 0);
        let line = card.lines().find_map(|line| line.trim().strip_prefix("$ tollway ")).unwrap();
        let mut shell = Command::new("sh");
        bench.set_up(&mut shell);
        shell.args(["-c", &format!("{} {line}", env!("CARGO_BIN_EXE_tollway"))]);
        let (out, _) = checked(&shell.output().unwrap(), 0);
        assert!(out.lines().count() > 1 && !out.contains("NaN"), "{out}");
    }
}

#[test]
fn a_sweep_shows_where_there_is_no_steady_state() {
    let bench = Bench::with(SHORT);
    let sweep = ["model", "mm1", "mu=10000/s", "--sweep", "lambda=8k/s..12k/s:2000"];
    let files = ["--export", "sweep.csv", "--plot", "sweep.svg"];
    let (out, _) = bench.ends(&[&sweep[..], &files].concat(), 0);
    assert!(out.contains("no steady state: load 1.20"), "{out}");
    let csv = fs::read_to_string(bench.file("sweep.csv")).unwrap();
    assert_eq!(csv.lines().count(), 4, "{csv}");
    assert!(csv.lines().nth(1).unwrap().starts_with("8000,0.8,"), "{csv}");
    assert!(csv.lines().nth(3).unwrap().contains("no steady state"), "{csv}");
    let svg = fs::read_to_string(bench.file("sweep.svg")).unwrap();
    assert!(svg.starts_with("<svg") && svg.contains("response.mean") && !svg.contains("NaN"), "{svg}");
    // Two sweeps: all combinations, the last changing fastest.
    let grid = json(&bench, &["model", "mm1", "--sweep", "mu=1..4:x2", "--sweep", "lambda=0.5,0.6"]);
    let at: Vec<(f64, f64)> = grid["points"]
        .as_array()
        .unwrap()
        .iter()
        .map(|p| (p["at"]["mu"].as_f64().unwrap(), p["at"]["lambda"].as_f64().unwrap()))
        .collect();
    assert_eq!(at, [(1.0, 0.5), (1.0, 0.6), (2.0, 0.5), (2.0, 0.6), (4.0, 0.5), (4.0, 0.6)]);
    bench.ends(&[&sweep[..], &["--export", "sweep.md"]].concat(), 0);
    assert!(fs::read_to_string(bench.file("sweep.md")).unwrap().contains("| 8000 | 80.0 % |"));
}

#[test]
fn what_cannot_be_asked_names_parameter_and_remedy() {
    let bench = Bench::with(SHORT);
    for (arguments, says) in [
        (&["jacksn"][..], "did you mean jackson"),
        (&["mm1", "lambda=1"], "mu: it is missing"),
        (&["mm1", "lambda"], "write KEY=VALUE"),
        (&["mm1", "lambda=1", "mu=2", "nu=3"], "nu: "),
        (&["mm1", "lambda=1", "mu=2", "mu=3"], "mu: it is given twice"),
        (&["mm1", "lambda=3", "mu=2"], "lambda: no steady state at a load of 1.5"),
        (&["mm1", "lambda=-3", "mu=2"], "lambda: -3 is not usable"),
        (&["mm1", "lambda=NaN", "mu=2"], "lambda: `NaN` is no rate"),
        (&["mm1", "lambda=1e300", "mu=2"], "lambda: "),
        (&["mm1", "lambda=3 parsecs", "mu=2"], "lambda: `3 parsecs` is no rate"),
        (&["mm1", "mu=2", "--sweep", "lambda=1..2"], "--sweep lambda: it has no step"),
        (&["mm1", "mu=2", "--sweep", "lambda=0..1:1e-9"], "--sweep lambda: that makes more than"),
        (&["mm1", "mu=2", "--sweep", "lambda=3,4"], "lambda: no steady state"),
        (&["mm1", "mu=2", "--sweep", "nu=3,4"], "nu: "),
        (&["mm1", "lambda=1", "mu=2", "--sweep", "mu=3,4"], "mu: it is given twice"),
        (&["mm1", "lambda=1", "mu=2", "--figure", "respons"], "--figure: mm1 gives no `respons`"),
        (&["mm1", "lambda=1", "mu=2", "--export", "x.pdf"], "let it end in .json, .csv or .md"),
        (&["mm1", "mu=2", "--sweep", "lambda=1", "--plot", "no/x.svg"], "its folder does not exist"),
        (&["mm1", "mu=2", "--sweep", "lambda=1", "--plot", "x.png"], "let it end in .svg"),
    ] {
        let (out, err) = bench.ends(&[&["model"], arguments].concat(), 2);
        assert!(err.contains(says) && out.is_empty(), "{arguments:?}: {err}");
    }
}
