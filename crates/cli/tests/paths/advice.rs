//! `tollway capture advise`, on cables of its own: what it says goes together, what it predicts was frozen before it was
//! tried, and what it cannot do it says.

use std::collections::BTreeSet;
use std::process::Command;

use crate::program::turn::turn;
use crate::program::{Bench, SHORT, checked};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tollway_core::Requirement;
use tollway_host::requirement::test_has;
use tollway_store::{RunId, RunState, Store};

/// Whether this machine lets us have a cable.
fn has_cables() -> bool {
    test_has(&[
        (Requirement::NetworkNamespaces, "netns"),
        (Requirement::PacketSockets, "packet"),
        (Requirement::Cores(2), "cores"),
    ])
}

/// Every figure below a value: its estimate is within its ends, which are not below 0.
fn figures_are_whole(value: &Value, figures: &mut usize) {
    if let (Some(estimate), Some(lo), Some(hi)) =
        (value["estimate"].as_f64(), value["lo"].as_f64(), value["hi"].as_f64())
    {
        *figures += 1;
        assert!(0.0 <= lo && lo <= estimate && estimate <= hi && estimate > 0.0, "{value}");
        return;
    }
    let below: Vec<&Value> = match value {
        Value::Object(fields) => fields.values().collect(),
        Value::Array(values) => values.iter().collect(),
        _ => Vec::new(),
    };
    below.into_iter().for_each(|value| figures_are_whole(value, figures));
}

fn names(value: &Value) -> BTreeSet<String> {
    value.as_object().unwrap().keys().cloned().collect()
}

#[test]
fn what_is_advised_is_measured_predicted_frozen_and_tried() {
    if !has_cables() {
        return;
    }
    let _turn = turn();
    let bench = Bench::with(SHORT);
    let arguments =
        ["capture", "advise", "--work", "1000", "--stall", "5", "--time", "12", "--apply", "--json"];
    let output = bench.tollway(&arguments).output().unwrap();
    // On a busy machine a prediction may miss: it is told, by 3 and by a word.
    let code = output.status.code().filter(|code| [0, 3].contains(code)).unwrap_or(0);
    let (out, _) = checked(&output, code);
    let document: Value = serde_json::from_str(&out).unwrap();
    let (schema, _) = bench.ends(&["generate", "schema", "advice"], 0);
    let schema: Value = serde_json::from_str(&schema).unwrap();
    assert_eq!(names(&schema["properties"]), names(&document));
    let mut figures = 0;
    figures_are_whole(&document, &mut figures);
    assert!(figures > 20, "{document}");

    let (advised, now) = (&document["advised"], &document["now"]);
    assert_ne!(advised["setup"]["source"], "xdp", "it takes frames away, and nobody allowed that");
    assert_eq!((&now["setup"]["source"], &now["setup"]["buffer"]), (&"recv".into(), &(256 << 10).into()));
    let estimate = |of: &Value, what: &str| of[what]["estimate"].as_f64().unwrap();
    for predicted in [advised, now] {
        let rate = estimate(predicted, "rate");
        let least = ["processor", "buffer", "sender"].map(|bound| estimate(predicted, bound));
        assert!((rate / least.into_iter().fold(f64::INFINITY, f64::min) - 1.0).abs() < 1e-9, "{predicted}");
        // Its upper end: where others have the processors the estimate itself may be too low.
        let most = predicted["cycles"]["hi"].as_f64().unwrap();
        assert!(most > 1000.0, "the application's work is in it: {predicted}");
    }
    // On a busy machine one way of reading a source may not be measured, while its other one is.
    let ways_of = |list: &str| -> BTreeSet<(&str, bool)> {
        let ways = document[list].as_array().unwrap().iter();
        ways.map(|way| (way["source"].as_str().unwrap(), way["immediate"].as_bool().unwrap())).collect()
    };
    let (sources, left_out) = (ways_of("sources"), ways_of("left_out"));
    assert!(sources.is_disjoint(&left_out), "{document}");
    let told: BTreeSet<&str> = sources.union(&left_out).map(|(source, _)| *source).collect();
    assert_eq!(told.len(), 5, "{told:?}");

    let applied = &document["applied"];
    let ways = applied["ways"].as_array().unwrap();
    assert_eq!(code == 3, ways.iter().any(|way| way["outcome"] == "missed"), "{applied}");
    for way in ways {
        let carried: Vec<f64> =
            way["rates"].as_array().unwrap().iter().map(|rate| rate["carried"].as_f64().unwrap()).collect();
        let most = carried.iter().copied().fold(0.0, f64::max);
        assert!(way["without_loss"].as_f64().is_none_or(|rate| rate <= most), "{way}");
    }

    let store = Store::open_read_only(bench.file("tollway.db")).unwrap();
    let runs = store.runs().unwrap();
    assert_eq!(runs.len(), 2);
    let run = RunId(applied["run"].as_i64().unwrap());
    let (points, trials) = (store.points(run).unwrap(), store.trials(run).unwrap());
    let first = trials.iter().map(|trial| trial.started).min().unwrap();
    // On a machine that is busy a point may fail before it is tried.
    let tried = points.iter().filter(|p| trials.iter().any(|trial| trial.point == p.id));
    for point in tried {
        let frozen = store.prediction(point.id).unwrap().expect("every point that is tried is predicted");
        assert!(frozen.made_at <= first && frozen.forecast.model.contains("no loss up to"), "{frozen:?}");
        assert_eq!(point.spec.params.get("work").unwrap().to_string(), "1000");
    }
    bench.nothing_stays_behind();
}

#[test]
fn called_off_it_keeps_what_was_measured() {
    if !has_cables() {
        return;
    }
    let bench = Bench::with(SHORT);
    let child = bench.tollway(&["capture", "advise"]).spawn().unwrap();
    bench.wait_for_trials(2);
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    let (out, err) = checked(&child.wait_with_output().unwrap(), 130);
    assert!(out.is_empty() && err.contains("run 1 of the store keeps"), "{out}\n{err}");
    let store = Store::open_read_only(bench.file("tollway.db")).unwrap();
    assert_eq!(store.runs().unwrap()[0].state, RunState::Interrupted);
    bench.nothing_stays_behind();
}

#[test]
fn what_would_be_done_is_told_and_not_done() {
    let bench = Bench::with(SHORT);
    let (out, _) = bench.ends(&["capture", "advise", "--dry-run", "--apply"], 0);
    for word in ["live-v3", "trials", "CAP_NET_RAW", "no interface of this machine is touched", "\nwrites "] {
        assert!(out.contains(word), "{word}: {out}");
    }
    let (out, _) = bench.ends(&["capture", "advise", "--dry-run", "--json"], 0);
    let plan: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(plan["schema_version"], 1);
    assert!(plan["seconds"].as_f64().unwrap() > 5.0);
    assert!(plan["writes"][0].as_str().unwrap().ends_with("tollway.db"), "{plan}");
    assert!(!bench.file("tollway.db").exists());
}

#[test]
fn what_cannot_be_advised_is_refused_with_the_remedy() {
    let bench = Bench::with(SHORT);
    for (arguments, says) in [
        (&["--rate", "10"][..], "there is nothing to advise at it"),
        (&["--now", "recv,3MiB"], "take the nearest of 64KiB"),
        (&["--now", "pcap"], "begin with a source"),
        (&["--size", "63"], "64..=1518"),
        (&["--stall", "2000"], "0..=1000"),
    ] {
        let (_, err) = bench.ends(&[&["capture", "advise"], arguments].concat(), 2);
        assert!(err.contains(says), "{arguments:?}: {err}");
    }
}

/// As nobody, without capabilities: it says what it lacks and what would help.
#[test]
fn without_privileges_it_says_what_would_help() {
    let bench = Bench::with(SHORT);
    let ours = env!("CARGO_BIN_EXE_tollway");
    let nobody = ["--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps=-all", ours];
    let mut command = Command::new("setpriv");
    bench.set_up(&mut command);
    let output = command.args(nobody).args(["capture", "advise"]).output();
    let Ok(output) = output else { return println!("skipped: no setpriv") };
    let err = String::from_utf8_lossy(&output.stderr);
    if !err.contains("tollway:") {
        return println!("skipped: setpriv cannot run the program as nobody: {err}");
    }
    let (_, err) = checked(&output, 1);
    assert!(err.contains("network namespaces") && err.contains("CAP_NET_ADMIN"), "{err}");
}
