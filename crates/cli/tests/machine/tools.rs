//! Tools of the field that are not there, or do not do what they are for: programs of their names, that are not them, stand in PATH.

use std::env;
use std::fs;
use std::os::unix::fs::PermissionsExt;

use crate::program::Bench;
use crate::program::rows::{Row, rows};
use tollway_core::Requirement;
use tollway_host::requirement::test_has;

/// Every row that a tool measures, and one of ours.
const PRESET: &str = r#"
[preset]
name = "short"
path = "machine"

[trial]
window_ms = 20.0
warmup_ms = 1.0
runs      = 2
repeats   = 1

[[case]]
variant = "primes"
by      = "python3"
box     = 1

[[case]]
variant = "events"
by      = "sysbench"

[[case]]
variant = "disk"
mib     = 4
by      = "fio"

[[case]]
variant = "stream"
threads = 1
by      = "stream"

[[case]]
variant = ["tcp-streams", "udp-datagrams"]
between = "loopback"
by      = "iperf3"

[[case]]
variant = "peak"
"#;

const TOOLS: [&str; 5] = ["python3", "sysbench", "fio", "stream", "iperf3"];

/// Runs with these programs first in PATH, or as all that is in PATH; what became of the rows that a tool measures, by title.
fn with_tools(script: Option<&str>, code: i32) -> Vec<(String, Row)> {
    let bench = Bench::with(PRESET);
    let folder = bench.file("programs");
    fs::create_dir(&folder).unwrap();
    for tool in TOOLS.iter().filter(|_| script.is_some()) {
        let file = folder.join(tool);
        fs::write(&file, format!("#!/bin/sh\n{}\n", script.unwrap_or_default())).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
    }
    let mut path = folder.into_os_string();
    if script.is_some() {
        path.push(":");
        path.push(env::var_os("PATH").unwrap());
    }
    let mut command = bench.tollway(&["measure", "--preset-file", "short.toml", "--json"]);
    let output = command.env("PATH", path).output().unwrap();
    bench.nothing_stays_behind();
    let (ours, theirs): (Vec<_>, Vec<_>) = rows(&output, code)
        .into_iter()
        .partition(|(title, _)| !TOOLS.iter().any(|tool| title.contains(tool)));
    assert!(ours.len() == 1 && ours[0].1.trials == 2 && ours[0].1.state == "done", "{ours:?}");
    assert_eq!(theirs.len(), 6, "{theirs:?}");
    theirs
}

fn all_failed(rows: &[(String, Row)], says: impl Fn(&str) -> bool) {
    for (title, row) in rows {
        let told = row.gone.as_deref().unwrap_or_default();
        assert!(row.state == "failed" && says(told), "{title}: {row:?}");
        assert!(told.chars().count() < 500 && !told.contains(char::is_control), "{title}: {row:?}");
    }
}

fn may_run() -> bool {
    test_has(&[(Requirement::IoUring, "io-uring"), (Requirement::DirectIo, "direct-io")])
}

#[test]
fn tools_that_are_not_there_are_skipped_with_what_has_them() {
    if !may_run() {
        return;
    }
    let rows = with_tools(None, 0);
    for (title, row) in rows {
        let told = row.gone.unwrap_or_default();
        assert!(row.state == "skipped" && told.contains("PATH"), "{title}: {told}");
    }
}

#[test]
fn tools_that_fail_are_quoted() {
    if may_run() {
        let rows = with_tools(Some("echo first; echo 'it has no wish to' >&2; exit 7"), 3);
        all_failed(&rows, |reason| reason.contains("it has no wish to (exit status: 7)"));
    }
}

#[test]
fn tools_that_say_something_else_are_refused() {
    if may_run() {
        let rows = with_tools(Some("printf '\\033[31m{\"jobs\": 5, \"end\": true}\\n'"), 3);
        all_failed(&rows, |reason| !reason.is_empty());
    }
}

#[test]
fn tools_that_never_stop_talking_are_stopped() {
    if may_run() {
        // By what they said: they are not waited for as long as they may take.
        let rows = with_tools(Some("exec yes"), 3);
        all_failed(&rows, |reason| !reason.is_empty() && !reason.contains("was killed"));
    }
}

/// Only with time: each is waited for as long as it may take.
#[test]
fn tools_that_hang_are_killed() {
    if !may_run() || env::var_os("TOLLWAY_LONG").is_none() {
        return;
    }
    let rows = with_tools(Some("exec sleep 1000"), 3);
    let words = ["killed", "stopped", "does not listen", "took longer"];
    all_failed(&rows, |reason| words.iter().any(|word| reason.contains(word)));
    println!("{rows:?}");
}

/// The program's own agents have PostgreSQL, which the static agent has not.
#[test]
fn a_postgresql_server_that_is_not_there_is_asked_for() {
    if !test_has(&[(Requirement::Cores(2), "cores")]) {
        return;
    }
    let (head, _) = PRESET.split_once("[[case]]").unwrap();
    let case = "[[case]]\nvariant = \"service\"\nstore = \"postgres\"\n";
    let bench = Bench::with(&format!("{head}{case}"));
    let mut command = bench.tollway(&["measure", "--preset-file", "short.toml", "--json"]);
    let output = command.env("TOLLWAY_POSTGRES", "postgresql://nobody@127.0.0.1:1/nothing").output().unwrap();
    bench.nothing_stays_behind();
    let rows: Vec<_> = rows(&output, 3).into_iter().collect();
    assert_eq!(rows.len(), 1, "{rows:?}");
    all_failed(&rows, |reason| reason.contains("PostgreSQL: error connecting"));
}
