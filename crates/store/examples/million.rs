//! How long a store of a million trials takes to list its runs, and how long one more trial takes to commit.
//!
//! `cargo run --release -p tollway-store --example million [FOLDER]` makes the store in a new folder below FOLDER (the
//! temporary folder unless given), prints both times in milliseconds and ends with an error if the list takes longer
//! than a second.

use std::env;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use jiff::Timestamp;
use serde_json::json;
use tollway_core::{Params, Recorder, Tally};
use tollway_store::{NewTrial, PointSpec, RunSpec, Store};

const RUNS: u32 = 100;
const POINTS: u32 = 625;
const TRIALS: u32 = 16;
const COMMITS: u32 = 200;
const LONGEST_LIST_MS: f64 = 1000.0;

fn main() -> Result<ExitCode, Box<dyn std::error::Error>> {
    let folder = env::args_os().nth(1).map_or_else(env::temp_dir, PathBuf::from);
    let folder = tempfile::tempdir_in(folder)?;
    let file = folder.path().join("million.db");
    let mut store = Store::open(&file)?;
    let mut last = None;
    for n in 0..RUNS {
        let run = store.begin_run(&run(n))?;
        last = store.add_points(run, &vec![point(); POINTS as usize])?.pop();
    }
    let last = last.ok_or("no point")?;
    drop(store);
    fill(&file)?;

    let start = Instant::now();
    let mut store = Store::open(&file)?;
    let runs = store.runs()?;
    let list_ms = millis(start);
    let trials: u64 = runs.iter().map(|r| r.trials).sum();
    println!("open and list {} runs of {trials} trials: {list_ms:.1} ms", runs.len());

    let mut commits_ms = Vec::new();
    for n in 0..COMMITS {
        let trial = trial(n);
        let start = Instant::now();
        store.record_trial(last, &trial)?;
        commits_ms.push(millis(start));
    }
    commits_ms.sort_by(f64::total_cmp);
    let (median, worst) = (commits_ms[commits_ms.len() / 2], commits_ms[commits_ms.len() - 1]);
    println!("commit one trial: median {median:.2} ms, worst of {COMMITS} {worst:.2} ms");
    Ok(if list_ms <= LONGEST_LIST_MS { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn millis(since: Instant) -> f64 {
    since.elapsed().as_secs_f64() * 1e3
}

/// Writes the trials past the store's methods: a million commits would take an hour.
fn fill(file: &std::path::Path) -> rusqlite::Result<()> {
    let db = rusqlite::Connection::open(file)?;
    db.execute(
        "WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < ?1)
         INSERT INTO trial (point, block, ordinal, started_us, median_ticks, mean_ticks, p99_ticks, min_ticks,
         max_ticks, ops, samples, batch, lost_ticks, actors, tally, meters, spread)
         SELECT point.id, i / 2, i, i, 1, 1, 1, 1, 1, 1, 1, 1, 0, '{}', '{\"visits\":{},\"counters\":{}}', 'null',
         zeroblob(100) FROM point, n",
        [TRIALS],
    )?;
    Ok(())
}

fn run(n: u32) -> RunSpec {
    RunSpec {
        started: Timestamp::UNIX_EPOCH,
        title: format!("run {n}"),
        argv: vec!["tollway".into(), "run".into()],
        version: env!("CARGO_PKG_VERSION").into(),
        seed: 1,
        machine: "machine".into(),
        hz: 1e9,
        sides: vec![],
        fingerprint: json!({"much": "x".repeat(10_000)}),
        plan: json!({"much": "x".repeat(10_000)}),
    }
}

fn point() -> PointSpec {
    PointSpec {
        side: None,
        path: "null".into(),
        variant: "nothing".into(),
        params: Params::new(),
        operation: "nothing".into(),
        toll: None,
        boundary: None,
        title: "nothing at all".into(),
        caveats: "x".repeat(300),
        gates: Vec::new(),
        changes: None,
        yields: Vec::new(),
        headline: false,
    }
}

fn trial(n: u32) -> NewTrial {
    let mut recorder = Recorder::new();
    (0..400).for_each(|i| recorder.sample(1000 + 10 * i));
    NewTrial {
        block: 1_000_000 + n,
        ordinal: 1_000_000 + n,
        started: Timestamp::UNIX_EPOCH,
        spread: recorder.spread(),
        noise: None,
        tally: Tally::default(),
        meters: json!({"switches": n}),
        lost_ticks: 0.0,
        actors: Default::default(),
    }
}
