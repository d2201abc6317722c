//! Tests that are run in a PID namespace of their own.

use std::fs;
use std::process::{Command, Stdio};

use tollway_host::requirement::skip_test;

/// Where a namespace's last number is set: the next process has the one after it (proc(5)).
pub const LAST_NUMBER: &str = "/proc/sys/kernel/ns_last_pid";

/// Runs an ignored test in a new PID namespace, as its first process; `/proc` is of that one, or still of the
/// one outside. `None` where there can be no such namespace.
pub fn run_within(test: &str, has_own_proc: bool, environment: &[(&str, String)]) -> Option<()> {
    if !rustix::process::geteuid().is_root() {
        skip_test(&["root"], &"a PID namespace needs root");
        return None;
    }
    let mut unshare = Command::new("unshare");
    unshare.args(["--pid", "--fork", "--kill-child"]);
    if has_own_proc {
        unshare.arg("--mount-proc");
    }
    unshare.arg(std::env::current_exe().unwrap()).args(["--ignored", "--exact", test, "--nocapture"]);
    unshare.envs(environment.iter().map(|(name, value)| (name, value))).stdin(Stdio::null());
    let done = unshare.output().expect("unshare(1) of util-linux");
    let said = String::from_utf8_lossy(&done.stdout);
    let complained = String::from_utf8_lossy(&done.stderr);
    // Of a name that is no test's none runs, which is a success.
    let has_run = said.contains("1 passed");
    assert!(done.status.success() && has_run, "{test}: {}\n{said}\n{complained}", done.status);
    Some(())
}

/// The next process that this one's namespace has gets this number.
pub fn next_number(number: u32) {
    fs::write(LAST_NUMBER, (number - 1).to_string()).unwrap();
}
