//! Which specification is which model, and that its figures come under the names of its parts.

use crate::spec::Spec;

const POISSON: &str = "[[source]]\nname = \"a\"\ninterarrival = \"exponential(100us)\"\n";

fn spec(parts: &[&str]) -> Spec {
    Spec::from_toml(&parts.join("\n")).unwrap()
}

fn station(line: &str) -> String {
    format!("[[station]]\nname = \"s\"\n{line}")
}

#[test]
fn one_station_by_itself() {
    let batch = format!("{POISSON}batch = [[1, 0.5], [2, 0.5]]");
    let uniform = "[[source]]\nname = \"a\"\ninterarrival = \"uniform(50us, 150us)\"";
    let switched =
        "[[source]]\nname = \"a\"\nmmpp = { rates = [\"1k/s\", \"9k/s\"], stays = [\"1ms\", \"1ms\"] }";
    let closed = "[[source]]\nname = \"a\"\nclosed = { customers = 4, think = \"exponential(1ms)\" }";
    let memoryless = "service = \"exponential(50us)\"";
    let constant = "service = \"constant(50us)\"";
    let erlang = "service = \"erlang(3, 50us)\"";
    for (source, lines, model) in [
        (POISSON, vec![memoryless], "mm1"),
        (POISSON, vec![memoryless, "capacity = 4"], "mm1k"),
        (POISSON, vec![memoryless, "servers = 2"], "mmc"),
        (POISSON, vec![memoryless, "servers = 2", "capacity = 4"], "mmck"),
        (POISSON, vec![constant], "md1"),
        (POISSON, vec![erlang], "mg1"),
        (POISSON, vec![erlang, "servers = 2"], ""),
        (POISSON, vec![erlang, "capacity = 2"], ""),
        (POISSON, vec![erlang, "servers = 2", "capacity = 2"], "erlang-b"),
        (POISSON, vec![erlang, "order = \"processor-sharing\""], "mg1-ps"),
        (&batch, vec![memoryless], "mxm1"),
        (&batch, vec![erlang], "mxg1"),
        (uniform, vec![memoryless], "gim1"),
        (uniform, vec![erlang], ""),
        (switched, vec![memoryless], "mmpp-m1"),
        (closed, vec![memoryless, "servers = 2"], "finite-source"),
        (closed, vec![erlang, "servers = 2", "capacity = 2"], "engset"),
        (closed, vec![memoryless, "servers = 2", "capacity = 3"], ""),
        (POISSON, vec!["service = \"gamma(1, 50us)\""], "mm1"),
        (POISSON, vec!["service = \"weibull(1, 50us)\""], "mm1"),
        (POISSON, vec!["service = \"gamma(2, 50us)\""], "mg1"),
        (POISSON, vec![erlang, "wake = { count = 3 }"], "n-policy"),
        (POISSON, vec![erlang, "wake = { timer = \"1ms\" }"], "t-policy"),
        (POISSON, vec![erlang, "wake = { count = 3, timer = \"1ms\" }"], "nt-policy"),
        (POISSON, vec![erlang, "wake = { poll = \"constant(1ms)\" }"], "vacations"),
        (POISSON, vec![erlang, "wake = { setup = \"constant(1ms)\" }"], "mg1-setup"),
        (POISSON, vec![erlang, "wake = { spin = \"1ms\", setup = \"constant(1ms)\" }"], "hybrid-polling"),
        (POISSON, vec![memoryless, "bulk = { least = 2, most = 4 }"], "bulk-service"),
        (POISSON, vec![memoryless, "to = { s = 0.25, exit = 0.75 }"], "jackson"),
    ] {
        let lines = lines.join("\n");
        let found = super::recognised_name(&spec(&[source, &station(&lines)]));
        assert_eq!(found.unwrap_or(""), model, "{lines}");
    }
}

#[test]
fn a_coalescer_by_itself() {
    let table = "adaptive = { window = \"1ms\", from = [0, 5000], caps = [1000, 4000] }";
    for (line, model) in [
        ("count = 8", "coalesce"),
        ("timer = \"50us\"", "coalesce"),
        ("count = 8\ntimer = \"50us\"", "coalesce"),
        ("cap = \"1k/s\"", "cap"),
        (table, "adaptive"),
        ("poll = \"1ms\"", ""),
        ("cap = \"1k/s\"\ncount = 8", ""),
    ] {
        let found = super::recognised_name(&spec(&[POISSON, "[[coalescer]]\nname = \"c\"", line]));
        assert_eq!(found.unwrap_or(""), model, "{line}");
    }
}

#[test]
fn two_streams_are_one_and_the_answer_is_the_models() {
    let other = "[[source]]\nname = \"b\"\ninterarrival = \"exponential(200us)\"";
    let formula = spec(&[POISSON, other, &station("service = \"exponential(50us)\"")]).formula().unwrap();
    assert_eq!(formula.command(), "tollway model mm1 lambda='15000' mu='20000'");
    let response = formula.solution.unwrap().get("response.mean").unwrap();
    assert!((response / 200e-6 - 1.0).abs() < 1e-12, "{response}");
}

#[test]
fn rates_are_as_short_as_a_person_would_write_them() {
    let formula = spec(&[POISSON, &station("service = \"exponential(80us)\"")]).formula().unwrap();
    assert_eq!(formula.command(), "tollway model mm1 lambda='10000' mu='12500'");
    for mean in [80e-6, 3e-6, 1.0 / 3.0, 0.1, 7e-9, 123.456] {
        assert!((super::per_second(mean) * mean - 1.0).abs() <= 2.0 * f64::EPSILON, "{mean}");
    }
}

#[test]
fn classes_and_stations_keep_their_names() {
    let network = "to = \"s\"\n[[station]]\nname = \"s\"\nservice = \"exponential(50us)\"\nto = \"t\"\n\
                   [[station]]\nname = \"t\"\nservice = \"exponential(20us)\"";
    let formula = spec(&[POISSON, network]).formula().unwrap();
    let solution = formula.solution.unwrap();
    let response = |name: &str| solution.get(&format!("{name}response.mean")).unwrap();
    assert!((response("station.s.") / 100e-6 - 1.0).abs() < 1e-12);
    assert!((response("station.t.") / 25e-6 - 1.0).abs() < 1e-12);
    assert!((response("") / 125e-6 - 1.0).abs() < 1e-12);
    let closed = "[[source]]\nname = \"a\"\nclosed = { customers = 2 }\n";
    let formula = spec(&[closed, network]).formula().unwrap();
    assert_eq!(formula.model.name, "mva");
    // Of two stations and two customers: X = (1/D1 + 1/D2 − …): N = 2, D = 50, 20: X(2) = 70/3900 per µs.
    let throughput = formula.solution.unwrap().get("throughput").unwrap();
    assert!((throughput / (70.0 / 3900.0 * 1e6) - 1.0).abs() < 1e-12, "{throughput}");
}

/// Classes that are served alike and go the same ways are one to a product form, whether their service is written once or for
/// each; the figures of classes are left to the simulation.
#[test]
fn classes_that_are_served_alike_are_a_jackson_network() {
    let classes = "[[class]]\nname = \"a\"\n[[class]]\nname = \"b\"\n\
                   [[source]]\nname = \"x\"\nclass = \"a\"\ninterarrival = \"exponential(200us)\"\nto = \"s\"\n\
                   [[source]]\nname = \"y\"\nclass = \"b\"\ninterarrival = \"exponential(200us)\"\nto = \"s\"\n";
    let network = |services: &str| {
        format!(
            "{classes}[[station]]\nname = \"s\"\nservice = {services}\nto = \"t\"\n\
             [[station]]\nname = \"t\"\nservice = \"exponential(20us)\""
        )
    };
    for alike in ["\"exponential(50us)\"", "{ a = \"exponential(50us)\", b = \"gamma(1, 50us)\" }"] {
        let formula = spec(&[&network(alike)]).formula().unwrap();
        assert_eq!(formula.model.name, "jackson");
        let response = formula.solution.unwrap().get("response.mean").unwrap();
        assert!((response / 125e-6 - 1.0).abs() < 1e-12, "{response}");
    }
    let apart = network("{ a = \"exponential(50us)\", b = \"exponential(60us)\" }");
    assert!(spec(&[&apart]).formula().is_none());
}

#[test]
fn priorities_are_sorted() {
    let classes = "[[class]]\nname = \"bulk\"\npriority = 7\n[[class]]\nname = \"urgent\"\npriority = 1\n\
                   [[source]]\nname = \"a\"\nclass = \"bulk\"\ninterarrival = \"exponential(100us)\"\n\
                   [[source]]\nname = \"b\"\nclass = \"urgent\"\ninterarrival = \"exponential(200us)\"\n";
    let served =
        "service = { bulk = \"constant(50us)\", urgent = \"exponential(10us)\" }\norder = \"priority\"";
    let found = spec(&[classes, &station(served)]);
    let recognised = super::alone::recognise(&found).unwrap();
    assert_eq!(recognised.model, "mg1-nonpreemptive");
    assert_eq!(recognised.names, ["urgent", "bulk"]);
    assert_eq!(recognised.parameters[1].1, "exponential(0.00001);constant(0.00005)");
    assert_eq!(recognised.rename("class.1.wait.mean"), "class.urgent.wait.mean");
    assert_eq!(recognised.rename("wait.mean"), "wait.mean");
    let alike = classes.replace("priority = 7", "priority = 1");
    assert!(spec(&[&alike, &station(served)]).formula().is_none());
}
