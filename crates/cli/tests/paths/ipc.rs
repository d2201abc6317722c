//! The path `ipc` through the laboratory: client and server as processes, on one core and on two, foretold before they are measured, and billed.

use crate::filter::forbid;
use crate::program::{Bench, checked};
use crate::quiet::is_quiet;
use serde_json::Value;
use tollway_core::Requirement;
use tollway_host::requirement::test_has;

const CORES: &[(Requirement, &str)] = &[(Requirement::Cores(2), "cores")];

fn preset(cases: &str) -> String {
    format!(
        "[preset]\nname = \"short\"\npath = \"ipc\"\n\
         [trial]\nwindow_ms = 20.0\nwarmup_ms = 4.0\nruns = 3\nrepeats = 1\n{cases}"
    )
}

fn measured(cases: &str) -> Vec<Value> {
    let bench = Bench::with(&preset(cases));
    let (out, _) = bench.ends(&["measure", "--preset-file", "short.toml", "--json"], 0);
    let document: Value = serde_json::from_str(&out).unwrap();
    document["points"].as_array().unwrap().clone()
}

/// What was counted per operation.
fn per_operation(point: &Value, counter: &str) -> f64 {
    let count = |name: &str| point["counters"][name].as_f64().unwrap_or_else(|| panic!("{name}: {point}"));
    count(counter) / count("operations")
}

/// Every way on one core: a prediction frozen before the first trial, by tolls that were measured first; the trials all verified.
#[test]
fn every_way_is_foretold_and_then_measured() {
    let points = measured(
        "[[case]]\nvariant = [\"slow-path\", \"fast-path\", \"ring\", \"async\"]\nconcurrency = [1, 8]\n\
         cores = \"one\"\nmatrix = 10\n",
    );
    let whole = points.iter().filter(|point| point["toll"].is_null()).collect::<Vec<_>>();
    assert_eq!(whole.len(), 8);
    for point in whole {
        assert_eq!((&point["state"], &point["trials"]), (&"done".into(), &3.into()), "{point}");
        let prediction = &point["prediction"];
        assert!(prediction["ns"]["estimate"].as_f64().unwrap() > 0.0, "{point}");
        let from = prediction["from"].as_array().unwrap();
        assert!(from.contains(&"matrix-product/size=10".into()), "{prediction}");
        for toll in from {
            assert!(points.iter().any(|point| point["toll"] == *toll), "{toll} was not measured");
        }
        assert_eq!(per_operation(point, "served"), 1.0);
    }
}

/// Both ends of rings on one core find something to do whenever they run, and wake nobody; who sleeps at once is woken each time. So it is foretold.
#[test]
fn notices_are_foretold_and_counted() {
    let points = measured(
        "[[case]]\nvariant = \"async\"\nconcurrency = [1, 16]\ncores = \"one\"\npatience = [\"learnt\", \"sleep\"]\n",
    );
    for point in points.iter().filter(|point| point["variant"] == "async") {
        let foretold = point["prediction"]["counts"]["notices"].as_f64().unwrap_or_else(|| panic!("{point}"));
        let (counted, requests) =
            (per_operation(point, "notices"), point["params"]["concurrency"].as_f64().unwrap());
        if point["params"]["patience"] == "sleep" {
            assert_eq!(foretold, 2.0 / requests, "{point}");
            assert!(counted > 0.2 / requests, "{point}");
        } else {
            assert_eq!(foretold, 0.0, "{point}");
            // But for ends that are displaced while they give way, and for the last request: where others leave the core to both there are many requests.
            assert!(counted < 0.5 || !is_quiet(), "{point}");
        }
    }
}

/// A client and a server on two cores, and what nobody's processor has: a notice by user interrupts is skipped with its reason, or refused with one.
#[test]
fn two_cores_work_and_what_is_not_there_is_skipped() {
    if !test_has(CORES) {
        return;
    }
    let points = measured(
        "[[case]]\nvariant = \"ring\"\ncores = \"two\"\nnotice = [\"futex\", \"eventfd\"]\n\
         [[case]]\nvariant = \"async\"\nnotice = \"user-interrupt\"\n",
    );
    for point in points.iter().filter(|point| point["variant"] == "ring") {
        assert_eq!((&point["state"], &point["trials"]), (&"done".into(), &3.into()), "{point}");
        assert!(point["prediction"]["counts"].is_object());
    }
    let point = points.iter().find(|point| point["variant"] == "async").unwrap();
    let reason = if point["state"] == "skipped" { &point["skipped"]["what"] } else { &point["error"] };
    assert!(reason.to_string().contains("user"), "{point}");
}

/// The TCP server, by each way between stack and application, from what the stack takes by itself. A prediction of its pace is no curve of those who share
/// something: the price list has its point.
#[test]
fn a_tcp_server_is_foretold_and_then_measured() {
    const NETWORK: &[(Requirement, &str)] = &[
        (Requirement::Cores(2), "cores"),
        (Requirement::NetworkNamespaces, "netns"),
        (Requirement::PacketSockets, "packet"),
    ];
    if !test_has(NETWORK) {
        return;
    }
    let bench = Bench::with(&preset(
        "[[case]]\nvariant = [\"tcp-async\", \"tcp-sync\", \"tcp-handoff\"]\nconnections = [1, 6]\n\
         cores = [\"one\", \"two\"]\n",
    ));
    let (out, _) = bench.ends(&["measure", "--preset-file", "short.toml", "--json"], 0);
    let document: Value = serde_json::from_str(&out).unwrap();
    let points = document["points"].as_array().unwrap();
    let whole = points.iter().filter(|point| point["toll"].is_null()).collect::<Vec<_>>();
    assert_eq!(whole.len(), 12);
    for point in whole {
        assert_eq!((&point["state"], &point["trials"]), (&"done".into(), &3.into()), "{point}");
        let (prediction, params) = (&point["prediction"], &point["params"]);
        if point["variant"] == "tcp-handoff" && params["cores"] == "two" && params["connections"] != 1 {
            assert!(prediction.is_null(), "as of the fast path, nothing is foretold: {prediction}");
            continue;
        }
        assert_eq!(prediction["of"], "pace", "{point}");
        let from = prediction["from"].as_array().unwrap();
        assert!(from.iter().any(|toll| toll.as_str().unwrap().starts_with("stack-request/")), "{prediction}");
        for toll in from {
            assert!(points.iter().any(|point| point["toll"] == *toll), "{toll} was not measured");
        }
        assert!(prediction["measured"].is_object() && prediction["grade"].is_object(), "{point}");
    }
    let (listed, _) = bench.ends(&["report"], 0);
    for way in ["tcp-async", "tcp-sync", "tcp-handoff"] {
        assert!(listed.contains(way), "{way}: {listed}");
    }
}

/// A bill has the gates of a round trip with how often each was passed, and says what is left.
#[test]
fn a_round_trip_has_a_bill() {
    let bench = Bench::with(&preset(""));
    let (out, err) =
        bench.ends(&["bill", "ipc", "--variant", "async", "--runs", "3", "cores=one", "work=20000"], 0);
    for part in
        ["request and reply", "two switches by giving way", "two sleeps and wake-ups", "work", "unexplained"]
    {
        assert!(out.contains(part), "{part}: {out}{err}");
    }
}

/// A run that foretells has measured all that its bills are made of, though not at every depth.
#[test]
fn bills_of_what_was_foretold_are_whole() {
    let bench = Bench::with(&preset(
        "[[case]]\nvariant = [\"slow-path\", \"ring\", \"async\"]\nconcurrency = [2, 5]\ncores = \"one\"\n",
    ));
    let (out, _) = bench.ends(&["measure", "--preset-file", "short.toml", "--json"], 0);
    let document: Value = serde_json::from_str(&out).unwrap();
    let bills = document["bills"].as_array().unwrap();
    assert_eq!(bills.len(), 6);
    for bill in bills {
        for gate in bill["gates"].as_array().unwrap() {
            assert!(gate["unknown"].is_null() && gate["cost"].is_object(), "{bill}");
        }
    }
}

/// Memory by calls, by io_uring and by a server; entries of the kernel are counted.
#[test]
fn memory_is_taken_and_given_back_by_each_way() {
    let points = measured(
        "[[case]]\nvariant = \"memory-sync\"\n\
         [[case]]\nvariant = [\"memory-async\", \"memory-server\"]\nconcurrency = [1, 32]\ncores = \"one\"\n",
    );
    for point in points.iter().filter(|point| point["toll"].is_null() && point["state"] != "skipped") {
        assert_eq!((&point["state"], &point["trials"]), (&"done".into(), &3.into()), "{point}");
        match point["variant"].as_str() {
            Some("memory-sync") => assert_eq!(per_operation(point, "kernel_entries"), 1.0),
            Some("memory-async") => assert!(per_operation(point, "kernel_entries") > 0.0, "{point}"),
            _ => assert_eq!(per_operation(point, "served"), 1.0),
        }
    }
}

/// Where a sandbox forbids io_uring, or the kernel has none, what needs it is skipped with the reason and what would help; the rest is measured.
#[test]
fn without_io_uring_its_points_are_skipped() {
    for errno in [libc::EPERM, libc::ENOSYS] {
        let bench = Bench::with(&preset(
            "[[case]]\nvariant = [\"memory-sync\", \"memory-async\", \"tcp-io-uring\"]\n",
        ));
        let mut command = bench.tollway(&["measure", "--preset-file", "short.toml", "--json"]);
        forbid(&mut command, &[libc::SYS_io_uring_setup], errno);
        let (out, _) = checked(&command.output().unwrap(), 0);
        let document: Value = serde_json::from_str(&out).unwrap();
        let points = document["points"].as_array().unwrap();
        let of = |variant: &str| points.iter().find(|point| point["variant"] == variant).unwrap();
        assert_eq!(of("memory-sync")["state"], "done", "{out}");
        for variant in ["memory-async", "tcp-io-uring"] {
            let point = of(variant);
            assert_eq!(point["state"], "skipped", "{point}");
            let skipped = &point["skipped"];
            assert!(skipped["reason"].to_string().contains(&format!("os error {errno}")), "{skipped}");
            assert!(
                skipped["remedy"]
                    .as_str()
                    .is_some_and(|remedy| remedy.contains("io_uring") || remedy.contains("IO_URING")),
                "{skipped}"
            );
        }
    }
}
