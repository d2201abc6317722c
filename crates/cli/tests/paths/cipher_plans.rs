//! `tollway cipher predict` and `plan`: what they foretell is frozen before it is measured, and what they say goes together.

use std::collections::BTreeSet;

use crate::program::turn::turn;
use crate::program::{Bench, SHORT};
use serde_json::Value;
use tollway_core::{Quoted, Requirement};
use tollway_host::requirement::test_has;
use tollway_store::{RunId, Store};

/// What they need: a core for the card, and one for its tenants.
const CORES: &[(Requirement, &str)] = &[(Requirement::Cores(2), "cores")];

/// What a command prints, whether what it foretold came or not: on a machine that is at other work it may not.
fn document(bench: &Bench, arguments: &[&str], schema: &str) -> Value {
    let output = bench.tollway(&[&["cipher"], arguments, &["--json"]].concat()).output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(matches!(output.status.code(), Some(0 | 3)), "{told}");
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    let (text, _) = bench.ends(&["generate", "schema", schema], 0);
    let text: Value = serde_json::from_str(&text).unwrap();
    let names = |value: &Value| value.as_object().unwrap().keys().cloned().collect::<BTreeSet<_>>();
    assert_eq!(names(&text["properties"]), names(&document));
    document
}

fn number(value: &Value, what: &str) -> f64 {
    value[what].as_f64().unwrap_or_else(|| panic!("{what}: {value}"))
}

/// A model that has anything to do with the card: a service is about what the card takes alone, and light loads come out
/// where others leave the cores alone. With half of them taken, responses were up to 100 services long, or a quarter of what fits.
fn is_fitted(document: &Value) {
    let fitted = &document["fitted"];
    let (service, occupied) = (number(fitted, "service_ns"), number(fitted, "occupied_ns"));
    // 16 KiB by AES-CBC: 1.4 GB/s and less.
    assert!((3e3..200e3).contains(&service) && service <= occupied, "{fitted}");
    assert!(number(fitted, "cold_ns") >= 0.0, "{fitted}");
    let light = fitted["light"].as_array().unwrap();
    assert_eq!(light.len(), 3);
    for load in light {
        let median = number(load, "median_ns");
        assert!(median > service || is_taken(document), "{fitted}");
        assert!(number(load, "off").abs() < 0.5 || is_taken(document), "{fitted}");
    }
}

/// Whether others had so much of the cores that no level need be kept, and no simulation of a while comes to what another one does.
fn is_taken(document: &Value) -> bool {
    number(&document["fitted"]["taken"], "share") > 0.1
}

#[test]
fn what_is_foretold_was_frozen_before_it_was_measured() {
    if !test_has(CORES) {
        return;
    }
    let _turn = turn();
    let bench = Bench::with(SHORT);
    let few =
        ["predict", "--size", "16384", "--ways", "busy,interrupt", "--loads", "0.4", "--requests", "8000"];
    let document = document(&bench, &[&few[..], &["--runs", "4"]].concat(), "cipher-predict");
    is_fitted(&document);
    let predicted = document["predicted"].as_array().unwrap();
    let ways: Vec<&str> = predicted.iter().map(|of| of["way"].as_str().unwrap()).collect();
    assert_eq!(ways, ["busy", "interrupt"]);
    let runs = document["runs"].as_array().unwrap();
    let run = RunId(runs.last().and_then(Value::as_i64).unwrap());
    let store = Store::open(bench.file("tollway.db")).unwrap();
    let (points, trials) = (store.points(run).unwrap(), store.trials(run).unwrap());
    for of in predicted {
        let point = points.iter().find(|point| of["way"] == *point.spec.variant).unwrap();
        let frozen = store.prediction(point.id).unwrap().expect("it was foretold");
        assert_eq!(frozen.forecast.of, Quoted::Mean);
        assert!(trials.iter().filter(|t| t.point == point.id).all(|trial| trial.started > frozen.made_at));
        assert!(number(of, "requests") > 5000.0 && number(of, "mean_foretold_ns") > 0.0, "{of}");
        let mean = &of["mean_ns"];
        assert!(number(mean, "lo") <= number(mean, "estimate"), "{of}");
        // Of a typical block: what comes rarely and takes long is in the mean alone.
        let service = number(&document["fitted"], "service_ns");
        assert!(number(of, "p99_foretold_ns") > service && number(of, "mean_foretold_ns") > service, "{of}");
    }
    // Of each way the rate at which the card is at work for so long: to tell takes its time.
    if !is_taken(&document) {
        assert!(predicted.iter().all(|of| (number(of, "load") - 0.4).abs() < 0.02), "{document}");
        assert!(number(&predicted[1], "rate") < number(&predicted[0], "rate"), "{document}");
        // Who is told by interrupts waits longer.
        assert!(
            number(&predicted[1], "mean_foretold_ns") > number(&predicted[0], "mean_foretold_ns"),
            "{document}"
        );
        // By M/M/1 all of it is service and waiting for others: nobody wakes up, nothing is written or read.
        assert!(
            number(&predicted[0], "mm1_mean_ns") < number(&predicted[0], "mean_foretold_ns"),
            "{document}"
        );
    }
    // What the machine took was watched both times.
    for taken in [&document["fitted"]["taken"], &document["meanwhile"]] {
        let share = number(taken, "share");
        assert!((1e-5..0.99).contains(&share) && number(taken, "long_share") <= share, "{taken}");
    }
}

#[test]
fn a_plan_keeps_its_level_by_its_own_figures() {
    if !test_has(CORES) {
        return;
    }
    let _turn = turn();
    let bench = Bench::with(SHORT);
    let ways = "interrupt,capped:2k,epoll,busy";
    let asked = ["plan", "--slo", "p99<20ms", "--tenants", "2", "--size", "16384", "--ways", ways];
    let document =
        document(&bench, &[&asked[..], &["--verify", "--requests", "8000"]].concat(), "cipher-plan");
    is_fitted(&document);
    let choices = document["choices"].as_array().unwrap();
    assert_eq!(choices.len(), 4);
    // Two tenants on one core: none of them may look without end.
    assert!(choices[3]["left_out"].is_string() && choices[3]["rate"].is_null(), "{document}");
    if is_taken(&document) && document["best"].is_null() {
        return assert!(choices.iter().all(|choice| choice["rate"].is_null()), "{document}");
    }
    let best = document["best"].as_u64().unwrap_or_else(|| panic!("{document}")) as usize;
    // Where others take the cores one way may keep the level and another not.
    let kept = choices[..3].iter().filter(|choice| !is_taken(&document) || !choice["rate"].is_null());
    for choice in kept {
        assert!(number(choice, "rate") > 0.0 && number(choice, "at_ns") < 20e6, "{choice}");
        assert!(number(choice, "rate") * number(&document["fitted"], "occupied_ns") < 1e9, "{choice}");
    }
    // The cap is one of a function: two tenants have two.
    let interrupts = choices[1]["interrupts"].as_f64();
    assert!(interrupts.map_or(is_taken(&document), |interrupts| interrupts < 4010.0), "{document}");
    assert!(number(&choices[best], "processors") <= 2.0, "{document}");
    let tried = &document["verified"];
    assert!(number(tried, "requests") > 4000.0, "{document}");
    // Foretold anew, of the machine as it was meanwhile.
    assert!(number(tried, "foretold_ns") < 40e6 || is_taken(&document), "{document}");
}

#[test]
fn what_cannot_be_is_said_before_anything_is_measured() {
    let bench = Bench::with(SHORT);
    for (arguments, words) in [
        (&["plan"][..], "--slo"),
        (&["plan", "--slo", "fast"], "is no service level"),
        (&["plan", "--slo", "p99<1ms", "--ways", "telepathy"], "there is no way `telepathy`"),
        (&["plan", "--slo", "p99<1ms", "--tenants", "4", "--rate", "100"], "cannot be used with"),
        (&["predict", "--size", "100"], "multiple of 16"),
        (&["predict", "--loads", "1.2"], "is no share"),
        (&["predict", "--cipher", "rot13"], "there is no `rot13`"),
        (&["predict", "--preset", "one-vcm"], "`tasks=2`: the model knows tasks=1 only"),
        (&["predict", "--preset", "queue", "--size", "64"], "cannot be used with"),
    ] {
        let (_, told) = bench.ends(&[&["cipher"], arguments].concat(), 2);
        assert!(told.contains(words), "{arguments:?}: {told}");
    }
    assert!(!bench.file("tollway.db").exists());
}
