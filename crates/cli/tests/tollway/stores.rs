//! Stores that cannot be used: each refusal names the file and the remedy, and nothing panics.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::Command;

use crate::program::{Bench, SHORT, checked, skip};
use tollway_store::{RunState, Store};

const MEASURE: &[&str] = &["measure", "--preset-file", "short.toml"];

/// Every verb that opens the store ends with 1, names the file and says this.
fn refused_by_all(bench: &Bench, says: &str) {
    for arguments in [MEASURE, &["measure", "--resume"], &["history"], &["report"], &["compare", "1", "2"]] {
        let (_, err) = bench.ends(arguments, 1);
        assert!(err.contains("tollway.db") && err.contains(says), "{arguments:?}: {err}");
    }
}

/// A bench whose store has a run.
fn measured() -> Bench {
    let bench = Bench::with(SHORT);
    bench.ends(MEASURE, 0);
    bench
}

fn change(file: &Path, how: impl FnOnce(&mut Vec<u8>)) {
    let mut bytes = fs::read(file).unwrap();
    how(&mut bytes);
    fs::write(file, bytes).unwrap();
}

#[test]
fn one_of_a_newer_program_is_left_alone() {
    let bench = measured();
    let file = bench.file("tollway.db");
    // The user version of the SQLite format: four bytes, the highest first, from 60 on.
    change(&file, |bytes| bytes[60..64].copy_from_slice(&[0, 0, 0x7f, 0xff]));
    let before = fs::read(&file).unwrap();
    refused_by_all(&bench, "update Tollway");
    assert_eq!(fs::read(&file).unwrap(), before);
}

#[test]
fn one_that_is_damaged_is_told_with_a_way_to_save_it() {
    let bench = measured();
    change(&bench.file("tollway.db"), |bytes| {
        let third = bytes.len() / 3;
        bytes[4096..2 * third].fill(0x5a);
    });
    refused_by_all(&bench, ".recover");
}

#[test]
fn one_of_another_program_is_left_alone() {
    let bench = measured();
    // The application id of the SQLite format: from 68 on.
    change(&bench.file("tollway.db"), |bytes| bytes[68..72].copy_from_slice(b"ELSE"));
    refused_by_all(&bench, "another program");
}

#[test]
fn a_folder_in_its_place_is_refused() {
    let bench = Bench::with(SHORT);
    fs::create_dir(bench.file("tollway.db")).unwrap();
    refused_by_all(&bench, "no regular file");
}

/// Runs a script in a namespace where a small file system stands in the bench's folder `disk`; `$T` is the program.
fn on_a_small_disk(bench: &Bench, script: &str) -> Option<(String, String)> {
    fs::create_dir(bench.file("disk")).unwrap();
    let inside = |script: &str| {
        let mut command = Command::new("unshare");
        let script = format!("mount -t tmpfs -o size=400k none disk && {script}");
        command.args(["-rm", "sh", "-c", &script]);
        bench.set_up(&mut command);
        command.env("T", env!("CARGO_BIN_EXE_tollway")).env("TOLLWAY_STORE", "disk/tollway.db");
        command.output()
    };
    if !inside("true").is_ok_and(|output| output.status.success()) {
        skip("small file systems", "root", "allow mount namespaces, or run the tests as root");
        return None;
    }
    Some(checked(&inside(script).unwrap(), 0))
}

#[test]
fn a_disk_that_is_full_keeps_what_was_measured_and_the_run_goes_on_once_there_is_room() {
    let bench = Bench::with(SHORT);
    let Some((out, err)) = on_a_small_disk(
        &bench,
        "$T measure --preset-file short.toml --runs 100 > full.txt 2>&1; echo full: $?
         $T --json history > before.json; echo history: $?
         mount -o remount,size=20m disk
         $T measure --resume > /dev/null; echo resumed: $?
         cp disk/tollway.db tollway.db",
    ) else {
        return;
    };
    assert_eq!(out, "full: 1\nhistory: 0\nresumed: 0\n", "{err}");
    let full = fs::read_to_string(bench.file("full.txt")).unwrap();
    assert!(full.contains("no space left") && full.contains("--resume"), "{full}");
    assert!(full.contains("disk/tollway.db") && !full.contains("panicked"), "{full}");
    let before: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(bench.file("before.json")).unwrap()).unwrap();
    let kept = before["runs"][0]["trials"].as_u64().unwrap();
    assert!((10..400).contains(&kept), "{kept} trials were kept on a disk of 400 KiB");
    let store = Store::open(bench.file("tollway.db")).unwrap();
    store.check().unwrap();
    let run = &store.runs().unwrap()[0];
    assert_eq!((run.state, run.trials), (RunState::Complete, 2 * 100 * 2));
}

#[test]
fn limit_on_file_size_is_told_and_the_run_goes_on_beyond_it() {
    let bench = Bench::with(SHORT);
    let script = "(ulimit -f 256; \"$T\" measure --preset-file short.toml --runs 100 > limited.txt 2>&1; echo limited: $?)
                  \"$T\" --json history > before.json; echo history: $?
                  (ulimit -f 0; \"$T\" doctor > /dev/null 2> told.txt; echo first: $?; \"$T\" list > listed.txt 2>> told.txt; echo listed: $?)
                  \"$T\" measure --resume > /dev/null; echo resumed: $?";
    let mut command = Command::new("sh");
    command.args(["-c", script]);
    bench.set_up(&mut command);
    command.env("T", env!("CARGO_BIN_EXE_tollway"));
    let (out, err) = checked(&command.output().unwrap(), 0);
    // 128 KiB are a store's beginning; and one whose output has no room at all is told as well, on its
    // standard error.
    assert_eq!(out, "limited: 1\nhistory: 0\nfirst: 0\nlisted: 1\nresumed: 0\n", "{err}");
    let limited = fs::read_to_string(bench.file("limited.txt")).unwrap();
    assert!(limited.contains("131072 bytes") && limited.contains("ulimit -f unlimited"), "{limited}");
    let before: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(bench.file("before.json")).unwrap()).unwrap();
    let kept = before["runs"][0]["trials"].as_u64().unwrap();
    assert!(kept < 400, "{kept} trials were kept in 128 KiB");
    let store = Store::open(bench.file("tollway.db")).unwrap();
    store.check().unwrap();
    let run = &store.runs().unwrap()[0];
    assert_eq!((run.state, run.trials), (RunState::Complete, 2 * 100 * 2));
}

#[test]
fn programs_that_are_started_have_the_limit_as_a_shell_gives_it() {
    let bench = Bench::with(SHORT);
    // What `bill` runs is another program: it ends as it would have ended without `tollway`.
    let script = "ulimit -f 1; exec \"$T\" bill --by proc -- sh -c 'cat /proc/self/status' 2>/dev/null";
    let mut command = Command::new("sh");
    command.args(["-c", script]);
    bench.set_up(&mut command);
    command.env("T", env!("CARGO_BIN_EXE_tollway"));
    let mut child = command.spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    let ignored = lines.find_map(|line| line.strip_prefix("SigIgn:").map(String::from)).expect("a status");
    // What it needs for a bill is measured for seconds, and nobody asks for it.
    child.kill().unwrap();
    child.wait().unwrap();
    bench.nothing_stays_behind();
    assert_eq!(u64::from_str_radix(ignored.trim(), 16).unwrap() & 1 << 24, 0, "SIGXFSZ is 25: {ignored}");
}

#[test]
fn a_disk_that_is_read_only_can_be_read() {
    let bench = Bench::with(SHORT);
    let Some((out, err)) = on_a_small_disk(
        &bench,
        "$T measure --preset-file short.toml > /dev/null 2>&1; echo measured: $?
         mount -o remount,ro disk
         $T measure --preset-file short.toml > read-only.txt 2>&1; echo again: $?
         $T report > /dev/null; echo reported: $?
         $T history > /dev/null; echo history: $?",
    ) else {
        return;
    };
    assert_eq!(out, "measured: 0\nagain: 1\nreported: 0\nhistory: 0\n", "{err}");
    let said = fs::read_to_string(bench.file("read-only.txt")).unwrap();
    assert!(said.contains("disk/tollway.db: read-only; make the file"), "{said}");
}
