//! `tollway doctor`: what it says of machines that lack something, of ways of counting, and of price lists.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use crate::program::{Bench, SHORT, checked, skip};
use rustix::process::geteuid;
use serde_json::{Value, json};

/// What it finds when it is run by this command, as `env` would run it.
fn examined(bench: &Bench, by: &[&str]) -> Option<Value> {
    let mut command = Command::new(by[0]);
    command.args(&by[1..]).env("T", env!("CARGO_BIN_EXE_tollway"));
    bench.set_up(&mut command);
    let output = command.output().ok()?;
    if !output.status.success() {
        skip("namespaces", "root", "allow mount and user namespaces, or run the tests as root");
        return None;
    }
    Some(serde_json::from_str(&checked(&output, 0).0).unwrap())
}

fn missing<'a>(document: &'a Value, what: &str) -> Option<&'a Value> {
    document["missing"].as_array().unwrap().iter().find(|missing| missing["what"] == what)
}

#[test]
fn machine_without_sys_is_examined_by_what_proc_tells() {
    let bench = Bench::with(SHORT);
    let script = "mount -t tmpfs none /sys && exec \"$T\" doctor --json";
    let Some(document) = examined(&bench, &["unshare", "-rm", "sh", "-c", script]) else { return };
    let with: Value = serde_json::from_str(&bench.ends(&["doctor", "--json"], 0).0).unwrap();
    assert_eq!(document["summary"], with["summary"], "processors are counted without /sys");
    let lacks = missing(&document, "the kernel's /sys").unwrap();
    assert!(lacks["remedy"].as_str().unwrap().contains("mount -t sysfs"), "{lacks}");
    assert!(missing(&with, "the kernel's /sys").is_none());
    let notes = document["notes"].as_array().unwrap();
    let governor = notes.iter().find(|note| note["about"] == "frequency governor").unwrap();
    assert!(governor["detail"].as_str().unwrap().starts_with("unknown"), "{governor}");
    let present = document["present"].as_array().unwrap();
    assert!(!present.iter().any(|name| name.as_str().unwrap().contains("(0 cores")), "{present:?}");
    let summary = document["steadiness"]["summary"].as_str().unwrap();
    assert!(summary.contains("governor unknown"), "{summary}");
}

/// Whether a bill counts by this way: it has when it says which prices it lacks, and measuring those takes ten seconds.
fn counts(bench: &Bench, by: &str) -> bool {
    let mut child = bench.tollway(&["bill", "--quiet", "--by", by, "--", "true"]).spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
    let has_counted = lines.any(|line| line.contains("measured now"));
    if has_counted {
        child.kill().unwrap();
    }
    child.wait().unwrap().success() || has_counted
}

#[test]
fn ways_of_counting_are_tried_and_the_refused_are_told_with_a_remedy() {
    let bench = Bench::with(SHORT);
    let ways = |document: &Value| -> Vec<(String, Value)> {
        let ways = document["counting"].as_array().unwrap().iter();
        ways.map(|way| (way["by"].as_str().unwrap().to_owned(), way["missing"].clone())).collect()
    };
    let here = ways(&serde_json::from_str(&bench.ends(&["doctor", "--json"], 0).0).unwrap());
    assert_eq!(here.iter().map(|(by, _)| &**by).collect::<Vec<_>>(), ["kernel", "ptrace", "proc"]);
    assert_eq!(here[2].1, Value::Null, "/proc is there");
    for (by, missing) in &here {
        // What doctor says can be used, bill uses, and no other.
        assert_eq!(counts(&bench, by), missing.is_null(), "{by}: {missing}");
    }
    bench.nothing_stays_behind();
    // In a user namespace no program may be given to the kernel.
    let Some(document) = examined(&bench, &["unshare", "-r", "sh", "-c", "exec \"$T\" doctor --json"]) else {
        return;
    };
    let refused = &ways(&document)[0].1;
    assert!(
        !refused["reason"].as_str().unwrap().is_empty() && !refused["remedy"].as_str().unwrap().is_empty()
    );
    let (out, _) = bench.ends(&["doctor"], 0);
    assert!(out.contains("  counts   ") && out.contains("proc (sums that /proc tells)"), "{out}");
}

#[test]
fn price_list_is_named_with_its_age_and_its_machine() {
    let bench = Bench::with(SHORT);
    let prices =
        || serde_json::from_str::<Value>(&bench.ends(&["doctor", "--json"], 0).0).unwrap()["prices"].clone();
    let folder = bench.file("prices");
    let none = prices();
    assert_eq!(none["lists"], json!([]));
    assert!(bench.ends(&["doctor"], 0).0.contains("no list of this machine"));
    let machine = none["machine"].as_str().unwrap().to_owned();
    fs::create_dir(&folder).unwrap();
    let hours_ago = |hours| (jiff::Timestamp::now() - jiff::SignedDuration::from_hours(hours)).to_string();
    let own = folder.join(format!("prices-{machine}.json"));
    let list = json!({ "machine": machine, "prices": [{ "measured": hours_ago(30) }, { "measured": hours_ago(5) }] });
    fs::write(&own, list.to_string()).unwrap();
    fs::set_permissions(&own, fs::Permissions::from_mode(0o644)).unwrap();
    let other = folder.join("prices-0123456789abcdef.json");
    fs::write(&other, json!({ "machine": "0123456789abcdef", "prices": [] }).to_string()).unwrap();
    let (out, _) = bench.ends(&["doctor"], 0);
    let line = out.lines().find(|line| line.starts_with("  prices   ")).unwrap();
    assert!(line.contains(&format!("{}: 2 prices, measured 5 h to 30 h ago", own.display())), "{line}");
    assert!(line.contains(&format!("of this machine ({machine})")), "{line}");
    let not_used = format!("not used: {}: of another machine, kernel or microcode", other.display());
    assert!(out.contains(&not_used), "{out}");
    assert_eq!(prices()["of_others"], json!([other.display().to_string()]));
    // One that somebody else could have written is not believed by root, and one of another machine by
    // nobody.
    if geteuid().is_root() {
        fs::set_permissions(&own, fs::Permissions::from_mode(0o666)).unwrap();
        assert!(bench.ends(&["doctor"], 0).0.contains("not believed"));
        fs::set_permissions(&own, fs::Permissions::from_mode(0o644)).unwrap();
    }
    fs::copy(&other, &own).unwrap();
    assert!(bench.ends(&["doctor"], 0).0.contains("it is no price list of this machine"));
}
