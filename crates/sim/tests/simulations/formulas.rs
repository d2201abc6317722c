//! Systems that a formula of the catalogue solves: the simulator tells the same under the same names.

use crate::simulated::{agrees, poisson, simulated, station};
use tollway_model::spec::Spec;

/// All figures that both have are those of the formula that solves the system; at least these are among them.
#[track_caller]
fn same_as_formula(text: &str, model: &str, among: &[&str]) {
    let spec = Spec::from_toml(text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let formula = spec.formula().unwrap_or_else(|| panic!("no formula solves\n{text}"));
    assert_eq!(formula.model.name, model);
    let solution = formula.solution.unwrap_or_else(|error| panic!("{error}\n{text}"));
    let outcome = simulated(text);
    // The tails of few customers say too little.
    let told = |name: &str| !name.ends_with(".p999") && outcome.get(name).is_some();
    let metrics = solution.metrics().iter().filter(|m| told(&m.name) && m.value > 0.0);
    let values: Vec<(&str, f64)> = metrics.map(|m| (&*m.name, m.value)).collect();
    for name in among {
        assert!(values.iter().any(|(told, _)| told == name), "{name} is not among {values:?}");
    }
    agrees(&outcome, &values);
}

const MEANS: &[&str] = &["utilization", "number.mean", "queue.mean", "wait.mean", "response.mean"];

#[test]
fn one_server() {
    let all = [
        "idle",
        "throughput",
        "wait.probability",
        "wait.p50",
        "wait.p90",
        "wait.p99",
        "response.p50",
        "response.p99",
    ];
    let all: Vec<&str> = MEANS.iter().copied().chain(all).collect();
    same_as_formula(&(poisson(7000) + &station("exponential(100us)", "")), "mm1", &all);
}

#[test]
fn limited_and_several_servers() {
    let device = |more| station("exponential(100us)", more);
    same_as_formula(&(poisson(9000) + &device("capacity = 4")), "mm1k", &["loss", "wait.mean", "throughput"]);
    same_as_formula(&(poisson(21_000) + &device("servers = 3")), "mmc", MEANS);
    same_as_formula(
        &(poisson(30_000) + &device("servers = 3\ncapacity = 6")),
        "mmck",
        &["loss", "wait.mean"],
    );
    let constant = station("constant(100us)", "servers = 4\ncapacity = 4");
    same_as_formula(&(poisson(30_000) + &constant), "erlang-b", &["loss"]);
}

#[test]
fn a_finite_population() {
    let source =
        "[[source]]\nname = \"m\"\nclosed = { customers = 6, think = \"exponential(300us)\" }\n".to_owned();
    let text = source + &station("exponential(100us)", "servers = 2");
    same_as_formula(&text, "finite-source", &["throughput", "wait.mean", "response.mean", "utilization"]);
}

#[test]
fn sleep() {
    let sleeping = |wake: &str| poisson(6000) + &station("erlang(2, 100us)", &format!("wake = {{ {wake} }}"));
    let rates = ["interrupts.rate", "wait.mean", "number.mean"];
    same_as_formula(&sleeping("count = 4"), "n-policy", &rates);
    same_as_formula(&sleeping("timer = \"300us\""), "t-policy", &rates);
    same_as_formula(&sleeping("count = 4, timer = \"300us\""), "nt-policy", &rates);
    same_as_formula(
        &sleeping("poll = \"uniform(50us, 250us)\""),
        "vacations",
        &["wait.mean", "vacations.rate"],
    );
    same_as_formula(&sleeping("poll = \"constant(200us)\""), "vacations", &["wait.mean", "vacations.rate"]);
    let hybrid = sleeping("spin = \"100us\", setup = \"constant(50us)\"");
    same_as_formula(&hybrid, "hybrid-polling", &["wait.mean", "sleeps.rate", "spinning"]);
}

#[test]
fn bulks() {
    let bulk = station("exponential(300us)", "bulk = { least = 2, most = 5 }");
    let names = ["utilization", "queue.mean", "number.mean", "wait.mean", "response.mean", "batch.mean"];
    same_as_formula(&(poisson(10_000) + &bulk), "bulk-service", &names);
}

#[test]
fn coalescing() {
    let held = |more: &str| poisson(10_000) + "[[coalescer]]\nname = \"interrupts\"\n" + more;
    let names = ["delay.mean", "delay.p50", "delay.p99", "interrupts.rate", "batch.mean"];
    same_as_formula(&held("count = 8"), "coalesce", &names);
    same_as_formula(&held("timer = \"500us\""), "coalesce", &names);
    same_as_formula(&held("count = 8\ntimer = \"500us\""), "coalesce", &names);
    same_as_formula(&held("cap = \"4000/s\""), "cap", &["delay.mean", "interrupts.rate", "batch.mean"]);
}

#[test]
fn networks() {
    let text = r#"
        [[source]]
        name = "in"
        interarrival = "exponential(200us)"
        to = "processor"
        [[station]]
        name = "processor"
        service = "exponential(50us)"
        to = { disk = 0.4, exit = 0.6 }
        [[station]]
        name = "disk"
        service = "exponential(350us)"
        servers = 2
        to = "processor"
    "#;
    let names = [
        "response.mean",
        "number.mean",
        "station.disk.utilization",
        "station.disk.wait.mean",
        "station.processor.number.mean",
    ];
    same_as_formula(text, "jackson", &names);
}
