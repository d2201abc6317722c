//! `tollway machine modes`: modes listed, refused and compared, on this machine and in guests; the page, repetitions, and what is left after
//! Ctrl-C.

use std::collections::BTreeSet;
use std::fs;

use crate::program::turn::turn;
use crate::program::{Bench, SHORT, checked};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tollway_host::requirement::skip_test;

/// A bench with a mode of this name and these lines.
fn with_modes(modes: &[(&str, &str)]) -> Bench {
    let bench = Bench::with(SHORT);
    for (name, lines) in modes {
        let text = format!("[mode]\nname = \"{name}\"\nabout = \"a mode of a test\"\n{lines}");
        fs::write(bench.file(&format!("{name}.toml")), text).unwrap();
    }
    bench
}

fn modes<'a>(words: &[&'a str]) -> Vec<&'a str> {
    [&["machine", "modes"], words].concat()
}

#[test]
fn modes_are_listed_and_what_would_be_done_is_told() {
    let bench = Bench::with(SHORT);
    let (listed, _) = bench.ends(&modes(&[]), 0);
    for said in ["high-performance: ", "balanced: ", "guest  disk = luks", "signs nothing"] {
        assert!(listed.contains(said), "{listed}");
    }
    let all: Value = serde_json::from_str(&bench.ends(&modes(&["--json"]), 0).0).unwrap();
    assert_eq!(all[1]["guest"][1], serde_json::json!({ "name": "disk", "value": "luks" }));
    let (told, _) = bench.ends(&modes(&["high-performance", "balanced", "--part", "disk", "--dry-run"]), 0);
    assert!(told.contains("QEMU's disk without a guest, read, 1 MiB, depth 32"), "{told}");
    assert!(told.contains("encryption of QEMU's disk by itself, write, 4 KiB"), "{told}");
    assert!(!bench.file("tollway.db").exists());
}

#[test]
fn what_cannot_be_compared_is_refused_before_anything_is_measured() {
    let bench = with_modes(&[
        ("same", ""),
        ("typing", "[guest]\ndsik = \"raw\"\n"),
        ("value", "[guest]\ndisk = \"qcow3\"\n"),
        ("passwd", "[host]\n\"/etc/passwd\" = \"x\"\n"),
    ]);
    fs::copy(bench.file("same.toml"), bench.file("again.toml")).unwrap();
    for (words, said) in [
        (&["balanced", "balanced"][..], "both have the name `balanced`"),
        (&["same.toml", "again.toml"], "both have the name `same`"),
        (&["balanced", "typing.toml"], "`dsik`: no row that is compared has such an axis"),
        (&["balanced", "value.toml"], "`qcow3` is not a value of it"),
        (&["balanced", "passwd.toml"], "/etc/passwd is no setting of the kernel"),
        (&["balanced", "nowhere.toml"], "mode `nowhere.toml`: No such file"),
        (&["balanced", "short.toml"], "mode `short.toml`"),
        (&["balanced", "high-performance", "--part", "cpu,crossings"], "two modes have none"),
        (&["balanced", "high-performance", "--html", "no/such/page.html"], "its folder does not exist"),
    ] {
        let (_, err) = bench.ends(&modes(words), 2);
        assert!(err.contains(said), "{words:?}: {err}");
    }
    let (_, err) = bench.ends(&modes(&["balanced"]), 2);
    assert!(err.contains("<B>"), "{err}");
    assert!(!bench.file("tollway.db").exists());
}

/// The document, which has what its schema says; and what was said beside it.
fn document(bench: &Bench, words: &[&str], code: i32) -> (Value, String) {
    let (out, err) = bench.ends(&modes(&[words, &["--json"]].concat()), code);
    let document: Value = serde_json::from_str(&out).unwrap_or_else(|e| panic!("{e}: {out}\n{err}"));
    let schema: Value =
        serde_json::from_str(&bench.ends(&["generate", "schema", "machine-modes"], 0).0).unwrap();
    let names = |value: &Value| value.as_object().unwrap().keys().cloned().collect::<BTreeSet<_>>();
    assert_eq!(names(&schema["properties"]), names(&document));
    (document, err)
}

#[test]
fn two_modes_that_are_the_same_are_compared_twice_on_this_machine() {
    let bench = with_modes(&[("one", ""), ("other", "")]);
    let words = [
        "one.toml",
        "other.toml",
        "--host",
        "--part",
        "service",
        "--runs",
        "2",
        "--time",
        "2",
        "--repeat",
        "2",
    ];
    // Two blocks tell little, and whether they tell the same is chance: 0 or 3.
    let output =
        bench.tollway(&modes(&[&words[..], &["--html", "modes.html", "--json"]].concat())).output().unwrap();
    let code = output.status.code().unwrap();
    assert!(matches!(code, 0 | 3), "{}", String::from_utf8_lossy(&output.stderr));
    let (out, _) = checked(&output, code);
    let found: Value = serde_json::from_str(&out).unwrap();
    let (figures, repeated) = (found["comparison"]["figures"].as_array().unwrap(), &found["repeated"]);
    assert!(!figures.is_empty() && figures.iter().all(|figure| figure["ratio"].is_object()), "{found:#}");
    assert_eq!((&repeated["times"], repeated["runs"].as_array().unwrap().len()), (&2.into(), 2));
    let rows = repeated["rows"].as_array().unwrap();
    assert!(rows.iter().all(|row| row["verdicts"].as_array().unwrap().len() == 2), "{repeated}");
    assert_eq!(repeated["agree"], Value::from(code == 0));
    assert_eq!(found["foretold"], serde_json::json!([]));
    let page = fs::read_to_string(bench.file("modes.html")).unwrap();
    for said in ["one and other", "The same verdict each time?", "a mode of a test"] {
        assert!(page.contains(said), "{said} is not on the page");
    }
    assert_eq!(page.matches("<span class=\"badge").count(), figures.len());
}

#[test]
fn encryption_in_guests_is_foretold_measured_and_graded() {
    if let Err(missing) = tollway_tenant::linux::check(Some(tollway_agent::BUILD)) {
        return skip_test(&["qemu"], &missing);
    }
    let _turn = turn();
    let bench =
        with_modes(&[("clear", "[guest]\ndisk = \"raw\"\n"), ("secret", "[guest]\ndisk = \"luks\"\n")]);
    let words = ["clear.toml", "secret.toml", "--part", "disk", "--runs", "2", "--time", "4"];
    let (found, err) = document(&bench, &words, 0);
    assert!(err.contains("measuring: "), "{err}");
    let figures = found["comparison"]["figures"].as_array().unwrap();
    let titles: Vec<&str> = figures.iter().map(|figure| figure["title"].as_str().unwrap()).collect();
    assert!(titles.contains(&"read, 1 MiB, depth 32, file of 64 MiB"), "{titles:?}");
    assert!(titles.contains(&"QEMU's disk without a guest, read, 1 MiB, depth 32"), "{titles:?}");
    assert!(
        figures.iter().all(|figure| {
            let is_a_rate = figure["variant"] != "fsync";
            figure["ratio"].is_object() && figure["rates"].is_object() == is_a_rate
        }),
        "{found:#}"
    );
    // Guests of either mode for each of the two blocks, and none of a block before: `report` shows the last run.
    let (run, _) = bench.ends(&["report", "--json"], 0);
    let run: Value = serde_json::from_str(&run).unwrap();
    let boots = run["guests"]["linux_guests"]["boots"].as_u64().unwrap();
    assert!(boots >= 4, "{}", run["guests"]);
    // What is made durable is not foretold.
    let foretold = found["foretold"].as_array().unwrap();
    assert_eq!(foretold.len(), figures.len() - 1, "{foretold:#?}");
    for row in foretold {
        assert!(["holds", "missed", "says-nothing"].contains(&row["outcome"].as_str().unwrap()), "{row}");
        assert!(titles.contains(&row["title"].as_str().unwrap()), "{row}");
    }
    bench.nothing_stays_behind();
}

#[test]
fn what_was_measured_before_ctrl_c_is_shown_and_gone_on_with() {
    let bench = with_modes(&[("one", ""), ("other", "")]);
    let words = ["one.toml", "other.toml", "--host", "--part", "service", "--runs", "20", "--json"];
    let child = bench.tollway(&modes(&words)).spawn().unwrap();
    bench.wait_for_trials(2);
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    let (out, _) = checked(&child.wait_with_output().unwrap(), 130);
    let found: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(found["modes"][1]["name"], "other");
    bench.nothing_stays_behind();
    let (out, _) = bench.ends(&["measure", "--resume", "--json"], 0);
    let found: Value = serde_json::from_str(&out).unwrap();
    let figures = found["comparison"]["figures"].as_array().unwrap();
    assert!(!figures.is_empty() && figures.iter().all(|figure| figure["ratio"].is_object()), "{found:#}");
}
