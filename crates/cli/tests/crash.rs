//! A run that is killed at any moment: the store is intact, at most the running trial is lost, no agent stays behind,
//! and `--resume` completes exactly what was planned. `TOLLWAY_KILLS` says how many runs are killed (default 12).

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
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

/// A `tollway` in that folder; its environment has the folder's path, by which its agents are found.
fn tollway(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tollway"));
    command
        .args(arguments)
        .current_dir(folder)
        .env("TOLLWAY_TEST_FOLDER", folder)
        .env_remove("TOLLWAY_STORE")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command
}

/// Processes that belong to that folder.
fn left_behind(folder: &Path) -> Vec<String> {
    let mark = format!("TOLLWAY_TEST_FOLDER={}", folder.display());
    let of_folder = |pid: &str| {
        fs::read(format!("/proc/{pid}/environ"))
            .is_ok_and(|environment| environment.split(|b| *b == 0).any(|v| v == mark.as_bytes()))
    };
    fs::read_dir("/proc")
        .unwrap()
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter(|name| name.bytes().all(|b| b.is_ascii_digit()))
        .filter(|pid| of_folder(pid))
        .collect()
}

fn trials(folder: &Path) -> u64 {
    let store = Store::open_read_only(folder.join("tollway.db"));
    store.and_then(|s| s.runs()).map_or(0, |runs| runs.iter().map(|r| r.trials).sum())
}

/// Starts, waits, kills; checks what is left.
fn killed_after(folder: &Path, arguments: &[&str], moment: Duration) {
    let mut child = tollway(folder, arguments).spawn().unwrap();
    sleep(moment);
    let before = trials(folder);
    child.kill().unwrap();
    child.wait().unwrap();

    let begun = Instant::now();
    while !left_behind(folder).is_empty() {
        assert!(begun.elapsed() < Duration::from_secs(5), "agents stay behind: {:?}", left_behind(folder));
        sleep(Duration::from_millis(5));
    }
    if folder.join("tollway.db").exists() {
        let store = Store::open(folder.join("tollway.db")).unwrap();
        store.check().unwrap();
        assert!(trials(folder) >= before, "a trial that was stored is gone");
    }
}

/// Every point has exactly its trials, each once.
fn complete(folder: &Path) {
    let store = Store::open_read_only(folder.join("tollway.db")).unwrap();
    let run = store.runs().unwrap()[0].clone();
    assert_eq!(run.state, RunState::Complete);
    let mut per_point: BTreeMap<_, Vec<u32>> = BTreeMap::new();
    for trial in store.trials(run.id).unwrap() {
        per_point.entry(trial.point).or_default().push(trial.ordinal);
    }
    assert_eq!(per_point.len(), 6);
    let mut all: Vec<u32> = per_point.values().flatten().copied().collect();
    assert!(per_point.values().all(|ordinals| ordinals.len() as u32 == RUNS * REPEATS), "{per_point:?}");
    all.sort_unstable();
    assert_eq!(all, (0..6 * RUNS * REPEATS).collect::<Vec<_>>(), "a hole, or a trial twice");
    let predicted = store.figures(run.id).unwrap().iter().filter(|f| f.prediction.is_some()).count();
    assert_eq!(predicted, 1);
}

#[test]
fn killed_at_any_moment_it_goes_on_to_the_end() {
    let kills: u32 = std::env::var("TOLLWAY_KILLS").map_or(12, |n| n.parse().unwrap());
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("short.toml"), PRESET).unwrap();
    let start = ["measure", "--preset-file", "short.toml"];
    let begun = Instant::now();
    assert!(tollway(folder.path(), &start).status().unwrap().success());
    let whole = begun.elapsed();
    complete(folder.path());

    let mut random = StdRng::seed_from_u64(11);
    let (mut tried, mut in_the_middle) = (0, 0);
    while in_the_middle < kills {
        tried += 1;
        assert!(tried <= 4 * kills, "only {in_the_middle} of {tried} kills met a run");
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("short.toml"), PRESET).unwrap();
        killed_after(folder.path(), &start, whole.mul_f64(random.random_range(0.0..1.0)));
        let unfinished = Store::open(folder.path().join("tollway.db")).unwrap().unfinished(None).unwrap();
        if unfinished.is_none() && trials(folder.path()) == 0 {
            // It had not begun.
            continue;
        }
        in_the_middle += u32::from(unfinished.is_some());
        if unfinished.is_some() {
            let resume = ["measure", "--resume"];
            if random.random_bool(0.5) {
                killed_after(folder.path(), &resume, whole.mul_f64(random.random_range(0.0..0.5)));
            }
            let left = Store::open(folder.path().join("tollway.db")).unwrap().unfinished(None).unwrap();
            if left.is_some() {
                assert!(tollway(folder.path(), &resume).status().unwrap().success(), "it does not go on");
            }
        }
        complete(folder.path());
    }
    println!("{in_the_middle} of {tried} kills met a run under way");
}

/// A setting that changes nothing that anybody notices, for the moment of this test.
const SETTING: &str = "/proc/sys/vm/vfs_cache_pressure";

#[test]
fn a_setting_that_a_killed_run_left_changed_is_put_back_by_the_next() {
    let stood = fs::read_to_string(SETTING).unwrap().trim().to_string();
    if fs::write(SETTING, &stood).is_err() {
        assert!(!std::env::var("TOLLWAY_REQUIRE").is_ok_and(|r| r.contains("root")), "root is required");
        println!("skipped: {SETTING} may not be written → run the tests as root");
        return;
    }
    let changed = if stood == "101" { "102" } else { "101" };
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("short.toml"), PRESET).unwrap();
    let side = format!("self,set:{SETTING}={changed}");
    let arguments = ["compare", "--run", "self", &side, "--only", "getppid", "--runs", "1000"];
    let mut child = tollway(folder.path(), &arguments).spawn().unwrap();
    let begun = Instant::now();
    while trials(folder.path()) < 4 {
        assert!(begun.elapsed() < Duration::from_secs(20), "it does not begin");
        sleep(Duration::from_millis(5));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    // The kill may have come between two trials, where the setting stands as it was.
    fs::write(SETTING, changed).unwrap();

    let status = tollway(folder.path(), &["measure", "--preset-file", "short.toml"]).status().unwrap();
    let now = fs::read_to_string(SETTING).unwrap().trim().to_string();
    fs::write(SETTING, &stood).unwrap();
    assert!(status.success());
    assert_eq!(now, stood, "the next run did not put it back");
}
