//! How the program behaves towards the person at the keyboard: exit codes, streams, refusals.

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use crate::program::{SHORT, checked};
use tollway_store::Store;

fn tollway(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tollway"));
    command
        .args(arguments)
        .current_dir(folder)
        .env_remove("TOLLWAY_STORE")
        .env("NO_COLOR", "1")
        .stdin(Stdio::null());
    command
}

fn output(folder: &Path, arguments: &[&str]) -> Output {
    tollway(folder, arguments).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// Runs, checks exit code and that nothing panicked; returns standard output and standard error.
fn ends(folder: &Path, arguments: &[&str], code: i32) -> (String, String) {
    checked(&output(folder, arguments), code)
}

/// Ends with that code and says each of these on standard error.
fn refused(folder: &Path, arguments: &[&str], code: i32, says: &[&str]) {
    let (_, err) = ends(folder, arguments, code);
    for word in says {
        assert!(err.contains(word), "{arguments:?} does not say `{word}`:\n{err}");
    }
}

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("short.toml"), SHORT).unwrap();
    folder
}

/// The bill had taken the place of what the program wrote.
#[test]
fn what_standard_output_goes_to_is_not_replaced() {
    let folder = folder();
    let file = folder.path().join("out");
    fs::write(&file, "before\n").unwrap();
    for output in ["/dev/stdout", "out"] {
        let out = fs::File::options().append(true).open(&file).unwrap();
        let mut command = tollway(folder.path(), &["bill", "--no-store", "-o", output, "--", "echo", "ran"]);
        let ended = command.stdout(out).output().unwrap();
        let (_, err) = checked(&ended, 2);
        assert!(err.contains("standard output") && err.contains("name another file"), "{err}");
        assert_eq!(fs::read_to_string(&file).unwrap(), "before\n");
    }
}

const MEASURE: &[&str] = &["measure", "--preset-file", "short.toml"];

#[test]
fn what_is_mistyped_is_refused_with_the_remedy() {
    let folder = folder();
    let f = folder.path();
    refused(f, &["measure", "nowhere"], 2, &["`nowhere`", "crossings"]);
    refused(f, &["measure", "crossings", "--preset", "none"], 2, &["`none`", "quick"]);
    refused(f, &["measure", "crossings", "--only", "no-such-thing"], 2, &["no-such-thing", "tollway list"]);
    refused(f, &["list", "nowhere"], 2, &["`nowhere`"]);
    refused(f, &["compare", "one", "2"], 2, &["`one`", "tollway history"]);
    refused(f, &["compare", "--run", "self", "set:/etc/passwd=x"], 2, &["/sys"]);
    refused(f, &["frobnicate"], 2, &["frobnicate"]);
    for number in ["nan", "-1", "inf", "1e12", "x"] {
        for option in ["--warmup", "--time"] {
            refused(f, &["measure", "crossings", &format!("{option}={number}")], 2, &[option]);
        }
        refused(f, &["compare", "1", "2", &format!("--margin={number}")], 2, &["--margin"]);
    }
    refused(f, &["measure", "crossings", "--runs", "0"], 2, &["--runs"]);
    refused(f, &["measure", "crossings", "--export", "x.pdf"], 2, &["x.pdf", ".json"]);
    refused(f, &["measure", "crossings", "--export", "no/x.csv"], 2, &["no/x.csv", "folder"]);
    assert!(!f.join("tollway.db").exists(), "a refused command made a store");
}

#[test]
fn a_bad_preset_names_file_and_case() {
    let folder = folder();
    let bad = |old: &str, new: &str, says: &[&str]| {
        fs::write(folder.path().join("bad.toml"), SHORT.replace(old, new)).unwrap();
        refused(folder.path(), &["measure", "--preset-file", "bad.toml"], 2, &[&["bad.toml"], says].concat());
    };
    bad("window_ms = 0.3", "window_ms = 0", &["window_ms"]);
    bad("window_ms = 0.3", "widow_ms = 0.3", &["widow_ms"]);
    bad("write-byte", "write-bite", &["write-bite", "tollway list crossings"]);
    bad("variant = [", "depth = 3\nvariant = [", &["depth"]);
    bad("[[case]]", "[[case", &["line"]);
    bad(SHORT, "", &["preset"]);
    bad("path = \"crossings\"", "path = \"nowhere\"", &["nowhere"]);
    refused(folder.path(), &["measure", "--preset-file", "none.toml"], 1, &["none.toml"]);
    refused(folder.path(), &["measure", "--preset-file", "/dev/zero"], 2, &["/dev/zero"]);
}

#[test]
fn a_store_that_cannot_be_used_says_why() {
    let folder = folder();
    let f = folder.path();
    refused(f, &["history"], 1, &["tollway.db", "tollway run"]);
    refused(f, &["report"], 1, &["tollway.db"]);
    fs::write(
        f.join("rubbish.db"),
        "this is no database, and long enough to be told from an empty one".repeat(20),
    )
    .unwrap();
    refused(f, &["--store", "rubbish.db", "history"], 1, &["rubbish.db"]);
    refused(f, &[&["--store", "rubbish.db"], MEASURE].concat(), 1, &["rubbish.db"]);
    refused(f, &[&["--store", "no/folder.db"], MEASURE].concat(), 1, &["no/folder.db"]);
    refused(f, &["measure", "--resume"], 1, &["tollway.db"]);
}

#[test]
fn runs_are_kept_shown_exported_and_compared() {
    let folder = folder();
    let f = folder.path();
    let (out, _) = ends(f, &[MEASURE, &["--export", "one.csv"]].concat(), 0);
    assert!(out.contains("system call (getppid)") && out.contains("95 % interval"), "{out}");
    assert!(!out.contains('\u{1b}'), "escape codes where there is no terminal");
    ends(f, &[MEASURE, &["--seed", "7"]].concat(), 0);
    let (history, _) = ends(f, &["history"], 0);
    assert!(history.contains("measure short.toml"), "{history}");
    assert!(fs::read_to_string(f.join("one.csv")).unwrap().contains("getppid"));
    for file in ["two.json", "two.csv", "two.md"] {
        ends(f, &["export", file, "2"], 0);
        assert!(fs::read_to_string(f.join(file)).unwrap().contains("getppid"), "{file}");
    }
    ends(f, &["report", "1", "--html", "page.html"], 0);
    assert!(fs::read_to_string(f.join("page.html")).unwrap().contains("<svg"));
    ends(f, &["compare", "1", "2"], 0);
    refused(f, &["report", "9"], 1, &["9"]);
    refused(f, &["compare", "1", "9"], 1, &["9"]);
}

#[test]
fn a_dry_run_tells_and_does_nothing() {
    let folder = folder();
    let (out, _) = ends(folder.path(), &[MEASURE, &["--dry-run"]].concat(), 0);
    assert!(out.contains("system call (getppid)") && out.contains("trials, about"), "{out}");
    assert!(!folder.path().join("tollway.db").exists());
}

/// The first of a comparison's trials once said that it might not write what the other side sets, and a dry
/// run nothing at all.
#[test]
fn what_a_side_sets_is_told_by_a_dry_run_and_refused_before_anything_is_measured() {
    let folder = folder();
    // The kernel's name is nobody's to set.
    let side = "set:/proc/sys/kernel/ostype=Other";
    let compare = ["compare", "--run", "self", side, "--only", "getppid", "--export", "x.md"];
    let (out, _) = ends(folder.path(), &[&compare[..], &["--dry-run"]].concat(), 0);
    for says in
        ["writes /proc/sys/kernel/ostype: `Other` in the place of `Linux`", "may not", "tollway.db, x.md"]
    {
        assert!(out.contains(says), "{says}: {out}");
    }
    assert!(!out.contains("nothing needs root"), "{out}");
    let (json, _) = ends(folder.path(), &[&compare[..], &["--dry-run", "--json"]].concat(), 0);
    let document: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(document["footprint"]["settings"][0]["side"], "B");
    assert_eq!(document["writes"], serde_json::json!(["tollway.db", "x.md"]));
    refused(folder.path(), &compare, 1, &["the right to write /proc/sys/kernel/ostype"]);
    assert!(!folder.path().join("tollway.db").exists(), "it began all the same");
}

/// The samples of a planted delay too short to be planted took whatever one step took.
#[test]
fn a_share_too_small_to_plant_is_refused_by_its_name() {
    let folder = folder();
    let compare = ["compare", "--run", "self", "plant:0.0001%", "--only", "getppid", "--runs", "2"];
    let (out, err) = ends(folder.path(), &compare, 3);
    assert!(out.contains("plant:0.0001%") && out.contains("--only"), "{out}\n{err}");
}

#[test]
fn a_planted_slowdown_beyond_the_threshold_is_exit_code_3() {
    let folder = folder();
    let compare =
        ["compare", "--run", "self", "self,plant:50%", "--only", "getppid", "--runs", "8", "--threshold"];
    let (out, _) = ends(folder.path(), &[&compare[..], &["10"]].concat(), 3);
    assert!(out.contains("worse"), "{out}");
    ends(folder.path(), &[&compare[..], &["400"]].concat(), 0);
    // Also where the margin would call it the same.
    ends(folder.path(), &[&compare[..], &["10", "--margin", "200"]].concat(), 3);
}

#[test]
fn under_strict_a_missing_requirement_is_exit_code_4() {
    // On one processor nothing can run across cores.
    let folder = folder();
    let one = rustix::thread::sched_getaffinity(None).unwrap();
    let first = (0..1024).find(|cpu| one.is_set(*cpu)).unwrap().to_string();
    let preset = SHORT.replace("\"write-byte\"]", "\"cache-line\"]");
    fs::write(folder.path().join("short.toml"), preset).unwrap();
    let strict = |more: &[&str]| {
        Command::new("taskset")
            .args(["-c", &first, env!("CARGO_BIN_EXE_tollway")])
            .args(MEASURE)
            .args(more)
            .current_dir(folder.path())
            .output()
            .unwrap()
    };
    let lax = strict(&[]);
    assert_eq!(lax.status.code(), Some(0), "{}", text(&lax.stderr));
    assert!(text(&lax.stdout).contains("skipped"), "{}", text(&lax.stdout));
    assert_eq!(strict(&["--strict"]).status.code(), Some(4));
}

#[test]
fn the_clock_of_the_kernel_serves_as_well() {
    let folder = folder();
    let output = tollway(folder.path(), MEASURE).env("TOLLWAY_CLOCK", "monotonic").output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let store = Store::open_read_only(folder.path().join("tollway.db")).unwrap();
    assert_eq!(store.run(store.runs().unwrap()[0].id).unwrap().spec.hz, 1e9);
}

#[test]
fn an_agent_is_not_started_by_hand() {
    let folder = folder();
    refused(folder.path(), &["agent"], 1, &["started by `tollway`"]);
}
