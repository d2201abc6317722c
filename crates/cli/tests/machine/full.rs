//! Disks that fill up under the path `machine`: real ones, small file systems in memory in a mount namespace of the test's own.
//!
//! A row whose file has no room is skipped before a byte is written, one whose disk fills up under it fails and says so; the others go on.

use std::env;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::thread;

use crate::eventually::eventually;
use crate::program::rows::{Row, rows};
use crate::program::{Bench, checked};
use tollway_host::requirement::skip_test;
use tollway_store::Store;

const FOLDER: &str = "TOLLWAY_DISK_TEST_FOLDER";

/// Runs one of the parts below with a file system of that size of its own.
fn on_a_small_disk(part: &str, size: &str) {
    let folder = tempfile::tempdir().unwrap();
    let inside = |command: &str| {
        let mut unshare = Command::new("unshare");
        let script = format!("mount -t tmpfs -o size={size} none \"$0\" && {command}");
        unshare.args(["-rm", "sh", "-c", &script]);
        unshare.arg(folder.path()).arg(env::current_exe().unwrap()).args(["--exact", part, "--ignored"]);
        unshare.env(FOLDER, folder.path()).output()
    };
    match inside("true") {
        Ok(possible) if possible.status.success() => {}
        other => return skip_test(&["root"], &format!("mount namespaces are not allowed: {other:?}")),
    }
    let output = inside("exec \"$@\"").unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.contains("1 passed"), "{said}");
}

fn folder() -> Option<PathBuf> {
    env::var_os(FOLDER).map(PathBuf::from)
}

fn preset(window_ms: u32, runs: u32, cases: &str) -> String {
    format!(
        "[preset]\nname = \"short\"\npath = \"machine\"\n\
         [trial]\nwindow_ms = {window_ms}.0\nwarmup_ms = 1.0\nruns = {runs}\nrepeats = 1\n{cases}"
    )
}

fn measuring(bench: &Bench, scratch: &Path) -> Command {
    let mut command = bench.tollway(&["measure", "--preset-file", "short.toml", "--json"]);
    command.env("TOLLWAY_SCRATCH", scratch);
    command
}

/// Takes all the room that there is.
fn fill(folder: &Path) -> PathBuf {
    let ballast = folder.join("ballast");
    let mut filled = fs::File::create(&ballast).unwrap();
    for size in [1 << 20, 4096] {
        while filled.write_all(&vec![0; size]).is_ok() {}
    }
    ballast
}

fn row<'r>(rows: &'r std::collections::BTreeMap<String, Row>, word: &str) -> &'r Row {
    rows.iter().find(|(title, _)| title.contains(word)).unwrap_or_else(|| panic!("{word}: {rows:?}")).1
}

#[test]
fn a_disk_too_small() {
    on_a_small_disk("full::part_too_small", "48m");
}

#[test]
fn a_disk_that_was_full_before() {
    on_a_small_disk("full::part_full_before", "8m");
}

#[test]
fn a_disk_that_fills_up_meanwhile() {
    on_a_small_disk("full::part_fills_up", "64m");
}

#[test]
fn a_store_whose_disk_fills_up() {
    on_a_small_disk("full::part_store", "1m");
}

/// Not a test of its own but what another one has a process do, on a small disk in a mount namespace of that process.
#[test]
#[ignore = "started by a test of this file"]
fn part_too_small() {
    let Some(folder) = folder() else { return };
    let cases = r#"
[[case]]
variant = "disk"
access  = "buffered"
mib     = [8, 128]
[[case]]
variant = ["faults", "service", "fsync"]
"#;
    let bench = Bench::with(&preset(20, 2, cases));
    let rows = rows(&measuring(&bench, &folder).output().unwrap(), 0);
    assert_eq!(rows.len(), 5);
    for (title, row) in &rows {
        let told = row.gone.as_deref().unwrap_or_default();
        if title.contains("128") {
            assert_eq!(row.state, "skipped", "{title}: {row:?}");
            assert!(told.contains("MiB are free") && told.contains("TOLLWAY_SCRATCH"), "{title}: {row:?}");
        } else if title.contains("fsync") {
            assert!(row.state == "skipped" && told.contains("in memory"), "{title}: {row:?}");
        } else {
            assert!(row.state == "done" && row.trials == 2, "{title}: {row:?}");
        }
    }
    if let Err(missing) = tollway_tenant::linux::check(Some(tollway_agent::BUILD)) {
        return skip_test(&["qemu"], &missing);
    }
    let cases = r#"
[[case]]
variant = "disk"
tenant  = "linux-guest"
disk    = ["raw", "luks"]
mib     = 64
[[case]]
variant = "peak"
"#;
    let bench = Bench::with(&preset(20, 2, cases));
    let rows = self::rows(&measuring(&bench, &folder).output().unwrap(), 0);
    assert_eq!(rows.len(), 3);
    for (title, row) in rows.iter().filter(|(title, _)| title.contains("guest")) {
        let told = row.gone.as_deref().unwrap_or_default();
        assert!(row.state == "skipped" && told.contains("room for a guest's disk"), "{title}: {row:?}");
    }
    assert_eq!(row(&rows, "peak").trials, 2, "{rows:?}");
}

/// Not a test of its own but what another one has a process do, on a small disk in a mount namespace of that process.
#[test]
#[ignore = "started by a test of this file"]
fn part_full_before() {
    let Some(folder) = folder() else { return };
    fill(&folder);
    let cases = "[[case]]\nvariant = [\"service\", \"peak\", \"fsync\"]\n";
    let bench = Bench::with(&preset(20, 2, cases));
    let rows = rows(&measuring(&bench, &folder).output().unwrap(), 3);
    let service = row(&rows, "service");
    let told = service.gone.as_deref().unwrap_or_default();
    assert!(service.state != "done" && told.to_lowercase().contains("no space left"), "{service:?}");
    assert_eq!(row(&rows, "fsync").state, "skipped", "{rows:?}");
    assert_eq!(row(&rows, "peak").trials, 2, "{rows:?}");
}

/// Not a test of its own but what another one has a process do, on a small disk in a mount namespace of that process.
#[test]
#[ignore = "started by a test of this file"]
fn part_fills_up() {
    let Some(folder) = folder() else { return };
    let bench = Bench::with(&preset(300, 12, "[[case]]\nvariant = [\"service\", \"peak\"]\n"));
    let child = measuring(&bench, &folder).spawn().unwrap();
    let ending = thread::spawn(|| child.wait_with_output().unwrap());
    eventually("it begins", || bench.trials().len() >= 3);
    // It is full for ever from here on: whatever begins, and whatever is under way.
    let ballast = fill(&folder);
    eventually("the run ends", || {
        fill_up(&ballast);
        ending.is_finished()
    });
    let output: Output = ending.join().unwrap();
    let rows = rows(&output, 3);
    let service = row(&rows, "service");
    let told = service.gone.as_deref().unwrap_or_default();
    assert!(service.state == "failed" && told.to_lowercase().contains("no space left"), "{service:?}");
    assert_eq!(row(&rows, "peak").trials, 12, "{rows:?}");
    bench.nothing_stays_behind();
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 1, "more than the ballast is left");
}

/// Takes what room there is by now.
fn fill_up(ballast: &Path) {
    let mut more = fs::OpenOptions::new().append(true).open(ballast).unwrap();
    while more.write_all(&[0; 4096]).is_ok() {}
}

/// Not a test of its own but what another one has a process do, on a small disk in a mount namespace of that process.
#[test]
#[ignore = "started by a test of this file"]
fn part_store() {
    let Some(folder) = folder() else { return };
    let bench = Bench::with(&preset(2, 1000, "[[case]]\nvariant = [\"peak\", \"faults\"]\n"));
    let store = folder.join("tollway.db");
    let mut command = bench.tollway(&["measure", "--preset-file", "short.toml", "--json"]);
    let output = command.env("TOLLWAY_STORE", &store).output().unwrap();
    let (_, err) = checked(&output, 1);
    assert!(err.contains("no space left on its disk"), "{err}");
    let trials = |store: &Store| store.trials(store.runs().unwrap()[0].id).unwrap().len();
    let kept = trials(&Store::open_read_only(&store).unwrap());
    assert!(kept > 0, "nothing is kept");
    bench.nothing_stays_behind();
}
