//! `tollway plan`: the examples as they were read over last, its exit codes, and what it says to what is no plan.
//! `INSTA_UPDATE=always` takes the texts over as they are now.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

use crate::program::{Bench, SHORT};
use serde_json::Value;

fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/plan")
}

#[test]
fn examples_are_as_they_were_read_over() {
    let bench = Bench::with(SHORT);
    let mut files: Vec<PathBuf> =
        fs::read_dir(examples()).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert!(files.len() >= 3, "{files:?}");
    for file in files {
        let (out, err) = bench.ends(&["plan", file.to_str().unwrap()], 0);
        assert!(err.is_empty() && !out.contains("NaN"), "{out}{err}");
        insta::assert_snapshot!(format!("plan-{}", file.file_stem().unwrap().to_str().unwrap()), out);
    }
}

#[test]
fn one_model_is_told_at_length() {
    let bench = Bench::with(SHORT);
    let single = ["plan", "finite-source", "lambda=1000/s", "mu=10k/s", "servers=2", "--vary", "population"];
    let (out, _) = bench.ends(&[&single[..], &["--keep", "response.p99<500us"]].concat(), 0);
    insta::assert_snapshot!("plan-one", out);
}

#[test]
fn the_command_line_says_what_a_file_says() {
    let bench = Bench::with(SHORT);
    let line = [
        "plan",
        "lambda=1000/s",
        "mu=10k/s",
        "--case",
        "one device: finite-source servers=1",
        "--case",
        "two: finite-source servers=2",
        "--case",
        "four: finite-source servers=4",
        "--vary=population",
        "--keep=response.p99 < 500us",
        "--show=utilization,throughput",
    ];
    let file = examples().join("tenants.toml");
    let of_line: Value = serde_json::from_str(&bench.ends(&[&line[..], &["--json"]].concat(), 0).0).unwrap();
    let of_file = bench.ends(&["plan", file.to_str().unwrap(), "--json"], 0).0;
    let of_file: Value = serde_json::from_str(&of_file).unwrap();
    assert_eq!(of_line["cases"], of_file["cases"]);
    assert_eq!(of_line["best"], "four");
    // Options come before what a file says.
    let (out, _) = bench.ends(&["plan", file.to_str().unwrap(), "--keep", "response.p99<1ms", "--json"], 0);
    let wider: Value = serde_json::from_str(&out).unwrap();
    assert!(wider["cases"][0]["value"].as_f64() > of_file["cases"][0]["value"].as_f64());
}

#[test]
fn figures_of_ones_own_can_be_kept() {
    let bench = Bench::with(SHORT);
    let (out, _) = bench.ends(
        &[
            "plan",
            "--case=dear: mm1 mu=10k/s cpu:=200us*throughput",
            "--case=cheap: mm1 mu=10k/s",
            "--figure=cpu=100us*throughput",
            "--vary=lambda",
            "--keep=cpu<=0.5",
            "--json",
        ],
        0,
    );
    let document: Value = serde_json::from_str(&out).unwrap();
    for (at, value) in [2500.0, 5000.0].into_iter().enumerate() {
        let case = &document["cases"][at];
        assert!((case["value"].as_f64().unwrap() / value - 1.0).abs() < 1e-9, "{case}");
        assert!((case["figures"]["cpu"].as_f64().unwrap() - 0.5).abs() < 1e-9, "{case}");
    }
}

#[test]
fn what_cannot_be_kept_is_a_failed_check_unless_another_case_keeps_it() {
    let bench = Bench::with(SHORT);
    let asked = ["--vary", "lambda", "--keep", "response.mean<150us"];
    let (out, _) = bench.ends(&[&["plan", "mm1", "mu=5k/s"], &asked[..]].concat(), 3);
    assert!(out.contains("cannot be kept at any lambda") && out.contains("response.mean is 200 µs"), "{out}");
    let cases = ["plan", "--case", "slow: mm1 mu=5k/s", "--case", "fast: mm1 mu=10k/s"];
    let (out, _) = bench.ends(&[&cases[..], &asked[..]].concat(), 0);
    assert!(out.contains("cannot keep it") && out.contains("← best"), "{out}");
}

#[test]
fn what_is_no_plan_names_place_and_remedy() {
    let bench = Bench::with(SHORT);
    fs::write(bench.file("binary.toml"), [0x7f, b'E', b'L', b'F', 0, 0xff]).unwrap();
    fs::write(bench.file("binary"), [0x7f, b'E', b'L', b'F', 0, 0xff]).unwrap();
    fs::write(bench.file("broken.toml"), "title = \"x\"\nvary lambda\n").unwrap();
    let asked = ["--vary=lambda", "--keep=response.p99<5ms"];
    for (arguments, says) in [
        (&["mm1", "mu=10k/s", "--vary=lambda"][..], "--keep: there is no level"),
        (&["mm1", "mu=10k/s", "--keep=response.p99<5ms"], "--vary: nothing is to be found"),
        (&["mm1", "--vary=lambda", "--keep=fast"], "write a figure and its bound, like response.p99<500us"),
        (&["mm2", asked[0], asked[1]], "did you mean mm"),
        (&["mm1", asked[0], asked[1]], "mu: it is missing"),
        (
            &["mm1", "mu=10k/s", "nu=3", asked[0], asked[1]],
            "nu: mm1 has no such parameter; its parameters are",
        ),
        (&["mm1", "mu=10k/s", "--vary=nu", asked[1]], "no such parameter to vary"),
        (&["mm1", "mu=10k/s", "lambda=3", asked[0], asked[1]], "lambda: it is varied and given"),
        (&["mm1", "mu=10k/s", asked[0], "--keep=loss<1%"], "mm1 has no figure `loss`; its figures are"),
        (&["mm1", "mu=10k/s", asked[0], "--keep=response.p99<5/s"], "write a time, like 500us"),
        (&["mm1", "mu=10k/s", asked[0], asked[1], "--from=9k/s", "--to=1k/s"], "give --from below --to"),
        (&["mm1", "mu=10k/s", asked[0], asked[1], "--to=1ms"], "lambda: `1ms` is no rate"),
        (&["mm1", "mu=10k/s", asked[0], asked[1], "--to=1k/s"], "1 k/s is the end of the range"),
        (&["mm1", "mu=10k/s", asked[0], asked[1], "--figure=cpu"], "`cpu` has no `=`"),
        (&["--case=a: mm1 mu=1", "--case=a: mm1 mu=2", asked[0], asked[1]], "there are two of this name"),
        (&["--case=a: mm1 mu=1", "--case=b: mm1", asked[0], asked[1]], "case `b`: mu: it is missing"),
        (
            &["nu=3", "--case=a: mm1 mu=1", "--case=b: mm1 mu=2", asked[0], asked[1]],
            "no case has such a parameter",
        ),
        (
            &["mm1", "mu=10k/s", asked[0], "--keep=response.p99<-5ms"],
            "`response.p99<-5ms` has a negative bound",
        ),
        (
            &["mm1", "mu=10k/s", asked[0], "--keep=response.p99<0ms"],
            "`response.p99<0ms` leaves no room above 0",
        ),
        (&["missing.toml", asked[0], asked[1]], "file `missing.toml`: No such file"),
        (&["/", asked[0], asked[1]], "file `/`: Is a directory"),
        (&["/dev/null"], "file `/dev/null`: it is no plan: it is empty; name a plan"),
        (&["binary.toml"], "file `binary.toml`: it is no plan: it is no text (UTF-8); name a plan"),
        (&["binary"], "file `binary`: it is no plan: it is no text"),
        (&["broken.toml"], "file `broken.toml`, line 2, column "),
        (&["short.toml", asked[0], asked[1]], "unknown field"),
    ] {
        let (out, err) = bench.ends(&[&["plan"], arguments].concat(), 2);
        assert!(err.contains(says) && out.is_empty(), "{arguments:?}: {err}");
        assert_eq!(err.trim_end().lines().count(), 1, "{arguments:?}: {err}");
    }
}

#[test]
fn a_long_search_reports_its_progress() {
    let bench = Bench::with(SHORT);
    let slow =
        ["plan", "mm1-transient", "mu=10000/s", "capacity=10000", "start=0", "time=1s", "--vary", "lambda"];
    let mut child = bench.tollway(&[&slow[..], &["--keep", "number.mean<50"]].concat()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stderr.take().unwrap()).read_line(&mut line).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    let seconds =
        line.strip_prefix("looking for the answer: ").and_then(|rest| rest.split(' ').next()?.parse().ok());
    assert!(seconds.is_some_and(|seconds: u64| seconds >= 5), "{line}");
}
