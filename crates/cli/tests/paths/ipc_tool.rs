//! `tollway ipc`: sweeps and advice end to end, their documents, what they refuse, and what is left after Ctrl-C.

use std::collections::BTreeSet;
use std::process::{Child, Command};

use crate::eventually::eventually;
use crate::program::turn::turn;
use crate::program::{Bench, SHORT, checked, takes_interruptions};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tollway_core::Requirement;
use tollway_host::requirement::test_has;
use tollway_store::{RunId, Store};

const CORES: &[(Requirement, &str)] = &[(Requirement::Cores(2), "cores")];
const NETWORK: &[(Requirement, &str)] = &[
    (Requirement::Cores(2), "cores"),
    (Requirement::NetworkNamespaces, "network"),
    (Requirement::PacketSockets, "network"),
];

/// A document, by its schema.
fn document(bench: &Bench, arguments: &[&str], schema: &str) -> Value {
    let output = bench.tollway(&[&["ipc"], arguments, &["--json"]].concat()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(matches!(output.status.code(), Some(0 | 3)), "{said}");
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    let (text, _) = bench.ends(&["generate", "schema", schema], 0);
    let text: Value = serde_json::from_str(&text).unwrap();
    let names = |value: &Value| value.as_object().unwrap().keys().cloned().collect::<BTreeSet<_>>();
    assert_eq!(names(&text["properties"]), names(&document));
    assert_eq!(document["schema_version"], 1);
    document
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value}"))
}

fn points(document: &Value) -> &Vec<Value> {
    document["points"].as_array().unwrap()
}

#[test]
fn ping_pong_is_swept_and_what_was_measured_is_in_the_store() {
    let _turn = turn();
    if !test_has(CORES) {
        return;
    }
    let bench = Bench::with(SHORT);
    let few = ["ping-pong", "--concurrency", "1,4", "--runs", "3", "--time", "2", "--work", "1000"];
    let swept = document(&bench, &few, "ipc-sweep");
    assert_eq!((&swept["application"], &swept["ladder"]), (&"ping-pong".into(), &serde_json::json!([1, 4])));
    assert_eq!((points(&swept).len(), swept["failed"].as_array().unwrap().len()), (3 * 2 * 2, 0), "{swept}");
    for point in points(&swept) {
        let (time, rate) = (number(&point["time_ns"]["estimate"]), number(&point["per_second"]["estimate"]));
        assert!(time > 0.0 && (time * rate / 1e9 - 1.0).abs() < 1e-6, "{point}");
        assert!(number(&point["trials"]) >= 3.0, "{point}");
    }
    // A thousand cycles of work are in each; and what synchronous ways are held against is asynchronous.
    assert!(points(&swept).iter().all(|point| number(&point["time_ns"]["estimate"]) > 100.0), "{swept}");
    for crossover in swept["crossovers"].as_array().unwrap() {
        assert_eq!(crossover["of"], "async");
        assert_ne!(crossover["below"], "async");
    }
    let store = Store::open_read_only(bench.file("tollway.db")).unwrap();
    let run = RunId(swept["run"].as_i64().unwrap());
    let foretold: Vec<&Value> = points(&swept).iter().filter(|point| !point["foretold"].is_null()).collect();
    assert!(!foretold.is_empty(), "{swept}");
    for point in &foretold {
        assert!(number(&point["foretold"]["measured_ns"]["estimate"]) > 0.0, "{point}");
    }
    let frozen = store.points(run).unwrap().into_iter().filter(|p| store.prediction(p.id).unwrap().is_some());
    assert!(frozen.count() >= foretold.len());
    bench.nothing_stays_behind();
}

#[test]
fn memory_and_tcp_are_swept_or_said_to_be_skipped() {
    let _turn = turn();
    if !test_has(CORES) {
        return;
    }
    let bench = Bench::with(SHORT);
    let few = ["alloc-server", "--concurrency", "1,8", "--cores", "2", "--runs", "2", "--time", "2"];
    let swept = document(&bench, &few, "ipc-sweep");
    let once: Vec<&Value> = points(&swept).iter().filter(|p| p["variant"] == "memory-sync").collect();
    assert_eq!(once.len(), 1, "{swept}");
    assert!(once[0]["at_a_time"].is_null() && number(&once[0]["counts"]["kernel_entries"]) == 1.0, "{swept}");
    if !test_has(NETWORK) {
        return;
    }
    let few = ["tcp-server", "--connections", "2", "--cores", "2", "--runs", "2", "--time", "3"];
    let swept = document(&bench, &few, "ipc-sweep");
    assert!(points(&swept).iter().any(|point| point["variant"] == "tcp-async"), "{swept}");
    for point in points(&swept) {
        let latency = &point["latency_ns"];
        let beyond = ["p99", "p999"].map(|name| latency[name].as_f64().unwrap_or(f64::INFINITY));
        assert!(number(&latency["p50"]) <= beyond[0] && beyond[0] <= beyond[1], "{point}");
    }
    bench.nothing_stays_behind();
}

#[test]
fn advice_is_made_of_tolls_and_its_proof_was_foretold() {
    let _turn = turn();
    if !test_has(CORES) {
        return;
    }
    let bench = Bench::with(SHORT);
    let asked =
        ["advise", "--service", "1us", "--concurrency", "4", "--cores", "1", "--runs", "3", "--time", "2"];
    let (plan, _) = bench.ends(&[&["ipc"], &asked[..], &["--dry-run"]].concat(), 0);
    assert!(plan.contains("trials"), "{plan}");
    let first = document(&bench, &asked, "ipc-advice");
    assert_eq!((first["tolls"].as_array().unwrap().len(), &first["verified"]), (1, &Value::Null), "{first}");
    // Those of the store are as good, and cost nothing.
    let second = document(&bench, &[&asked[..], &["--rate", "1k"]].concat(), "ipc-advice");
    assert_eq!((&second["tolls"], number(&second["together"])), (&first["tolls"], 1.0), "{second}");
    let (_, err) = bench.ends(&[&["ipc"], &asked[..]].concat(), 0);
    assert!(!err.contains("measuring"), "{err}");
    let verified = document(&bench, &[&asked[..], &["--verify"]].concat(), "ipc-advice");
    // By the same tolls, in ticks of a clock whose rate each process finds out for itself.
    assert_eq!(verified["advised"]["variant"], first["advised"]["variant"]);
    let proof = &verified["verified"];
    assert!(!proof["checks"].as_array().unwrap().is_empty(), "{proof}");
    let store = Store::open_read_only(bench.file("tollway.db")).unwrap();
    let run = RunId(proof["run"].as_i64().unwrap());
    for point in store.points(run).unwrap() {
        let foretold = store.prediction(point.id).unwrap();
        let trials = store.trials(run).unwrap();
        let first = trials.iter().filter(|trial| trial.point == point.id).map(|trial| trial.started).min();
        if let (Some(foretold), Some(first)) = (&foretold, first) {
            assert!(foretold.made_at <= first, "{}", point.spec.title);
        }
        assert!(foretold.is_some(), "{} was not foretold", point.spec.title);
    }
    // Nobody has less than the cheapest of what was foretold.
    let cheapest = number(&first["advised"]["time_ns"]["estimate"]);
    let at_4 = first["foretold"].as_array().unwrap().iter().filter(|said| said["concurrency"] == 4);
    for said in at_4.filter(|said| !said["way"].as_str().unwrap().contains("sleeps")) {
        assert!(number(&said["time_ns"]["estimate"]) >= cheapest, "{said}");
    }
    bench.nothing_stays_behind();
}

#[test]
fn what_cannot_be_is_refused_with_place_and_remedy() {
    let bench = Bench::with(SHORT);
    let refused: [(&[&str], &[&str]); 9] = [
        (&["ping-pong", "--concurrency", "0"], &["--concurrency", "from 1 to 1024"]),
        (&["ping-pong", "--concurrency", "1000000000"], &["--concurrency", "1..32"]),
        (&["ping-pong", "--size", "0"], &["--size", "from 8 to 4096"]),
        (&["ping-pong", "--cores", "3"], &["--cores", "neither 1 nor 2"]),
        (&["ping-pong", "--style", "telepathy"], &["telepathy", "sync", "async", "both"]),
        (&["tcp-server", "--connections", "257"], &["--connections", "from 1 to 256"]),
        (&["advise", "--service", "2us", "--concurrency", "0", "--cores", "1"], &["from 1 to 1024"]),
        (&["advise", "--service", "5", "--concurrency", "1", "--cores", "1"], &["`5` is no time", "2.5us"]),
        (
            &["advise", "--service", "1ms", "--concurrency", "1", "--cores", "2", "--rate", "2k"],
            &["--rate 2000", "1000 a second", "ask for fewer"],
        ),
    ];
    for (arguments, says) in refused {
        let (_, err) = bench.ends(&[&["ipc"], arguments].concat(), 2);
        for word in says {
            assert!(err.contains(word), "{arguments:?} does not say `{word}`:\n{err}");
        }
    }
    assert!(!bench.file("tollway.db").exists(), "nothing was measured");
}

#[test]
fn a_time_that_cannot_be_kept_is_told_with_the_least() {
    let bench = Bench::with(SHORT);
    let sweep = |seconds| ["ipc", "ping-pong", "--concurrency", "1..4", "--dry-run", "--time", seconds];
    let (_, err) = bench.ends(&sweep("0.1"), 0);
    assert!(err.contains("0.1 s cannot be kept: the least is about"), "{err}");
    let (_, err) = bench.ends(&sweep("10000"), 0);
    assert!(!err.contains("cannot be kept"), "{err}");
}

/// Without privileges, whoever runs the tests: nothing of the application can be had.
#[test]
fn who_is_strict_is_told_by_an_exit_code_that_everything_is_lacking() {
    let bench = Bench::with(SHORT);
    let ours = env!("CARGO_BIN_EXE_tollway");
    let sweep = ["ipc", "tcp-server", "--connections", "1", "--runs", "2"];
    let run = |more: &[&str]| {
        let mut command = Command::new("setpriv");
        bench.set_up(&mut command);
        command.args(["--bounding-set=-all", "--inh-caps=-all", ours]).args(sweep).args(more);
        command.output()
    };
    let Ok(output) = run(&[]) else { return println!("skipped: no setpriv") };
    if String::from_utf8_lossy(&output.stderr).starts_with("setpriv:") {
        return println!("skipped: setpriv may not take privileges away: {output:?}");
    }
    let (out, err) = checked(&output, 1);
    assert!(out.is_empty() && err.contains("CAP_"), "{out}\n{err}");
    assert!(!bench.file("tollway.db").exists(), "nothing was measured");
    let (out, err) = checked(&run(&["--strict"]).unwrap(), 4);
    assert!(out.contains("skipped: ") && out.contains("CAP_"), "{out}\n{err}");
    let store = Store::open_read_only(bench.file("tollway.db")).unwrap();
    assert!(store.trials(RunId(1)).unwrap().is_empty(), "tolls of what cannot be had are of no use\n{err}");
}

/// On one processor, whatever the machine has: what is lacking is told, and not a toll that there is none of therefore.
#[test]
fn who_asks_for_two_cores_and_has_one_is_told_so() {
    let bench = Bench::with(SHORT);
    let first = tollway_host::cpu::allowed_cpus().unwrap()[0].to_string();
    for application in [
        &["ping-pong", "--cores", "2"][..],
        &["advise", "--service", "0", "--concurrency", "1", "--cores", "2"],
    ] {
        let mut command = Command::new("taskset");
        bench.set_up(&mut command);
        command.args(["--cpu-list", &first, env!("CARGO_BIN_EXE_tollway"), "ipc"]).args(application);
        let Ok(output) = command.output() else { return println!("skipped: no taskset") };
        let (out, err) = checked(&output, 1);
        assert!(out.is_empty() && err.contains("2 processors") && !err.contains("toll "), "{out}\n{err}");
        assert!(!err.contains("measuring"), "{err}");
    }
}

/// A hundred channels want more descriptors than a shell may allow: as many as may be had are taken, and where these are too few that is told.
#[test]
fn who_may_have_few_descriptors_is_told_so() {
    let _turn = turn();
    let bench = Bench::with(SHORT);
    let sweep = |limit: &str, of: &str| {
        let mut command = Command::new("sh");
        bench.set_up(&mut command);
        let words = format!("ipc {of} --style sync --cores 1 --runs 2 --time 1 --json");
        let ours = env!("CARGO_BIN_EXE_tollway");
        command.args(["-c", &format!("{limit} && exec \"$0\" {words}"), ours]);
        let (out, _) = checked(&command.output().unwrap(), 0);
        serde_json::from_str::<Value>(&out).unwrap()
    };
    let requests = "ping-pong --concurrency 100";
    let swept = sweep("ulimit -Sn 200", requests);
    assert_eq!((points(&swept).len(), swept["skipped"].as_array().unwrap().len()), (2, 0), "{swept}");
    let swept = sweep("ulimit -n 200", requests);
    // The slow path has one for each of its channels, the fast path three.
    assert_eq!(points(&swept).len(), 1, "{swept}");
    let skipped = &swept["skipped"][0];
    assert!(skipped["point"].as_str().unwrap().contains("fast-path"), "{swept}");
    assert!(
        skipped["what"] == "332 descriptors of a process"
            && skipped["reason"].to_string().contains("may have 200")
    );
    assert!(skipped["remedy"].to_string().contains("ulimit"), "{swept}");
    if test_has(NETWORK) {
        // A network stack keeps each of its links besides.
        let swept = sweep("ulimit -n 130", "tcp-server --connections 32");
        let skipped = &swept["skipped"][0];
        assert!(skipped["point"].as_str().unwrap().contains("tcp-handoff"), "{swept}");
        assert_eq!(skipped["what"], "160 descriptors of a process", "{swept}");
    }
    bench.nothing_stays_behind();
}

/// SIGINT for it.
fn interrupt(child: &Child) {
    kill_process(Pid::from_child(child), Signal::INT).unwrap();
}

#[test]
fn after_an_interruption_there_is_what_was_measured() {
    let _turn = turn();
    let bench = Bench::with(SHORT);
    let long = [
        "ipc",
        "ping-pong",
        "--style",
        "sync",
        "--cores",
        "1",
        "--concurrency",
        "1",
        "--runs",
        "1000",
        "--json",
    ];
    let child = bench.tollway(&long).spawn().unwrap();
    eventually("it begins", || takes_interruptions(child.id()));
    bench.wait_for_trials(60);
    interrupt(&child);
    let (out, _) = checked(&child.wait_with_output().unwrap(), 130);
    let swept: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(swept["interrupted"], true, "{swept}");
    bench.nothing_stays_behind();
    let store = Store::open_read_only(bench.file("tollway.db")).unwrap();
    assert!(!store.trials(RunId(swept["run"].as_i64().unwrap())).unwrap().is_empty());
}
