//! `tollway fit`: what it answers, and what it says to what it cannot use.

use std::fmt::Write;
use std::fs;

use crate::program::{Bench, SHORT};
use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};
use serde_json::Value;

/// A queue of one server: Poisson arrivals at 8000/s, services from 50 µs to 150 µs, two classes.
fn trace(customers: u32) -> String {
    let mut generator = Xoshiro256PlusPlus::seed_from_u64(4);
    let mut text = String::from("arrival_us,start_us,end_us,class\n");
    let (mut arrival, mut free) = (0.0, 0.0_f64);
    for _ in 0..customers {
        arrival += -125.0 * generator.random::<f64>().ln();
        let start = free.max(arrival);
        free = start + 50.0 + 100.0 * generator.random::<f64>();
        let class = if generator.random::<f64>() < 0.25 { "write" } else { "read" };
        writeln!(text, "{arrival:.3},{start:.3},{free:.3},{class}").unwrap();
    }
    text
}

fn bench() -> Bench {
    let bench = Bench::with(SHORT);
    fs::write(bench.file("trace.csv"), trace(4000)).unwrap();
    bench
}

fn json(bench: &Bench, arguments: &[&str]) -> Value {
    serde_json::from_str(&bench.ends(&[arguments, &["--json"]].concat(), 0).0).unwrap()
}

#[test]
fn a_trace_is_told_as_it_was_read_over() {
    let (text, _) = bench().ends(&["fit", "trace.csv"], 0);
    insta::assert_snapshot!("fit", text);
}

#[test]
fn exponential_services_are_rejected_and_the_exit_code_says_so() {
    let bench = bench();
    let (text, _) = bench.ends(&["fit", "trace.csv", "--model", "mm1"], 3);
    assert!(text.contains("rejected: service cv² 0.08"), "{text}");
    bench.ends(&["fit", "trace.csv", "--model", "mg1"], 0);
    let (_, told) = bench.ends(&["fit", "trace.csv", "--model", "mmc"], 2);
    assert!(told.contains("there is no verdict on `mmc`") && told.contains("mm1"), "{told}");
}

#[test]
fn the_command_that_it_ends_with_runs() {
    let bench = bench();
    let document = json(&bench, &["fit", "trace.csv"]);
    let command = document["command"].as_str().unwrap();
    assert!(command.starts_with("tollway model mg1 lambda="), "{command}");
    let words: Vec<String> =
        command.split("service='").map(|part| part.trim_end_matches('\'').into()).collect();
    let mut arguments: Vec<&str> = words[0].split_whitespace().skip(1).collect();
    let service = format!("service={}", words[1]);
    arguments.push(&service);
    bench.ends(&arguments, 0);
}

#[test]
fn the_document_has_flat_names_its_schema_and_the_seeds_promise() {
    let bench = bench();
    let document = json(&bench, &["fit", "trace.csv"]);
    assert_eq!(document["schema_version"], 1);
    let lambda = &document["estimates"]["lambda"];
    let within = |name: &str, truth: f64| {
        let figure = &document["estimates"][name];
        let (lo, hi) = (figure["lo"].as_f64().unwrap(), figure["hi"].as_f64().unwrap());
        assert!(lo < truth && truth < hi, "{name}: {figure}");
    };
    assert_eq!(lambda["unit"], "per-second");
    within("lambda", 8000.0);
    within("service.mean", 100e-6);
    within("service.scv", 1.0 / 12.0);
    within("class.read.share", 0.75);
    assert_eq!(document, json(&bench, &["fit", "trace.csv"]));
    let schema = json(&bench, &["generate", "schema", "fit"]);
    for known in schema["properties"].as_object().unwrap().keys() {
        assert!(document.get(known).is_some(), "{known} is in the schema and not in the document");
    }
    assert_eq!(schema["properties"].as_object().unwrap().len(), document.as_object().unwrap().len());
}

#[test]
fn counters_do_without_a_trace() {
    let bench = bench();
    let (text, _) = bench.ends(&["fit", "--arrivals", "40000", "--seconds", "10", "--busy", "8"], 0);
    assert!(text.contains("tollway model mm1 lambda=4000/s mu=5000/s"), "{text}");
    bench.ends(&["fit"], 2);
    bench.ends(&["fit", "trace.csv", "--arrivals", "1", "--seconds", "1"], 2);
    bench.ends(&["fit", "--arrivals", "1"], 2);
    let (_, told) = bench.ends(&["fit", "--arrivals", "10", "--seconds", "1", "--busy", "2"], 2);
    assert!(told.contains("busy: 2 s are more than the 1 s"), "{told}");
}

#[test]
fn what_cannot_be_read_names_file_line_column_and_remedy() {
    let bench = bench();
    for (content, says) in [
        ("", "bad.csv: trace: it is empty; give a line for each customer"),
        ("arrival\n1\n", "bad.csv: trace: it has one customer; give two at least"),
        ("arrival,end\n1,2\n2,x\n", "bad.csv: line 3, column end: `x` is no number; write a finite number"),
        ("service\n0\n0\n", "bad.csv: trace: no time in it is above zero; check the columns"),
        ("3\n1\n2\n", "say what they are: --columns gap"),
    ] {
        fs::write(bench.file("bad.csv"), content).unwrap();
        let (_, told) = bench.ends(&["fit", "bad.csv"], 2);
        assert!(told.contains(says), "{content:?}: {told}");
    }
    let (_, told) = bench.ends(&["fit", "nowhere.csv"], 2);
    assert!(told.contains("nowhere.csv: ") && told.contains("name a file"), "{told}");
    fs::write(bench.file("hostile.csv"), "arrival,\u{1b}[2Jx\n1,a\n2,b\n3,c\n").unwrap();
    let (text, _) = bench.ends(&["fit", "hostile.csv"], 0);
    assert!(!text.contains('\u{1b}'), "{text:?}");
    fs::write(bench.file("hostile.csv"), "arrival,\u{1b}[2Jx,end\n1,a,\u{1b}[2J\n").unwrap();
    let (_, told) = bench.ends(&["fit", "hostile.csv"], 2);
    assert!(!told.contains('\u{1b}'), "{told:?}");
}

/// A queue whose server sleeps when it has nothing to do, and takes 12 µs to wake: constant services of 20 µs.
fn sleepy(customers: u32, rate: f64, seed: u64) -> String {
    let mut generator = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut text = String::from("arrival_us,start_us,end_us\n");
    let (mut arrival, mut free) = (0.0, 0.0_f64);
    for _ in 0..customers {
        arrival += -1e6 / rate * generator.random::<f64>().ln();
        let start = if arrival >= free { arrival + 12.0 } else { free };
        free = start + 20.0;
        writeln!(text, "{arrival:.3},{start:.3},{free:.3}").unwrap();
    }
    text
}

#[test]
fn a_frozen_prediction_is_held_against_another_trace() {
    let bench = Bench::with(SHORT);
    fs::write(bench.file("first.csv"), sleepy(20_000, 8000.0, 1)).unwrap();
    fs::write(bench.file("second.csv"), sleepy(50_000, 30_000.0, 2)).unwrap();
    // Who leaves out what waking takes predicts too little; the model that has it is left.
    let fitted = json(&bench, &["fit", "first.csv"]);
    let verdict = |name: &str| {
        fitted["models"].as_array().unwrap().iter().find(|m| m["model"] == name).unwrap()["rejected"] == true
    };
    assert!(verdict("mm1") && verdict("md1") && verdict("mg1") && !verdict("mg1-setup"), "{fitted}");
    assert!((fitted["estimates"]["setup.mean"]["value"].as_f64().unwrap() / 12e-6 - 1.0).abs() < 1e-6);
    for (model, parameters, code) in [
        ("mg1-setup", &["lambda=30k/s", "service=constant(20us)", "setup=constant(12us)"][..], 0),
        ("md1", &["lambda=30k/s", "service=20us"][..], 3),
    ] {
        let (frozen, _) = bench.ends(&[&["model", model][..], parameters, &["--json"]].concat(), 0);
        fs::write(bench.file("frozen.json"), frozen).unwrap();
        let (text, _) =
            bench.ends(&["fit", "second.csv", "--against", "frozen.json", "--tolerance", "3"], code);
        assert_eq!(text.contains("does not hold"), code == 3, "{text}");
    }
    let (_, error) = bench.ends(&["fit", "-", "--against", "-"], 2);
    assert!(error.contains("one of them as a file"), "{error}");
    for (content, told) in [("{}", "missing field"), ("", "EOF"), ("[1]", "invalid")] {
        fs::write(bench.file("frozen.json"), content).unwrap();
        let (_, error) = bench.ends(&["fit", "second.csv", "--against", "frozen.json"], 2);
        assert!(error.contains(told) && error.contains("tollway model NAME"), "{error}");
    }
}

#[test]
fn times_as_floating_point_prints_them_are_constant_all_the_same() {
    let bench = Bench::with(SHORT);
    for epoch in [0.0, 1.7e9] {
        let mut generator = Xoshiro256PlusPlus::seed_from_u64(9);
        let mut text = String::from("arrival,start,end\n");
        let (mut arrival, mut free) = (epoch, 0.0_f64);
        for _ in 0..5000 {
            arrival += -125e-6 * generator.random::<f64>().ln();
            let start = free.max(arrival);
            free = start + 70e-6;
            writeln!(text, "{arrival},{start},{free}").unwrap();
        }
        fs::write(bench.file("constant.csv"), text).unwrap();
        bench.ends(&["fit", "constant.csv", "--model", "md1"], 0);
        bench.ends(&["fit", "constant.csv", "--model", "mm1"], 3);
    }
}

#[test]
fn a_model_without_a_steady_state_is_not_offered() {
    let bench = Bench::with(SHORT);
    let mut generator = Xoshiro256PlusPlus::seed_from_u64(2);
    let mut text = String::from("gap_us,service_us\n");
    for _ in 0..2000 {
        let [gap, service] = [100.0, 120.0].map(|mean| -mean * generator.random::<f64>().ln());
        writeln!(text, "{gap:.3},{service:.3}").unwrap();
    }
    fs::write(bench.file("over.csv"), text).unwrap();
    let (told, _) = bench.ends(&["fit", "over.csv"], 0);
    assert!(!told.contains("the nearest: "), "{told}");
    assert!(told.contains("more comes than can be served, so the queue grows"), "{told}");
    let document = json(&bench, &["fit", "over.csv"]);
    assert!(document["models"].as_array().unwrap().iter().all(|m| m["command"].is_null()), "{document}");
    let command = document["command"].as_str().unwrap();
    assert!(told.contains(command), "{told}");
    bench.ends(&command.split_whitespace().skip(1).collect::<Vec<_>>(), 0);
}

/// An M/M/1 queue whose completions are told eight at a time, or when the first has been held for 300 µs.
#[test]
fn how_completions_are_told_is_asked_of_the_model_and_held_against_the_delays() {
    let bench = Bench::with(SHORT);
    let mut generator = Xoshiro256PlusPlus::seed_from_u64(6);
    let mut exponential = |mean: f64| -mean * generator.random::<f64>().ln();
    let (mut arrival, mut free) = (0.0, 0.0_f64);
    let customers: Vec<[f64; 3]> = (0..8000)
        .map(|_| {
            arrival += exponential(50.0);
            let start = free.max(arrival);
            free = start + exponential(30.0);
            [arrival, start, free]
        })
        .collect();
    let mut text = String::from("arrival_us,start_us,end_us,delivered_us");
    let mut first = 0;
    while first + 8 <= customers.len() {
        let told = customers[first + 7][2].min(customers[first][2] + 300.0);
        let held = customers[first..].iter().take_while(|c| c[2] <= told).count();
        for [arrival, start, end] in &customers[first..first + held] {
            write!(text, "\n{arrival:.3},{start:.3},{end:.3},{told:.3}").unwrap();
        }
        first += held;
    }
    fs::write(bench.file("told.csv"), text).unwrap();
    let document = json(&bench, &["fit", "told.csv"]);
    let delivery = &document["delivery"];
    assert_eq!((delivery["model"].as_str(), delivery["rejected"].as_bool()), (Some("coalesce"), Some(false)));
    assert!(delivery["mean_off"].as_f64().unwrap().abs() < 0.03, "{delivery}");
    assert!(delivery["p99_off"].as_f64().unwrap().abs() < 0.03, "{delivery}");
    let found = &document["coalescing"];
    let within = |name: &str, truth: f64| {
        let end = |end: &str| found[&format!("{name}_{end}")].as_f64().unwrap();
        assert!(end("lo") <= truth && truth <= end("hi"), "{name}: {found}");
    };
    assert_eq!(found["count"], 8);
    within("timer", 300e-6);
    let command = delivery["command"].as_str().unwrap();
    assert!(command.ends_with(" count=8 timer=300us"), "{command}");
    let asked: Vec<&str> = command.split_whitespace().skip(1).chain(["--json"]).collect();
    let answer: Value = serde_json::from_str(&bench.ends(&asked, 0).0).unwrap();
    let figures = &answer["points"][0]["figures"];
    within("rate", figures["interrupts.rate"].as_f64().unwrap());
    within("batch_mean", figures["batch.mean"].as_f64().unwrap());
    let (told, _) = bench.ends(&["fit", "told.csv"], 0);
    assert!(told.contains(&format!("how completions are told: {command}\n")), "{told}");
}

#[test]
fn two_customers_are_against_no_model() {
    let bench = Bench::with(SHORT);
    fs::write(bench.file("two.csv"), "arrival,start,end\n0,0,1\n2,2,3\n").unwrap();
    let document = json(&bench, &["fit", "two.csv"]);
    assert!(document["models"].as_array().unwrap().iter().all(|m| m["rejected"] == false), "{document}");
    assert_eq!(document["notes"][0], "fewer than 10 values rule nothing out");
}

/// A queue of one server in milliseconds, whose clock goes back once by 300 s.
#[test]
fn a_clock_that_was_set_back_is_told_of_and_no_figure_is_across() {
    let bench = Bench::with(SHORT);
    let mut generator = Xoshiro256PlusPlus::seed_from_u64(11);
    let mut exponential = |mean: f64| -mean * generator.random::<f64>().ln();
    let mut text = String::from("arrival,start,end\n");
    let (mut arrival, mut free) = (50_000.0, 0.0_f64);
    let mut by = 0.0;
    for i in 0..500 {
        let gap = exponential(2.0);
        arrival += gap;
        by = if i == 250 { 300.0 - gap } else { by };
        let start = free.max(arrival);
        free = start + exponential(0.5);
        let back = if i < 250 { 0.0 } else { 300.0 };
        writeln!(text, "{:.3},{:.3},{:.3}", arrival - back, start - back, free - back).unwrap();
    }
    fs::write(bench.file("back.csv"), text).unwrap();
    let (told, _) = bench.ends(&["fit", "back.csv"], 0);
    assert!(told.contains("· one server"), "{told}");
    let (_, rest) = told.split_once("line 252: the clock goes back there, by ").expect(&told);
    let (seconds, _) = rest.split_once(" s and the time that passed").expect(rest);
    assert!((seconds.parse::<f64>().unwrap() / by - 1.0).abs() < 0.005, "{seconds} is not {by}");
    let document = json(&bench, &["fit", "back.csv"]);
    assert!(
        (document["estimates"]["lambda"]["value"].as_f64().unwrap() / 0.5 - 1.0).abs() < 0.2,
        "{document}"
    );
}

#[test]
fn what_is_wrong_with_a_number_is_named() {
    let bench = Bench::with(SHORT);
    for (content, says) in [
        (&b"nan\n1\n2\n"[..], "line 1, column arrival: `nan` is no number"),
        (b"0,5\n1,5\n2,5\n", "its 2 columns have no names"),
        (
            b"service\n0,5\n",
            "line 2: it has 2 columns instead of 1; mend the line or take it out; where its numbers have decimal commas",
        ),
        (
            b"gap;service\n0,5;0,25\n",
            "line 2, column gap: `0,5` is no number: it has a decimal comma; write a point: 0.5",
        ),
        (
            b"arrival\n0\n0\n0\n",
            "no time in it is above zero; check the columns and their units; of packets captured without a time it reads 0",
        ),
        (b"\xFF\xFEs\0e\0r\0", "line 1: it is UTF-16, by the byte-order mark"),
        (b"service\n1\n\xEF\xBB\xBF2\n", "line 3, column service: it has a byte-order mark"),
    ] {
        fs::write(bench.file("bad.csv"), content).unwrap();
        let (_, told) = bench.ends(&["fit", "bad.csv"], 2);
        assert!(told.contains(says), "{:?}: {told}", String::from_utf8_lossy(content));
    }
    fs::write(bench.file("commas.csv"), b"0,5;0,25\n1,5;0,5\n").unwrap();
    let (_, error) = bench.ends(&["fit", "commas.csv", "--columns", "arrival,service"], 2);
    assert!(error.contains("line 1, column arrival: `0,5` is no number: it has a decimal comma"), "{error}");
    fs::write(bench.file("marked.csv"), b"\xEF\xBB\xBFservice\n1\n2\n3\n").unwrap();
    bench.ends(&["fit", "marked.csv"], 0);
}
