//! What becomes of a run whose Linux guest dies under it: the point that it was of is played again, in a fresh guest.
//!
//! Where Linux guests cannot run each test says why it does nothing, unless `TOLLWAY_REQUIRE` names `qemu`. The static
//! agent must be of the same sources as the program: `make agent`.

use std::fs;
use std::process::Output;

use crate::eventually::eventually;
use crate::program::turn::turn;
use crate::program::{Bench, checked};
use rustix::process::{Pid, Signal, kill_process};
use tollway_host::requirement::skip_test;

const GUESTS: &str = r#"
[preset]
name = "short"
path = "crossings"

[trial]
window_ms = 100.0
warmup_ms = 1.0
runs      = 3
repeats   = 3

[[case]]
variant = "getppid"
tenant  = ["process", "linux-guest"]
"#;

/// The guest of a bench, once it is there.
fn guest(bench: &Bench) -> Pid {
    // Not one that is asked for its version.
    let is_qemu = |pid: &String| {
        let arguments = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        arguments.split(|b| *b == 0).any(|argument| argument == b"-kernel")
    };
    let mut found = None;
    eventually("a guest is started, by an agent of these sources (make agent)", || {
        found = bench.processes().into_iter().find(is_qemu);
        found.is_some()
    });
    Pid::from_raw(found.unwrap().parse().unwrap()).unwrap()
}

/// Measures, and does something to the guest; the run must be whole all the same.
fn disturbed(disturb: impl FnOnce(&Bench)) {
    if let Err(missing) = tollway_tenant::linux::check(Some(tollway_agent::BUILD)) {
        return skip_test(&["qemu"], &missing);
    }
    let _turn = turn();
    let bench = Bench::with(GUESTS);
    let running = bench.tollway(&["measure", "--preset-file", "short.toml", "--json"]).spawn().unwrap();
    disturb(&bench);
    let output: Output = running.wait_with_output().unwrap();
    let (out, err) = checked(&output, 0);
    let document: serde_json::Value = serde_json::from_str(&out).unwrap();
    let points = document["points"].as_array().unwrap();
    assert_eq!(points.len(), 2);
    for point in points {
        assert_eq!(point["trials"], 9, "{err}\n{point}");
    }
    assert!(document["guests"]["linux_guests"]["boots"].as_u64().unwrap() >= 1, "{}", document["guests"]);
    bench.nothing_stays_behind();
}

#[test]
fn a_guest_killed_in_a_trial_is_replaced() {
    disturbed(|bench| {
        let first = guest(bench);
        bench.wait_for_trials(3);
        kill_process(first, Signal::KILL).unwrap();
        eventually("another guest is started", || guest(bench) != first);
    });
}

#[test]
fn a_guest_killed_while_it_boots_is_replaced() {
    disturbed(|bench| {
        let first = guest(bench);
        kill_process(first, Signal::KILL).unwrap();
        eventually("another guest is started", || guest(bench) != first);
    });
}
