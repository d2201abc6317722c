//! A run that is killed at any moment: the store is intact, at most the running trial is lost, no agent stays behind,
//! and `--resume` completes exactly what was planned. `TOLLWAY_KILLS` says how many runs are killed (default 6).

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::process::CommandExt;
use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::eventually::eventually;
use crate::pause::pause;
use crate::program::{Bench, skip};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use rustix::process::{Pid, Signal, kill_process_group};
use tollway_store::{RunState, Store};

const RUNS: u32 = 4;
const REPEATS: u32 = 2;

/// Two processes, batches, and points that predict themselves from others.
const PRESET: &str = r#"
[preset]
name = "short"
path = "crossings"

[trial]
window_ms = 0.3
warmup_ms = 0.05
runs      = 4
repeats   = 2

[[case]]
variant = ["getppid", "signal"]

[[case]]
variant   = ["pipe"]
placement = ["same"]

[[case]]
variant = ["io-uring-nop"]
depth   = [1, 2, 8]
"#;

const POINTS: u32 = 6;

const MEASURE: &[&str] = &["measure", "--preset-file", "short.toml"];

const COMPARE: &[&str] = &[
    "compare",
    "--run",
    "self",
    "plant:10%",
    "--preset",
    "crossings/truth",
    "--only",
    "getppid",
    "--runs",
    "2",
];

/// What was under way when a run was killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Stage {
    NotBegun,
    Pilots,
    Tolls,
    Predictions,
    Ended,
}

/// Starts, waits, kills, checks what is left; says what was under way.
fn killed_after(bench: &Bench, arguments: &[&str], moment: Duration, whole_group: bool) -> Stage {
    let mut command = bench.tollway(arguments);
    let mut child = command.process_group(0).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    pause(moment);
    let before = bench.trials().len();
    if whole_group {
        // It may have ended, and nobody has asked after it yet: then its group is still there.
        kill_process_group(Pid::from_child(&child), Signal::KILL).unwrap();
    } else {
        child.kill().unwrap();
    }
    child.wait().unwrap();
    bench.nothing_stays_behind();
    if !bench.file("tollway.db").exists() {
        return Stage::NotBegun;
    }
    let store = Store::open(bench.file("tollway.db")).unwrap();
    store.check().unwrap();
    let after: Vec<u32> = bench.trials().iter().map(|t| t.ordinal).collect();
    assert!(after.len() >= before, "a trial that was stored is gone");
    // Trials are played in the order of their ordinals: one that is lost before the running one leaves a hole.
    assert_eq!(after, (0..after.len() as u32).collect::<Vec<_>>(), "more than the running trial is lost");
    let Some(left) = store.unfinished(None).unwrap() else {
        return if after.is_empty() { Stage::NotBegun } else { Stage::Ended };
    };
    match left.points.iter().any(|p| store.prediction(p.id).unwrap().is_some()) {
        true => Stage::Predictions,
        false if after.is_empty() => Stage::Pilots,
        false => Stage::Tolls,
    }
}

/// Every point has exactly its trials, each once, all with the batch that was frozen.
fn complete(bench: &Bench, points: u32, trials_each: u32, predicted: usize) {
    let store = Store::open_read_only(bench.file("tollway.db")).unwrap();
    let run = store.runs().unwrap()[0].clone();
    assert_eq!(run.state, RunState::Complete);
    let mut per_point: BTreeMap<_, Vec<u32>> = BTreeMap::new();
    let trials = store.trials(run.id).unwrap();
    for trial in &trials {
        per_point.entry(trial.point).or_default().push(trial.ordinal);
    }
    assert_eq!(per_point.len() as u32, points);
    assert!(per_point.values().all(|ordinals| ordinals.len() as u32 == trials_each), "{per_point:?}");
    let all: Vec<u32> = trials.iter().map(|t| t.ordinal).collect();
    assert_eq!(all, (0..points * trials_each).collect::<Vec<_>>(), "a hole, or a trial twice");
    for point in store.points(run.id).unwrap() {
        let own = trials.iter().filter(|t| t.point == point.id);
        assert!(
            own.clone().all(|t| Some(t.batch) == point.batch),
            "the batch of {} changed",
            point.spec.title
        );
    }
    let figures = store.figures(run.id).unwrap();
    assert_eq!(figures.iter().filter(|f| f.prediction.is_some()).count(), predicted);
}

/// Kills that many runs while they are under way, some of them again when they go on; returns how often in each stage.
fn killed_so_often(kills: u32, seed: u64, start: &[&str], complete: impl Fn(&Bench)) -> BTreeMap<Stage, u32> {
    let bench = Bench::with(PRESET);
    let begun = Instant::now();
    bench.ends(start, 0);
    let mut whole = begun.elapsed();
    complete(&bench);

    let mut random = StdRng::seed_from_u64(seed);
    let mut stages = BTreeMap::new();
    let (mut tried, mut under_way) = (0, 0);
    while under_way < kills {
        tried += 1;
        assert!(tried <= 6 * kills, "only {under_way} of {tried} kills met a run: {stages:?}");
        let bench = Bench::with(PRESET);
        let mut killed = |arguments: &[&str], latest: f64| {
            let moment = whole.mul_f64(random.random_range(0.0..latest));
            let stage = killed_after(&bench, arguments, moment, random.random_bool(0.3));
            *stages.entry(stage).or_insert(0) += 1;
            if stage == Stage::Ended && arguments == start {
                // It took no longer than that, and the first one more, as others had the processors.
                whole = whole.min(moment);
            }
            stage
        };
        let mut stage = killed(start, 1.1);
        while !matches!(stage, Stage::NotBegun | Stage::Ended) {
            under_way += 1;
            if under_way % 2 == 0 {
                bench.ends(&["measure", "--resume"], 0);
                break;
            }
            stage = killed(&["measure", "--resume"], 0.6);
        }
        if stage != Stage::NotBegun {
            complete(&bench);
        }
    }
    println!("{tried} runs, kills by stage: {stages:?}");
    stages
}

fn kills() -> Option<u32> {
    std::env::var("TOLLWAY_KILLS").ok().map(|n| n.parse().unwrap())
}

#[test]
fn killed_at_any_moment_it_goes_on_to_the_end() {
    let stages = killed_so_often(kills().unwrap_or(6), 11, MEASURE, |bench| {
        complete(bench, POINTS, RUNS * REPEATS, 1);
    });
    if kills().is_some_and(|kills| kills >= 100) {
        for stage in [Stage::Pilots, Stage::Tolls, Stage::Predictions] {
            assert!(
                stages.get(&stage).is_some_and(|n| *n > 0),
                "none was killed in its {stage:?}: {stages:?}"
            );
        }
    }
}

#[test]
fn a_comparison_that_is_killed_goes_on_on_both_sides() {
    let repeats = tollway_lab::point::parse_preset("truth", TRUTH).unwrap().trial.repeats;
    killed_so_often(kills().unwrap_or(6).div_ceil(4), 12, COMPARE, |bench| {
        complete(bench, 2, 2 * repeats, 0);
    });
}

const TRUTH: &str = include_str!("../../../../paths/crossings/presets/truth.toml");

/// A setting that changes nothing that anybody notices, for the moment of this test.
const SETTING: &str = "/proc/sys/vm/vfs_cache_pressure";

/// Puts the setting back, whatever happens in between.
struct PutBack(String);

impl Drop for PutBack {
    fn drop(&mut self) {
        let _ = fs::write(SETTING, &self.0);
    }
}

#[test]
fn a_setting_that_a_killed_run_left_changed_is_put_back_by_the_next() {
    let now = || fs::read_to_string(SETTING).unwrap().trim().to_string();
    let stood = now();
    if fs::write(SETTING, &stood).is_err() {
        return skip(SETTING, "root", "run the tests as root");
    }
    let _put_back = PutBack(stood.clone());
    let changed = if stood == "101" { "102" } else { "101" };
    let bench = Bench::with(PRESET);
    let side = format!("self,set:{SETTING}={changed}");
    let arguments = ["compare", "--run", "self", &side, "--only", "getppid", "--runs", "10"];
    // A kill between two trials finds the setting as it was: another try.
    for _ in 0..50 {
        let mut child =
            bench.tollway(&arguments).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        eventually("the setting changes", || now() == changed);
        child.kill().unwrap();
        child.wait().unwrap();
        if now() == changed {
            break;
        }
    }
    assert_eq!(now(), changed, "no kill met a trial of the side that changes it");
    bench.ends(&[MEASURE, &["--runs", "1"]].concat(), 0);
    assert_eq!(now(), stood, "the next run did not put it back");
    bench.ends(&["measure", "--resume"], 0);
    assert_eq!(now(), stood, "a run that went on did not put it back");
}

#[test]
fn a_killed_run_is_told_from_one_that_is_measured() {
    let bench = Bench::with(&PRESET.replace("runs      = 4", "runs = 1000"));
    let mut child = bench.tollway(MEASURE).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    bench.wait_for_trials(1);
    let (running, _) = bench.ends(&["history"], 0);
    assert!(running.contains("running") && !running.contains("killed"), "{running}");
    let (report, _) = bench.ends(&["report"], 0);
    assert!(report.contains(" · running · ") && !report.contains("killed"), "{report}");
    child.kill().unwrap();
    child.wait().unwrap();
    let (killed, _) = bench.ends(&["history"], 0);
    assert!(killed.contains("killed") && killed.contains("--resume"), "{killed}");
    assert!(!killed.contains("running"), "{killed}");
    let (document, _) = bench.ends(&["history", "--json"], 0);
    let document: serde_json::Value = serde_json::from_str(&document).unwrap();
    assert_eq!(document["killed"], serde_json::json!([1]), "{document}");
    assert_eq!(document["runs"][0]["state"], "killed", "{document}");
    // And so does every form of a report.
    let (report, _) = bench.ends(&["report"], 0);
    assert!(report.contains(" · killed · ") && report.contains("--resume"), "{report}");
    let (document, _) = bench.ends(&["report", "--json"], 0);
    let document: serde_json::Value = serde_json::from_str(&document).unwrap();
    assert_eq!(document["run"]["state"], "killed", "{document}");
    bench.ends(&["report", "--html", "page.html"], 0);
    bench.ends(&["export", "kept.md"], 0);
    for (file, says) in [("page.html", "run 1, killed"), ("kept.md", " · killed · ")] {
        let text = fs::read_to_string(bench.file(file)).unwrap();
        assert!(text.contains(says), "{file}: {text}");
    }
    bench.nothing_stays_behind();
}
