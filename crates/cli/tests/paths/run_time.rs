//! `tollway run` in the time that it is given: each path has a share of it, and keeps to that.

use std::time::Instant;

use crate::program::turn::turn;
use crate::program::{Bench, SHORT};
use crate::quiet::is_quiet;
use serde_json::Value;
use tollway_store::{PointState, Store};

/// Seconds of a run of all paths, on two cores, with what comes before and after it.
const ALL: f64 = 170.0;

/// Seconds that a run takes besides the time that it is given.
const BESIDES: f64 = 20.0;

fn shares(bench: &Bench, more: &[&str]) -> Vec<(String, f64)> {
    let (out, _) = bench.ends(&[&["--json", "run", "--dry-run"][..], more].concat(), 0);
    let plan: Value = serde_json::from_str(&out).unwrap();
    let share = |share: &Value| {
        let (path, budget) = (share["path"].as_str().unwrap(), share["budget"].as_f64().unwrap());
        assert!(share["trials"].as_u64().unwrap() > 0, "{share}");
        (path.to_string(), budget)
    };
    plan["shares"].as_array().unwrap().iter().map(share).collect()
}

#[test]
fn a_dry_run_shows_what_each_path_takes_and_another_time_is_divided_alike() {
    let bench = Bench::with(SHORT);
    let (out, _) = bench.ends(&["run", "--dry-run"], 0);
    let usual = shares(&bench, &[]);
    for (path, budget) in &usual {
        let row = out.lines().find(|line| line.starts_with(&format!("{path} "))).expect(path);
        assert!(row.ends_with(&format!("{budget:.0} s")), "{row}");
    }
    let all: f64 = usual.iter().map(|(_, budget)| budget).sum();
    assert!(usual.len() == 7 && all <= ALL, "{all}: {usual:?}");
    let shorter = shares(&bench, &["--time", "60"]);
    for ((path, budget), (same, shorter)) in usual.iter().zip(&shorter) {
        assert_eq!(path, same);
        assert!((shorter / budget - 60.0 / all).abs() < 1e-9, "{path}");
    }
    // Who asks for blocks has them all.
    let (out, _) = bench.ends(&["run", "null", "entropy", "--dry-run", "--runs", "3"], 0);
    assert!(out.lines().any(|line| line.starts_with("entropy ") && line.ends_with('–')), "{out}");
}

#[test]
fn a_short_time_is_kept() {
    let _turn = turn();
    let bench = Bench::with(SHORT);
    let asked = 8.0;
    let begun = Instant::now();
    let arguments = ["run", "null", "entropy", "capture", "ipc", "--time", &asked.to_string()];
    let (out, err) = bench.ends(&[&arguments[..], &["--html", "page.html"]].concat(), 0);
    let took = begun.elapsed().as_secs_f64();
    // To begin, to look at the machine and to write the page takes what it takes, where the machine has other things to do.
    assert!(!is_quiet() || took < asked * 1.2 + BESIDES, "{took:.1} s:\n{err}");
    let store = Store::open_read_only(bench.file("tollway.db")).unwrap();
    let run = store.runs().unwrap()[0].id;
    let (points, trials) = (store.points(run).unwrap(), store.trials(run).unwrap());
    let of_capture = points.iter().filter(|point| point.spec.path == "capture" && !point.spec.headline);
    for point in of_capture.filter(|point| point.state == PointState::Done) {
        let blocks = trials.iter().filter(|t| t.point == point.id).map(|t| t.block).max().unwrap() + 1;
        assert_eq!(blocks, 6, "{}: its preset has 10, for which there was no time", point.spec.title);
    }
    assert!(out.contains("In short"), "{out}");
    assert!(bench.file("page.html").metadata().unwrap().len() < 1_000_000);
    bench.nothing_stays_behind();
}

#[test]
fn what_cannot_be_kept_is_told_with_the_least() {
    let bench = Bench::with(SHORT);
    let (_, err) = bench.ends(&["run", "--dry-run", "--time", "5"], 0);
    assert!(err.contains("warning: 5 s cannot be kept: the least is about"), "{err}");
}
