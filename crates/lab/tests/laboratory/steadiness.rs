//! What the machine does while a trial is measured: a planted busy program, a planted quota, and what is noted of both.

use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::atomic::AtomicBool;
use std::{env, fs};

use tollway_core::{Preset, TrialSpec};
use tollway_host::steadiness::Steadiness;
use tollway_lab::Request;
use tollway_lab::point::Selection;
use tollway_lab::progress::Progress;
use tollway_store::{RunState, Store, Trial};

use crate::eventually::eventually;
use crate::unruly::{lab, preset, registry};

/// Not a test but what another one has run in a group with a quota: it measures, and prints why trials were noisy.
#[test]
#[ignore = "it is started by another test, in a control group of its own"]
fn measure_and_tell() {
    if env::var_os(TELL).is_some() {
        for trial in played().1 {
            println!("noise: {}", trial.noise.unwrap_or_default());
        }
    }
}

/// Set where this program is to measure and tell.
const TELL: &str = "TOLLWAY_TEST_TELLS_NOISE";

#[derive(Default)]
struct Told(Vec<Steadiness>);

impl Progress for Told {
    fn checked(&mut self, found: &Steadiness) {
        self.0.push(found.clone());
    }
}

/// What was told of the machine, the trials of two variants, and the run's fingerprint.
fn played() -> (Told, Vec<Trial>, serde_json::Value) {
    let (registry, calm) = (registry(), AtomicBool::new(false));
    let folder = tempfile::tempdir().unwrap();
    let mut store = Store::open(folder.path().join("t.db")).unwrap();
    let trial = TrialSpec { window_ms: 150.0, warmup_ms: 20.0, runs: 2, repeats: 2 };
    let selection = Selection {
        presets: vec![Preset { trial, ..preset(&["good", "other-good"], 2, 2) }],
        only: Vec::new(),
    };
    let request = Request {
        title: "t".into(),
        selection,
        sides: Vec::new(),
        seed: 1,
        together: true,
        without_tolls: true,
        foretold: Vec::new(),
        narrow: None,
        within: None,
    };
    let mut told = Told::default();
    let ended = lab(&registry, &calm).run(&mut store, &request, &mut told).unwrap();
    assert_eq!(ended.state, RunState::Complete);
    (told, store.trials(ended.run).unwrap(), store.run(ended.run).unwrap().spec.fingerprint)
}

/// A program that is not ours and has a processor all the time until it is dropped. Nobody has waited for it, so that it is not
/// counted as a child.
struct Busy(Child);

impl Busy {
    fn begin() -> Busy {
        let spin = "i=0; while [ $i -lt 30000000 ]; do i=$((i+1)); done";
        Busy(Command::new("sh").args(["-c", spin]).spawn().unwrap())
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_busy_foreign_program_makes_trials_noisy_and_is_told_before() {
    let busy: Vec<Busy> = (0..2).map(|_| Busy::begin()).collect();
    let (told, trials, fingerprint) = played();
    drop(busy);
    let noises: Vec<&String> = trials.iter().filter_map(|trial| trial.noise.as_ref()).collect();
    assert!(noises.iter().any(|noise| noise.contains("foreign processor time")), "{noises:?}");
    let [found] = &told.0[..] else { panic!("it was told {} times", told.0.len()) };
    assert!(found.findings.iter().any(|finding| finding.what.contains("foreign")), "{found:?}");
    assert_eq!(fingerprint["steadiness"]["summary"], found.summary);
    // How fast the processors of the measured actors ran is kept with each trial, and so is what held them back.
    for trial in &trials {
        let pace = trial.meters["pace"].as_array().unwrap();
        assert!(!pace.is_empty() && pace.iter().all(|p| p["after"].as_f64().unwrap() > 0.0), "{pace:?}");
        assert!(trial.meters["machine"]["throttling"].is_object(), "{}", trial.meters);
    }
}

/// A control group that has a twentieth of one processor, less than others leave it anywhere; it is removed when it is dropped.
struct Group(PathBuf);

impl Group {
    /// Of either version, wherever one can be made.
    fn make() -> Result<Group, String> {
        let name = format!("tollway-test-{}", std::process::id());
        let mut why = String::new();
        for (root, files) in [
            ("/sys/fs/cgroup/cpu", [("cpu.cfs_period_us", "50000"), ("cpu.cfs_quota_us", "2500")]),
            ("/sys/fs/cgroup/cpu,cpuacct", [("cpu.cfs_period_us", "50000"), ("cpu.cfs_quota_us", "2500")]),
            ("/sys/fs/cgroup", [("cgroup.type", ""), ("cpu.max", "2500 50000")]),
        ] {
            let group = Path::new(root).join(&name);
            // Where there is no such root, the folder cannot be made.
            if !Path::new(root).join("cgroup.procs").exists() || fs::create_dir(&group).is_err() {
                why += &format!("{}: no group can be made here; ", root);
                continue;
            }
            let group = Group(group);
            let set = |(file, value): &(&str, &str)| {
                value.is_empty() || fs::write(group.0.join(file), value).is_ok()
            };
            if files.iter().all(set) {
                return Ok(group);
            }
            why += &format!("{root}: no quota can be set here; ");
        }
        Err(why)
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        eventually("its last process has ended", || fs::remove_dir(&self.0).is_ok());
    }
}

#[test]
fn a_quota_that_is_used_up_makes_trials_noisy() {
    let group = match Group::make() {
        Ok(group) => group,
        Err(why) => {
            return eprintln!("skipped: {why}as root where control groups can be written it is tried");
        }
    };
    let enter = format!("echo $$ > {} && exec \"$0\" \"$@\"", group.0.join("cgroup.procs").display());
    let told = Command::new("sh")
        .args(["-c", &enter])
        .arg(env::current_exe().unwrap())
        .args(["steadiness::measure_and_tell", "--exact", "--ignored", "--nocapture"])
        .env(TELL, "1")
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&told.stdout).into_owned();
    assert!(told.status.success(), "{text} {}", String::from_utf8_lossy(&told.stderr));
    let noises: Vec<&str> = text.lines().filter_map(|line| Some(line.split_once("noise: ")?.1)).collect();
    assert_eq!(noises.len(), 8, "{text}");
    assert!(noises.iter().any(|noise| noise.contains("throttled by the quota")), "{text}");
}
