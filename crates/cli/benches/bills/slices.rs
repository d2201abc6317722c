//! Counts from slices against what programs did: eleven programs, and one whose phases are shorter than the gaps between slices,
//! with the machine to themselves and beside two others that never wait. `TOLLWAY_TIMES` says how often each is billed: twenty
//! times where nothing is said.

use std::env;
use std::fs;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::Line;
use crate::program::{Bench, Killed, spread};

/// How far the median may be off, and how many of the intervals have to hold the truth.
const QUIET: f64 = 0.03;
const BUSY: f64 = 0.08;
const HOLD: f64 = 0.95;
/// By which share runs of one program may differ: of what is counted by strace(1) in a run of its own.
const ALIKE: f64 = 0.001;

/// A program, and how often it makes a call.
struct Known {
    what: &'static str,
    command: Vec<String>,
    call: &'static str,
    count: f64,
}

/// What came of a bill.
struct Found {
    error: f64,
    holds: bool,
    is_estimate: bool,
    /// What counting took of its processor time.
    share: f64,
}

pub fn lines(bench: &Bench) -> Vec<Line> {
    // The price list, on its own.
    bench.bill(&[], &["true".into()]);
    let known = known(bench);
    let mut lines = with(bench, &known, "alone", QUIET);
    let busy = || Command::new("sh").args(["-c", "while :; do :; done"]).spawn().expect("there is a shell");
    let _busy = [Killed(busy()), Killed(busy())];
    lines.extend(with(bench, &known, "beside two", BUSY));
    lines
}

fn times() -> usize {
    env::var("TOLLWAY_TIMES").ok().and_then(|times| times.parse().ok()).unwrap_or(20)
}

/// A line for each program, and one for all intervals.
fn with(bench: &Bench, known: &[Known], beside: &str, most: f64) -> Vec<Line> {
    let mut found: Vec<Vec<Found>> = known.iter().map(|_| Vec::new()).collect();
    // In turns, so that what the machine does meanwhile meets all.
    for _ in 0..times() {
        for (one, found) in known.iter().zip(&mut found) {
            found.push(billed(bench, one));
        }
    }
    let mut lines: Vec<Line> =
        known.iter().zip(&found).map(|(one, found)| line(one, found, beside, most)).collect();
    let (off, ..) = spread(found.iter().flatten().map(|one| one.error.abs()).collect());
    lines.push(Line {
        what: format!("counts of all, {beside}"),
        found: format!("off by {:.2} % in the median", 100.0 * off),
        bar: format!("at most {:.0} %", 100.0 * most),
        holds: Some(off <= most),
    });
    // What is said to be exact has to be: runs of one program differ by a few calls.
    let exact: Vec<&Found> = found.iter().flatten().filter(|one| !one.is_estimate).collect();
    let right = exact.iter().filter(|one| one.error.abs() <= ALIKE).count();
    lines.push(Line {
        what: format!("counts that are no estimates, {beside}"),
        found: format!("{right} of {} are right", exact.len()),
        bar: "all".into(),
        holds: (!exact.is_empty()).then_some(right == exact.len()),
    });
    let all: Vec<&Found> = found.iter().flatten().filter(|one| one.is_estimate).collect();
    let hold = all.iter().filter(|one| one.holds).count();
    lines.push(Line {
        what: format!("intervals of all, {beside}"),
        found: format!("{hold} of {} hold the truth", all.len()),
        bar: format!("at least {:.0} %", 100.0 * HOLD),
        holds: (!all.is_empty()).then_some(hold as f64 >= HOLD * all.len() as f64),
    });
    lines
}

fn line(one: &Known, found: &[Found], beside: &str, most: f64) -> Line {
    let (off, ..) = spread(found.iter().map(|one| one.error.abs()).collect());
    let (error, least, greatest) = spread(found.iter().map(|one| one.error).collect());
    let (share, ..) = spread(found.iter().map(|one| one.share).collect());
    let estimates = found.iter().filter(|one| one.is_estimate).count();
    let hold = found.iter().filter(|one| one.is_estimate && one.holds).count();
    Line {
        what: format!("{} of {}, {beside}", one.call, one.what),
        found: format!(
            "off by {:.1} %: {:+.1} [{:+.1}, {:+.1}]; {hold} of {estimates} hold; counting {:.1} %",
            100.0 * off,
            100.0 * error,
            100.0 * least,
            100.0 * greatest,
            100.0 * share
        ),
        bar: format!("at most {:.0} %", 100.0 * most),
        holds: Some(off <= most),
    }
}

fn billed(bench: &Bench, one: &Known) -> Found {
    begin_again(bench);
    let bill = bench.bill(&[], &one.command);
    let lines = bill["lines"].as_array().expect("a bill has lines");
    let is_its = |line: &&Value| {
        let what = line["what"].as_str().unwrap_or_default();
        what == one.call || what.strip_prefix(one.call).is_some_and(|rest| rest.starts_with(" · "))
    };
    let (mut count, mut lo, mut hi, mut is_estimate) = (0.0, 0.0, 0.0, false);
    for line in lines.iter().filter(is_its) {
        let exact = line["count"].as_f64().unwrap_or_default();
        count += exact;
        lo += line["interval"][0].as_f64().unwrap_or(exact);
        hi += line["interval"][1].as_f64().unwrap_or(exact);
        is_estimate |= line["is_estimate"] == true;
    }
    let holds = (lo..=hi).contains(&one.count);
    let share = bill["watching"]["share"].as_f64().unwrap_or_default();
    Found { error: count / one.count - 1.0, holds, is_estimate, share }
}

/// Every program finds what it found the first time.
fn begin_again(bench: &Bench) {
    let _ = fs::remove_dir_all(bench.file("clone"));
    let _ = Command::new("make").args(["-s", "-C", &bench.file("c"), "clean"]).status();
}

fn known(bench: &Bench) -> Vec<Known> {
    let of = |name: &'static str, call, count: usize| Known {
        what: name,
        command: bench.example("loops", &[name, &count.to_string()]),
        call,
        count: count as f64,
    };
    // Each runs for four seconds and more (AMD EPYC, 2026): in shorter ones there are but a few slices.
    let mut known = vec![
        of("getppid", "getppid", 40_000_000),
        of("getppid-by-libc", "getppid", 30_000_000),
        of("stat", "statx", 6_000_000),
        of("open", "close", 2_500_000),
        of("read-write", "write", 15_000_000),
        of("pipes", "write", 16_000_000),
        of("threads", "getppid", 40_000_000),
        of("phases", "getppid", 20_000_000),
        of("short-phases", "getppid", 20_000_000),
    ];
    for (what, command) in [("node", node(bench)), ("git", git(bench)), ("make", make(bench))] {
        if let Some(count) = counted_by_strace(bench, &command, "openat") {
            known.push(Known { what, command, call: "openat", count });
        }
    }
    known
}

/// How often a command and its children make a call, by strace(1); `None` where it or the command is not installed.
fn counted_by_strace(bench: &Bench, command: &[String], call: &str) -> Option<f64> {
    begin_again(bench);
    let file = bench.file("strace");
    let mut strace = Command::new("strace");
    strace.args(["-f", "-c", "-U", "name,calls", "-e", &format!("trace={call}"), "-o", &file]).args(command);
    let status = strace.stdout(Stdio::null()).stderr(Stdio::null()).status().ok()?;
    let table = fs::read_to_string(file).ok().filter(|_| status.success())?;
    table.lines().find_map(|line| line.trim().strip_prefix(call)?.trim().parse().ok())
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(ToString::to_string).collect()
}

/// Reads files again and again, and computes between.
fn node(bench: &Bench) -> Vec<String> {
    let script = "const fs = require('fs'); let sum = 0;
        for (let round = 0; round < 40; round++) {
            for (let file = 0; file < 2000; file++) sum += fs.readFileSync(__filename).length;
            for (let i = 0; i < 2e7; i++) sum = (sum * 31 + i) | 0;
        }";
    fs::write(bench.file("reads.js"), script).expect("the folder is ours");
    words(&["node", &bench.file("reads.js")])
}

/// Clones a repository of some thousand files.
fn git(bench: &Bench) -> Vec<String> {
    let folder = bench.file("repository");
    fs::create_dir_all(&folder).expect("the folder is ours");
    for file in 0..6000 {
        let text: String = (0..20).map(|line| format!("{file} {line}\n")).collect();
        fs::write(format!("{folder}/{file}.txt"), text).expect("the folder is ours");
    }
    let as_somebody = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "gc.auto=0"];
    for arguments in [&["init", "-q"][..], &["add", "-A"], &["commit", "-qm", "all"]] {
        let mut git = Command::new("git");
        let _ = git.args(["-C", &folder]).args(as_somebody).args(arguments).status();
    }
    words(&["git", "clone", "-q", "--no-local", &folder, &bench.file("clone")])
}

/// Makes a small project of C.
fn make(bench: &Bench) -> Vec<String> {
    let folder = bench.file("c");
    fs::create_dir_all(&folder).expect("the folder is ours");
    for file in 0..60 {
        let text = format!("#include <stdio.h>\nint of{file}(void) {{ return printf(\"{file}\"); }}\n");
        fs::write(format!("{folder}/{file}.c"), text).expect("the folder is ours");
    }
    let rules = "all: $(patsubst %.c,%.o,$(wildcard *.c))\nclean:\n\trm -f *.o\n";
    fs::write(format!("{folder}/Makefile"), rules).expect("the folder is ours");
    words(&["make", "-s", "-j2", "-C", &folder, "all"])
}
