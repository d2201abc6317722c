//! `tollway simulate`: every example against its formula, what it says of bad specifications, and how it ends.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::eventually::eventually;
use crate::program::{Bench, SHORT, checked, takes_interruptions};
use serde_json::Value;
use tollway_host::samplers::thread_time::process_of;

fn example(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/simulate");
    folder.join(format!("{name}.toml")).to_string_lossy().into_owned()
}

/// The document of a small simulation that agrees with its formula.
fn simulated(bench: &Bench, name: &str, more: &[&str]) -> Value {
    let file = example(name);
    let small: &[&str] = if more.contains(&"--customers") { &[] } else { &["--customers", "50000"] };
    let (out, _) = bench.ends(&[&["simulate", &file, "--json"], small, more].concat(), 0);
    let document: Value = serde_json::from_str(&out).unwrap();
    for law in document["invariants"].as_array().unwrap() {
        assert_eq!(law["holds"], true, "{law}");
    }
    document
}

fn figure(document: &Value, name: &str, how: &str) -> f64 {
    document["figures"][name][how].as_f64().unwrap_or_else(|| panic!("{name}: {how}: none"))
}

/// The formula is this model, most intervals have its value, and at least so many figures were held against it.
fn agrees(document: &Value, model: &str, least: usize) {
    assert_eq!(document["formula"]["model"], model);
    assert_eq!(document["formula"]["problem"], Value::Null);
    let verdicts = |word: &str| {
        let figures = document["figures"].as_object().unwrap().values();
        figures.filter(|figure| figure["verdict"] == word).count()
    };
    let (within, beside) = (verdicts("within"), verdicts("beside"));
    assert_eq!(verdicts("differs"), 0);
    // Where the system is a small chain as well, it says the same.
    if let Some(apart) = document["chain"]["from_formula"].as_f64() {
        assert!(apart < 1e-8, "{model}: {apart}");
    }
    assert!(within + beside >= least, "{model}: {within} + {beside}");
}

#[test]
fn every_example_is_run_here() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/simulate");
    let mut names: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|file| file.unwrap().path()).collect();
    names.sort();
    let names: Vec<_> = names.iter().map(|file| file.file_stem().unwrap().to_string_lossy()).collect();
    assert_eq!(names, ["arrival", "coalescing", "exits", "machines", "moderation", "polling", "priorities"]);
}

#[test]
fn one_machine_at_a_thousand_to_ten_thousand_requests_a_second() {
    let bench = Bench::with(SHORT);
    for rate in (1..=10).map(|thousands| 1000 * thousands) {
        let gaps = format!("machine.interarrival=exponential({})", 1.0 / f64::from(rate));
        let document = simulated(&bench, "arrival", &["--set", &gaps]);
        agrees(&document, "mm1", 12);
        let exact = 1.0 / (12_500.0 - f64::from(rate));
        assert!((figure(&document, "response.mean", "formula") / exact - 1.0).abs() < 1e-9);
    }
}

#[test]
fn one_to_sixteen_machines_on_one_device() {
    let bench = Bench::with(SHORT);
    let mut before = 0.0;
    for machines in ["1", "2", "4", "8", "16"] {
        let set = format!("machines.closed.customers={machines}");
        let document = simulated(&bench, "machines", &["--set", &set]);
        agrees(&document, "finite-source", 8);
        let waiting = figure(&document, "queue.mean", "simulated");
        assert!(waiting >= before, "{machines}: {waiting}");
        before = waiting;
    }
    // Sixteen share what a device can do: 12500/s.
    assert!(before > 2.0, "{before}");
}

#[test]
fn classes_coalescing_polling_and_a_network_against_their_formulas() {
    let bench = Bench::with(SHORT);
    let document = simulated(&bench, "priorities", &[]);
    agrees(&document, "mg1-nonpreemptive", 8);
    let waits = ["sign", "hash", "bulk"]
        .map(|class| figure(&document, &format!("class.{class}.wait.mean"), "simulated"));
    assert!(waits[0] < waits[1] && waits[1] < waits[2], "{waits:?}");
    let preemptive = simulated(&bench, "priorities", &["--set", "device.order=preemptive-resume"]);
    agrees(&preemptive, "mg1-preemptive", 8);
    let urgent = |document: &Value| figure(document, "class.sign.wait.mean", "simulated");
    assert!(urgent(&preemptive) < urgent(&document));
    agrees(&simulated(&bench, "coalescing", &[]), "coalesce", 4);
    agrees(&simulated(&bench, "polling", &[]), "vacations", 6);
    let network = simulated(&bench, "exits", &[]);
    agrees(&network, "jackson", 10);
    assert!(network["chain"]["states"].as_u64().unwrap() > 1000, "{}", network["chain"]);
}

/// Where hardly anybody waits, nothing is held against those who did not.
#[test]
fn sound_simulations_at_light_load_are_not_accused() {
    let bench = Bench::with(SHORT);
    let cases = [
        ("arrival", "machine.interarrival=exponential(20ms)"),
        ("arrival", "machine.interarrival=exponential(80ms)"),
        ("coalescing", "completions.interarrival=exponential(20ms)"),
        ("exits", "machines.interarrival=exponential(20ms)"),
        ("exits", "machines.interarrival=exponential(1s)"),
        ("machines", "machines.closed.think=exponential(1s)"),
        ("moderation", "machine.interarrival=exponential(20ms)"),
        ("polling", "machine.interarrival=exponential(20ms)"),
        ("priorities", "signers.interarrival=exponential(1s)"),
    ];
    for (name, set) in cases {
        for seed in ["1", "2", "3"] {
            simulated(&bench, name, &["--customers", "20000", "--set", set, "--seed", seed]);
        }
    }
    // Four servers, two loads.
    for service in ["80us", "8us"] {
        let text = format!(
            "[[source]]\nname = 'a'\ninterarrival = 'exponential(1ms)'\n[[station]]\nname = 's'\nservers = 4\n\
             service = 'exponential({service})'\n"
        );
        fs::write(bench.file("four.toml"), text).unwrap();
        for seed in ["1", "2", "3"] {
            bench.ends(&["simulate", "four.toml", "--customers", "50000", "--seed", seed], 0);
        }
    }
}

#[test]
fn a_short_run_keeps_as_much_as_it_leaves_out() {
    let bench = Bench::with(SHORT);
    let service = "device.service=constant(1ns)";
    let short = ["--set", service, "--customers", "2000", "--replications", "2"];
    let document = simulated(&bench, "arrival", &short);
    let run = &document["simulation"];
    assert!(2 * run["warm_up"].as_u64().unwrap() <= run["customers"].as_u64().unwrap(), "{run}");
}

#[test]
fn what_has_no_formula_is_simulated_all_the_same() {
    let bench = Bench::with(SHORT);
    let document = simulated(&bench, "moderation", &[]);
    assert_eq!(document["formula"], Value::Null);
    let interrupts = figure(&document, "interrupts.rate", "simulated");
    assert!((4000.0..=5000.0 * 1.0001).contains(&interrupts), "{interrupts}");
}

#[test]
fn the_same_seed_is_the_same_answer_on_any_number_of_threads() {
    let bench = Bench::with(SHORT);
    let figures = |more: &[&str]| simulated(&bench, "exits", more)["figures"].clone();
    let one = figures(&["--threads", "1"]);
    assert_eq!(one, figures(&["--threads", "3"]));
    assert_ne!(one, figures(&["--seed", "2"]));
}

#[test]
fn a_trace_is_read_beside_its_specification() {
    let bench = Bench::with(SHORT);
    fs::create_dir(bench.file("in")).unwrap();
    let spec = "[[source]]\nname = \"a\"\ntrace = \"gaps.csv\"\n[[station]]\nname = \"s\"\nservice = \"constant(5us)\"\n";
    fs::write(bench.file("in/spec.toml"), spec).unwrap();
    let (_, err) = bench.ends(&["simulate", "in/spec.toml"], 2);
    assert!(err.contains("source a: trace: file `in/gaps.csv`: No such file"), "{err}");
    fs::write(bench.file("in/gaps.csv"), "gap\n10us\n20us\nlong\n").unwrap();
    let (_, err) = bench.ends(&["simulate", "in/spec.toml"], 2);
    assert!(err.contains("source a: trace: gaps.csv: line 4: `long` is no time"), "{err}");
    fs::write(bench.file("in/gaps.csv"), "gap\n10us\n20us\n").unwrap();
    let (out, _) = bench.ends(&["simulate", "in/spec.toml", "--customers", "1000", "--json"], 0);
    let document: Value = serde_json::from_str(&out).unwrap();
    assert!((figure(&document, "response.mean", "simulated") - 5e-6).abs() < 1e-12, "{out}");
}

#[test]
fn a_bad_specification_is_refused_by_name_and_line() {
    let bench = Bench::with(SHORT);
    let refused = |text: &str, says: &str| {
        fs::write(bench.file("bad.toml"), text).unwrap();
        let (out, err) = bench.ends(&["simulate", "bad.toml"], 2);
        assert!(err.contains(says) && out.is_empty(), "{err}");
    };
    refused("", "bad.toml: source: there is none");
    refused("[[source]]\nname = 3\n", "bad.toml: specification, line 2, column 8: invalid type");
    let source = "[[source]]\nname = \"a\"\ninterarrival = \"exponential(10us)\"\n";
    let station = "[[station]]\nname = \"s\"\nservice = \"exponential(20us)\"\n";
    refused(&format!("{source}{station}"), "bad.toml: station s: no steady state at a load of 2");
    refused(&format!("{source}{station}capacity = 0"), "bad.toml: station s: capacity: 0 is out of range");
    let file = example("arrival");
    for (arguments, says) in [
        (&["simulate", "nowhere.toml"][..], "file `nowhere.toml`: No such file"),
        (&["simulate", "."], "file `.`: "),
        (&["simulate", "/dev/zero"], "it is longer than"),
        (&["simulate", &file, "--customers", "0"], "stop: customers: 0 is out of range"),
        (&["simulate", &file, "--precision", "2"], "stop: precision: 2 is out of range"),
        (&["simulate", &file, "--replications", "100000"], "stop: replications: 100000 is out of range"),
        (&["simulate", &file, "--set", "device.capcity=3"], "unknown field `capcity`"),
        (&["simulate", &file, "--set", "nobody.capacity=3"], "there is no part named `nobody`"),
        (&["simulate", &file, "--export", "x.pdf"], "let it end in"),
    ] {
        let (out, err) = bench.ends(arguments, 2);
        assert!(err.contains(says) && out.is_empty(), "{arguments:?}: {err}");
    }
}

#[test]
fn files_a_dry_run_and_precision() {
    let bench = Bench::with(SHORT);
    let file = example("exits");
    let (out, _) = bench.ends(&["simulate", &file, "--dry-run"], 0);
    assert!(out.contains(": 1 source, 3 stations\n"), "{out}");
    assert!(out.contains("tollway model jackson") && out.contains("8 × 500000 customers"), "{out}");
    bench.ends(&["simulate", &file, "--customers", "20000", "--export", "x.csv"], 0);
    let csv = fs::read_to_string(bench.file("x.csv")).unwrap();
    assert!(csv.contains("station.device.response.mean,seconds,0.000"), "{csv}");
    bench.ends(&["simulate", &file, "--customers", "20000", "--export", "x.md"], 0);
    assert!(fs::read_to_string(bench.file("x.md")).unwrap().contains("| response.mean | "));
    let (out, _) = bench.ends(&["simulate", &example("arrival"), "--precision", "0.05", "--json"], 0);
    let document: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(document["simulation"]["stopped_by"], "precision");
    let half = 0.5 * (figure(&document, "response.mean", "high") - figure(&document, "response.mean", "low"));
    assert!(half <= 0.05 * figure(&document, "response.mean", "simulated"));
}

#[test]
fn an_interruption_keeps_what_was_simulated() {
    let bench = Bench::with(SHORT);
    let file = example("exits");
    let long = ["simulate", &file, "--customers", "1000000000", "--json"];
    let child = bench.tollway(&long).spawn().unwrap();
    eventually("it takes interruptions", || takes_interruptions(child.id()));
    bench.works_for(Duration::from_secs(2));
    // SAFETY: signals the child that was just started and is not yet waited for.
    assert_eq!(unsafe { libc::kill(child.id() as i32, libc::SIGINT) }, 0);
    let output = child.wait_with_output().unwrap();
    let (out, _) = checked(&output, 130);
    let document: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(document["simulation"]["stopped_by"], "interruption");
    assert!(figure(&document, "response.mean", "simulated") > 0.0);
    bench.nothing_stays_behind();
}

#[test]
fn an_interruption_ends_the_chain_and_keeps_what_was_simulated() {
    let bench = Bench::with(SHORT);
    fs::write(bench.file("long.toml"), LONG_CHAIN).unwrap();
    let child = bench.tollway(&["simulate", "long.toml", "--json"]).spawn().unwrap();
    eventually("it takes interruptions", || takes_interruptions(child.id()));
    // The simulation takes some milliseconds of a processor, the chain seconds.
    bench.works_for(Duration::from_millis(500));
    // SAFETY: signals the child that was just started and is not yet waited for.
    assert_eq!(unsafe { libc::kill(child.id() as i32, libc::SIGINT) }, 0);
    let (out, _) = checked(&child.wait_with_output().unwrap(), 130);
    let document: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(document["simulation"]["stopped_by"], "customers");
    assert_eq!(document["chain"]["problem"], "interrupted");
    assert!(figure(&document, "response.mean", "simulated") > 0.0);
}

#[test]
fn a_dry_run_tells_what_the_chain_takes() {
    let bench = Bench::with(SHORT);
    // Twenty-four thousand states take one second instead of four.
    fs::write(bench.file("long.toml"), LONG_CHAIN.replace("capacity = 40", "capacity = 28")).unwrap();
    let (out, _) = bench.ends(&["simulate", "long.toml", "--dry-run", "--json"], 0);
    let told: Value = serde_json::from_str(&out).unwrap();
    let mut child = bench.tollway(&["simulate", "long.toml"]).spawn().unwrap();
    // Of a processor: it may not have one to itself.
    let mut took = Duration::ZERO;
    eventually("it ends", || {
        took = process_of(child.id() as i32).unwrap_or(took);
        child.try_wait().unwrap().is_some()
    });
    self::checked(&child.wait_with_output().unwrap(), 0);
    let (told, took) = (told["seconds"].as_f64().unwrap(), took.as_secs_f64());
    assert!(told > 0.2 * took, "{told} s were told, {took} it took");
}

/// D/D/1, of which no formula is in the catalogue, and two constant sources of unlike periods, five customers in each.
#[test]
fn what_is_constant_is_exact_and_a_part_of_a_period_is_in_the_interval() {
    let bench = Bench::with(SHORT);
    let source = |gap: u32| {
        format!("[[source]]\nname = \"{gap}\"\ninterarrival = \"constant({gap}us)\"\nto = \"q\"\n")
    };
    let station = |service: u32| format!("[[station]]\nname = \"q\"\nservice = \"constant({service}us)\"\n");
    let one = [
        ("response.mean", 30e-6),
        ("wait.mean", 0.0),
        ("wait.probability", 0.0),
        ("utilization", 0.3),
        ("throughput", 1e4),
        ("number.mean", 0.3),
    ];
    let two = [
        ("response.mean", 48e-6),
        ("wait.mean", 8e-6),
        ("wait.probability", 0.2),
        ("throughput", 1e6 / 60.0),
    ];
    for (sources, service, is_exact, wanted) in
        [(source(100), 30, true, &one[..]), (source(100) + &source(150), 40, false, &two[..])]
    {
        fs::write(bench.file("constant.toml"), sources + &station(service)).unwrap();
        let asked = ["simulate", "constant.toml", "--customers", "5001", "--json"];
        let document: Value = serde_json::from_str(&bench.ends(&asked, 0).0).unwrap();
        assert_eq!(document["formula"], Value::Null);
        for (name, exact) in wanted {
            let [low, value, high] = ["low", "simulated", "high"].map(|how| figure(&document, name, how));
            let rounding = 1e-9 * exact + 1e-12;
            assert!(low - rounding <= *exact && *exact <= high + rounding, "{name}: {low} to {high}");
            assert!(
                !is_exact || (value - exact).abs() <= rounding && high - low <= rounding,
                "{name}: {value}"
            );
        }
    }
}

#[test]
fn a_specification_from_standard_input() {
    let bench = Bench::with(SHORT);
    let text = fs::read_to_string(example("arrival")).unwrap();
    fs::write(bench.file("in.toml"), text).unwrap();
    let mut command = bench.tollway(&["simulate", "-", "--customers", "1e4", "--json"]);
    let output = command.stdin(fs::File::open(bench.file("in.toml")).unwrap()).output().unwrap();
    let (out, _) = checked(&output, 0);
    let document: Value = serde_json::from_str(&out).unwrap();
    assert!(document["simulation"]["customers"].as_u64().unwrap() >= 80_000);
}

/// Seventy thousand states, wide: seconds.
const LONG_CHAIN: &str = r#"
    [[source]]
    name = "s"
    interarrival = "exponential(100us)"
    to = "one"
    [[station]]
    name = "one"
    service = "exponential(99us)"
    capacity = 40
    to = "two"
    [[station]]
    name = "two"
    service = "exponential(98us)"
    capacity = 40
    to = { three = 0.9, one = 0.1 }
    [[station]]
    name = "three"
    service = "exponential(97us)"
    capacity = 40
    [stop]
    customers = 2000
    replications = 4
"#;
