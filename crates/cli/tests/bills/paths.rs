//! `tollway bill -- COMMAND` of a program that opens files by long paths.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::program::priced::bench;
use crate::program::turn::turn;
use crate::program::{Bench, skip};
use crate::quiet::is_quiet;
use serde_json::Value;
use tempfile::TempDir;

/// The program of programs/opens.c, and a file by a path with this number of names; `None` where there is no C compiler.
fn opens(names: usize) -> Option<(TempDir, [String; 2])> {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("opens");
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/programs/opens.c");
    let built = Command::new("cc").args(["-O1", "-Wall", "-o"]).arg(&program).arg(source).status();
    if !built.is_ok_and(|status| status.success()) {
        skip("a program that opens files", "cc", "install gcc");
        return None;
    }
    let mut path = folder.path().to_owned();
    let has = |path: &Path| path.iter().filter(|name| *name != "/").count();
    while has(&path) < names - 1 {
        path.push("within");
    }
    fs::create_dir_all(&path).unwrap();
    path.push("asked");
    fs::write(&path, "something").unwrap();
    assert_eq!(has(&path), names);
    let texts = [program, path].map(|path| path.to_str().unwrap().to_owned());
    Some((folder, texts))
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is no number"))
}

fn line<'a>(bill: &'a Value, what: &str) -> &'a Value {
    let lines = bill["lines"].as_array().unwrap();
    lines.iter().find(|line| line["what"] == what).unwrap_or_else(|| panic!("no {what} in {lines:#?}"))
}

/// What an opening and a closing take, in nanoseconds: the processor time that the program finds by itself, and the price of both in its bill.
struct Both {
    found: f64,
    billed: f64,
    interval: [f64; 2],
    names: f64,
    /// The tolls of the opening.
    tolls: Vec<String>,
}

fn both(bench: &Bench, way: &[&str], [program, path]: &[String; 2], times: &str) -> Both {
    let alone = || {
        let out = Command::new(program).args([path, times]).output().unwrap().stdout;
        String::from_utf8(out).unwrap().trim().parse::<f64>().unwrap()
    };
    let before = alone();
    let (out, _) = bench.ends(&[&["bill", "--json"], way, &["--", program, path, times]].concat(), 0);
    let found = (before + alone()) / 2.0;
    let bill: Value = serde_json::from_str(&out).unwrap();
    let (opened, closed) = (line(&bill, "openat"), line(&bill, "close · file"));
    let of = |end: &str| [opened, closed].iter().map(|line| number(&line["each"][end])).sum();
    let tolls = serde_json::from_value(opened["tolls"].clone()).unwrap();
    Both { found, billed: of("ns"), interval: [of("lo"), of("hi")], names: number(&opened["names"]), tolls }
}

/// By how much the machine's speed may have changed since its tolls were measured: shared ones swing by half.
const CHANGED: f64 = 1.5;

fn are_explained(way: &[&str], times: &str) {
    let Some((_short, short)) = opens(3) else { return };
    let Some((_deep, deep)) = opens(16) else { return };
    let _turn = turn();
    let bench = bench();
    let [short, deep] = [short, deep].map(|program| both(&bench, way, &program, times));
    for (of, names) in [(&short, 3.0), (&deep, 16.0)] {
        assert!((of.names - names).abs() < 0.5, "{way:?}: {} names", of.names);
        let (found, [lo, hi]) = (of.found, of.interval);
        println!("{way:?}, {names} names: {found} ns, billed {} [{lo}, {hi}]", of.billed);
        assert!(
            found > lo / CHANGED && found < hi * CHANGED || !is_quiet(),
            "{way:?}, {names} names: {found} of {lo} to {hi}"
        );
    }
    assert!(deep.tolls.iter().any(|toll| toll.contains("stat-deep")), "{way:?}: {:?}", deep.tolls);
    // By one price list: without the tolls of further names both would be billed the same. Where others have the processors while tolls are measured, what a name
    // takes may be within the errors of the calls that it is in.
    assert!(
        deep.billed > 1.02 * short.billed || !is_quiet(),
        "{way:?}: {} ns and {} ns",
        deep.billed,
        short.billed
    );
}

#[test]
fn paths_of_sixteen_names_are_explained_by_the_kernels_tracepoints() {
    let is_root = fs::metadata("/proc/self").is_ok_and(|own| std::os::unix::fs::MetadataExt::uid(&own) == 0);
    if !is_root || !Path::new("/sys/kernel/btf/vmlinux").exists() {
        skip(
            "programs at the kernel's tracepoints",
            "bpf",
            "run as root on a kernel with CONFIG_DEBUG_INFO_BTF",
        );
        return;
    }
    are_explained(&["--by", "kernel", "--exact"], "100000");
}

#[test]
fn paths_of_sixteen_names_are_explained_by_ptrace() {
    are_explained(&["--by", "ptrace"], "20000");
}
