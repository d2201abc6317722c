//! Points of the options, and words of the figures.

use std::collections::BTreeMap;

use clap::Parser;
use tollway_core::{Domain, Value};
use tollway_lab::point;
use tollway_report::document::Span;

use super::document::{
    CrossoverDocument, ForetoldDocument, LatencyDocument, SkippedDocument, SweepDocument, SweptDocument,
};
use super::plan::Sweep;
use crate::args::words::{MOST_CONNECTIONS, MOST_REQUESTS};
use crate::args::{AllocServer, PingPong, TcpServer};
use crate::step::StepDocument;

#[derive(Parser)]
enum Line {
    PingPong(PingPong),
    AllocServer(AllocServer),
    TcpServer(TcpServer),
}

fn sweep(words: &str) -> (Sweep, crate::args::Repeats) {
    match Line::parse_from(["ipc"].into_iter().chain(words.split_whitespace())) {
        Line::PingPong(of) => (Sweep::ping_pong(&of), of.repeats),
        Line::AllocServer(of) => (Sweep::alloc_server(&of), of.repeats),
        Line::TcpServer(of) => (Sweep::tcp_server(&of), of.repeats),
    }
}

/// Each of these is a point of the path: its axes take every value that an option does.
fn points(words: &str) -> Vec<(String, String)> {
    let (sweep, repeats) = sweep(words);
    let request = sweep.request(&repeats);
    let named = point::named(&tollway_all::registry(), &request.selection).unwrap();
    named.into_iter().map(|p| (p.variant, p.departures.to_string())).collect()
}

#[test]
fn every_way_is_measured_at_every_step_on_one_core_and_on_two() {
    let all = points("ping-pong --concurrency 1,4 --cores 2,1");
    assert_eq!(all.len(), 3 * 2 * 2, "{all:?}");
    let asynchronous = points("ping-pong --style async --concurrency 256 --cores 2 --size 4096 --work 5000");
    assert_eq!(asynchronous, [("async".into(), "concurrency=256 size=4096 work=5000".into())]);
    let woken = points("ping-pong --style both --concurrency 1 --cores 2 --notice eventfd --matrix 30");
    assert_eq!(woken.len(), 3);
    assert!(woken.contains(&("async".into(), "matrix=30 notice=eventfd".into())), "{woken:?}");
}

#[test]
fn a_call_that_is_made_at_once_is_measured_once() {
    let all = points("alloc-server --concurrency 1..512 --cores 1,2");
    assert_eq!(all.iter().filter(|(variant, _)| variant == "memory-sync").count(), 1, "{all:?}");
    assert_eq!(all.iter().filter(|(variant, _)| variant == "memory-async").count(), 20, "{all:?}");
}

#[test]
fn linux_s_own_tcp_is_measured_where_it_is_asked_for() {
    let without = points("tcp-server --connections 1,128");
    let with = points("tcp-server --connections 1,128 --linux");
    assert_eq!((without.len(), with.len()), (3 * 2, 5 * 2), "{with:?}");
}

#[test]
fn an_option_takes_as_much_as_its_axis_and_no_more() {
    let registry = tollway_all::registry();
    let most = |variant: &str, axis: &str| {
        let axes = registry.path(crate::PATH).unwrap().variant(variant).unwrap().axes();
        match axes.into_iter().find(|of| of.name == axis).unwrap().domain {
            Domain::Whole(1, most) => most,
            other => panic!("{variant} {axis}: {other:?}"),
        }
    };
    // Of the others an option takes its axis' ends, and nothing beyond them.
    let takes =
        |words: &str| Line::try_parse_from(["ipc"].into_iter().chain(words.split_whitespace())).is_ok();
    for (application, variant, axis) in [
        ("ping-pong", "async", "size"),
        ("ping-pong", "async", "work"),
        ("ping-pong", "async", "matrix"),
        ("alloc-server", "memory-async", "pages"),
    ] {
        let axes = registry.path(crate::PATH).unwrap().variant(variant).unwrap().axes();
        let Domain::Whole(least, most) = axes.into_iter().find(|of| of.name == axis).unwrap().domain else {
            panic!("{axis} is no number")
        };
        let option = |value: u64| takes(&format!("{application} --{axis} {value}"));
        assert!(option(least) && option(most) && !option(most + 1), "{axis}: {least} to {most}");
        assert!(least == 0 || !option(least - 1), "{axis}: less than {least}");
    }
    for variant in ["slow-path", "fast-path", "async", "memory-async", "memory-server"] {
        assert_eq!(most(variant, "concurrency"), MOST_REQUESTS, "{variant}");
    }
    for variant in ["tcp-sync", "tcp-handoff", "tcp-async", "tcp-epoll", "tcp-io-uring"] {
        assert_eq!(most(variant, "connections"), MOST_CONNECTIONS, "{variant}");
    }
}

#[test]
fn every_default_is_a_point_of_the_path() {
    for words in ["ping-pong", "alloc-server", "tcp-server"] {
        assert!(!points(words).is_empty());
    }
    let (sweep, _) = sweep("ping-pong --size 4096");
    assert_eq!(sweep.places()[0].params.get("size"), Some(&Value::Int(4096)));
}

fn span(ns: f64) -> Span {
    Span { estimate: ns, lo: 0.9 * ns, hi: 1.1 * ns }
}

fn document() -> SweepDocument {
    let point = |variant: &str, ns: f64, counts: &[(&str, f64)]| SweptDocument {
        variant: variant.into(),
        synchronous: variant != "async",
        at_a_time: Some(8),
        cores: Some(1),
        time_ns: span(ns),
        per_second: span(1e9 / ns),
        latency_ns: Some(LatencyDocument { mean: 1e4, p50: 9e3, p99: Some(2e4), p999: None }),
        foretold: Some(ForetoldDocument {
            time_ns: span(2.0 * ns),
            measured_ns: Some(span(1.6 * ns)),
            model: "a sum".into(),
            outcome: Some("missed".into()),
        }),
        counts: counts.iter().map(|(name, n)| (name.to_string(), *n)).collect::<BTreeMap<_, _>>(),
        trials: 12,
    };
    SweepDocument {
        schema_version: 1,
        application: "ping-pong".into(),
        run: 7,
        seed: 1,
        interrupted: true,
        axis: "concurrency".into(),
        ladder: vec![1, 8],
        points: vec![
            point("slow-path", 4000.0, &[("client_switches_waiting", 1.0), ("server_switches_waiting", 1.0)]),
            point("async", 1000.0, &[("notices", 0.0001)]),
        ],
        crossovers: vec![CrossoverDocument {
            of: "async".into(),
            below: "slow-path".into(),
            cores: 1,
            measured: StepDocument { from: Some(8), earliest: Some(1), latest: None },
            foretold: Some(StepDocument { from: None, earliest: Some(8), latest: None }),
        }],
        skipped: vec![SkippedDocument {
            point: "ipc tcp-sync".into(),
            what: "network namespaces".into(),
            reason: "not permitted".into(),
            remedy: "run as root".into(),
        }],
        failed: Vec::new(),
        quiet_share: Some(0.25),
    }
}

#[test]
fn the_table_says_what_the_document_does() {
    let text = document().to_text(None);
    for part in [
        "on one core:",
        "slow-path",
        "4.00 µs",
        "[3.60 µs, 4.40 µs]",
        "1.00 M",
        "10.0 µs / 9.00 µs / 20.0 µs / –",
        // Off what it speaks of, which is the median, and not the mean that a request costs.
        "+25.0 % ✗",
        "< 0.001",
        "2.00",
        "on one core async is cheaper than slow-path from 8 [1, > 8]; foretold nowhere up to 8 [8, > 8]",
        "skipped: ipc tcp-sync: network namespaces: not permitted → run as root",
        "the machine was quiet in 25 % of the trials",
        "interrupted: these are the figures of what was measured by then, run 7 of the store; `tollway run --resume` goes on",
    ] {
        assert!(text.contains(part), "`{part}` is not in\n{text}");
    }
    assert!(!text.contains("on two cores") && !text.contains("says nothing"), "{text}");
    assert!(!text.contains("Little's law"), "nothing of that was counted\n{text}");
}

#[test]
fn throughput_and_latency_are_held_against_the_number_of_connections() {
    let mut document = document();
    let both = [("little_latencies", 980.0), ("little_connections", 1000.0)];
    document.points[1].counts.extend(both.map(|(name, count)| (name.to_string(), count)));
    let text = document.to_text(None);
    assert!(text.contains("is the number of connections within 2 % at every point (Little's law)"), "{text}");
}

#[test]
fn who_interrupts_the_pilots_is_told_that_there_is_no_figure() {
    let text = SweepDocument { points: Vec::new(), crossovers: Vec::new(), ..document() }.to_text(None);
    assert!(text.contains("interrupted before there was a figure") && text.contains("run 7"), "{text}");
    assert!(!text.contains("these are the figures"), "{text}");
}

#[test]
fn an_interval_of_two_blocks_that_differ_is_not_told_as_one() {
    let mut document = document();
    document.points[1].time_ns = Span { estimate: 6.3e3, lo: 6.8e-8, hi: 5.9e20 };
    let text = document.to_text(None);
    assert!(text.contains("6.30 µs") && !text.contains("0.000000068") && !text.contains("590000"), "{text}");
    assert_eq!(text.matches("says nothing").count(), 2, "in the table and in a note\n{text}");
    assert!(text.contains("more --runs"), "{text}");
}

/// "34.1 µs … foretold 1.69 µs, off −4.1 %": off the median of stretches, of which the row said nothing.
#[test]
fn a_row_has_the_figure_that_its_prediction_is_off() {
    let mut document = document();
    document.points.truncate(1);
    let point = &mut document.points[0];
    point.time_ns = span(34_100.0);
    let said = point.foretold.as_mut().unwrap();
    (said.time_ns, said.measured_ns) = (span(1690.0), Some(span(1762.0)));
    let text = document.to_text(None);
    let row = text.lines().find(|line| line.starts_with("slow-path")).unwrap();
    for part in ["34.1 µs", "1.69 µs", "1.76 µs", "-4.1 %"] {
        assert!(row.contains(part), "`{part}` is not in\n{text}");
    }
    assert!(text.contains("came to") && text.contains("median of stretches"), "{text}");
    // Where they are about the same, there is nothing to explain.
    document.points[0].foretold.as_mut().unwrap().measured_ns = Some(span(34_100.0));
    assert!(!document.to_text(None).contains("median of stretches"));
}
