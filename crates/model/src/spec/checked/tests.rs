//! What is refused, and by which name.

use crate::ModelError;
use crate::processor_time::processor_time;
use crate::spec::{Routes, Spec};

const SOURCE: &str = "[[source]]\nname = \"a\"\ninterarrival = \"exponential(100us)\"\n";
const STATION: &str = "[[station]]\nname = \"s\"\nservice = \"exponential(60us)\"\n";

fn read(parts: &[&str]) -> Result<Spec, ModelError> {
    Spec::from_toml(&parts.join("\n"))
}

/// The specification is refused by an error that begins so.
fn refused(parts: &[&str], begins: &str) {
    let told = read(parts).expect_err(begins).to_string();
    assert!(told.starts_with(begins), "`{told}` does not begin with `{begins}`");
}

#[test]
fn the_smallest_one_is_completed() {
    let spec = read(&[SOURCE, STATION]).unwrap();
    assert_eq!(spec.sources[0].to, Some(Routes::Always("s".into())));
    // What was accepted is accepted again, and written it is read as the same.
    assert_eq!(spec.clone().checked().unwrap(), spec);
    assert_eq!(Spec::from_toml(&toml::to_string(&spec).unwrap()).unwrap(), spec);
}

#[test]
fn what_is_no_specification_has_line_and_column() {
    refused(&["title = \"x\"", "sources = 3"], "specification, line 2, column 1: unknown field `sources`");
    refused(
        &[SOURCE, "[[station]]", "name = \"s\"", "service = \"exponential(-1)\""],
        "specification, line 7, column 11: exponential: mean",
    );
    refused(&[SOURCE, STATION, "to = 3"], "specification, line 9, column 6: invalid type: integer");
    refused(&["[[source]"], "specification, line 1, column");
}

#[test]
fn names_are_plain_and_given_once() {
    refused(&[STATION], "source: there is none");
    refused(&[SOURCE], "station: there is none");
    refused(&[SOURCE, STATION, STATION], "station s: name: another part has it");
    refused(&[SOURCE, "[[station]]\nname = \"exit\"\nservice = \"exponential(1us)\""], "station exit: name");
    refused(&[SOURCE, "[[station]]\nname = \"a.b\"\nservice = \"exponential(1us)\""], "station `a.b`: name");
    refused(&[SOURCE, "[[station]]\nname = \"\"\nservice = \"exponential(1us)\""], "station ``: name");
}

#[test]
fn routes_lead_somewhere_and_out() {
    let to = |routes: &str| format!("{STATION}to = {routes}");
    refused(&[SOURCE, &to("\"disk\"")], "station s: to: there is no part named `disk`");
    refused(&[SOURCE, &to("{ s = 0.5, exit = 0.4 }")], "station s: to: they add up to 0.9");
    refused(&[SOURCE, &to("{ s = -0.5, exit = 1.5 }")], "station s: to: 1.5 is no share");
    refused(&[SOURCE, &to("\"s\"")], "station s: to: who comes here never leaves");
    refused(&[SOURCE, &to("{}")], "station s: to: they add up to 0");
    let other = "[[station]]\nname = \"t\"\nservice = \"exponential(1us)\"";
    refused(&[SOURCE, STATION, other], "source a: to: it is missing");
    refused(&[SOURCE, "to = \"s\"", STATION, other], "station t: nobody comes here");
    refused(&[SOURCE, "to = \"exit\"", STATION], "source a: to: who leaves at once");
    let round = "[[coalescer]]\nname = \"c\"\ncount = 2\nto = { c = 0.5, exit = 0.5 }";
    refused(&[SOURCE, "to = \"c\"", round], "coalescer c: to: customers go round");
}

#[test]
fn more_work_than_can_be_done_is_unstable() {
    let half_back = "to = { s = 0.5, exit = 0.5 }";
    refused(&[SOURCE, STATION, half_back], "station s: no steady state at a load of 1.2");
    read(&[SOURCE, STATION, half_back, "servers = 2"]).unwrap();
    read(&[SOURCE, STATION, half_back, "capacity = 10"]).unwrap();
    refused(
        &[SOURCE, "batch = [[1, 0.5], [4, 0.5]]", STATION],
        "station s: no steady state at a load of 1.5",
    );
    refused(
        &[SOURCE, "[[station]]\nname = \"s\"\nservice = \"constant(100us)\""],
        "station s: no steady state",
    );
    // Behind a station that loses customers nothing is claimed.
    let behind = "capacity = 1\nto = \"t\"\n[[station]]\nname = \"t\"\nservice = \"constant(120us)\"";
    read(&[SOURCE, "to = \"s\"", STATION, behind]).unwrap();
}

#[test]
fn classes_are_named_where_there_are_classes() {
    let class = "[[class]]\nname = \"sign\"";
    refused(&[class, SOURCE, STATION], "class sign: no source");
    refused(&[SOURCE, "class = \"sign\"", STATION], "source a: class: there is none named `sign`");
    let other = "[[source]]\nname = \"b\"\nclass = \"sign\"\ninterarrival = \"exponential(1ms)\"";
    refused(&[class, other, SOURCE, STATION], "source a: class: it is missing");
    let by_class = |services: &str| format!("[[station]]\nname = \"s\"\nservice = {services}");
    refused(&[class, other, &by_class("{ hash = \"exponential(1us)\" }")], "station s: service of hash");
    refused(&[class, other, &by_class("{}")], "station s: service of sign: it is missing");
    read(&[class, other, &by_class("{ sign = \"exponential(1us)\" }"), "order = \"priority\""]).unwrap();
    refused(&[SOURCE, STATION, "order = \"priority\""], "station s: order: there are no classes");
}

#[test]
fn stations_are_coherent() {
    for (line, begins) in [
        ("servers = 0", "station s: servers: 0 is out of range"),
        ("servers = 100001", "station s: servers: 100001"),
        ("servers = 4\ncapacity = 3", "station s: capacity: 3 is less than its 4 servers"),
        ("capacity = 0", "station s: capacity: 0"),
        ("servers = 2\nbulk = { most = 4 }", "station s: bulk: it has several servers"),
        ("bulk = { least = 5, most = 4 }", "station s: bulk: least: 5"),
        ("capacity = 3\nbulk = { most = 4 }", "station s: bulk: most: it is above the capacity"),
        ("order = \"processor-sharing\"\nbulk = { most = 4 }", "station s: bulk: a bulk is neither"),
        ("order = \"processor-sharing\"\nwake = { count = 4 }", "station s: wake: its server is shared"),
        ("servers = 2\nwake = { count = 4 }", "station s: wake: it has several servers"),
        (
            "wake = { count = 4, poll = \"constant(1us)\" }",
            "station s: wake: poll: it does not go with count",
        ),
        ("wake = { timer = \"-1us\" }", "station s: wake: timer: -"),
        ("capacity = 3\nwake = { count = 4 }", "station s: wake: count: it is above the capacity"),
        ("bulk = { most = 4 }\nwake = { count = 4 }", "station s: wake: it does not go with bulk"),
    ] {
        refused(&[SOURCE, STATION, line], begins);
    }
}

#[test]
fn sources_are_coherent() {
    let source = |line: &str| format!("[[source]]\nname = \"a\"\n{line}");
    for (line, begins) in [
        ("", "source a: it does not say in one way"),
        ("interarrival = \"constant(1s)\"\ntrace = [1]", "source a: it does not say in one way"),
        ("trace = []", "source a: trace: gaps: 0"),
        ("trace = [0, 0]", "source a: trace: mean gap: 0"),
        ("trace = [1, -1]", "source a: trace: gap 2: -1"),
        ("trace = \"gaps.csv\"", "source a: trace: file `gaps.csv`: files are not read here"),
        ("mmpp = { rates = [1, 2], stays = [1] }", "source a: mmpp: stays: there are 1 for 2"),
        ("mmpp = { rates = [0, 0], stays = [1, 1] }", "source a: mmpp: rates: nobody"),
        ("mmpp = { rates = [1], stays = [0] }", "source a: mmpp: stays: 0"),
        ("closed = { customers = 0 }", "source a: closed: customers: 0"),
        ("closed = { customers = 2 }\nbatch = [[1, 1]]", "source a: batch"),
        ("interarrival = \"constant(1s)\"\nbatch = [[0, 1]]", "source a: batch: size: 0"),
        (
            "interarrival = \"constant(1s)\"\nbatch = [[2, 0.5]]",
            "source a: batch: probabilities: they add up",
        ),
    ] {
        refused(&[&source(line), STATION], begins);
    }
    read(&[&source("trace = [\"10us\", 1]"), STATION]).unwrap();
}

#[test]
fn closed_populations_do_not_stand_still() {
    let closed = |rest: &str| format!("[[source]]\nname = \"a\"\nclosed = {{ customers = 4{rest} }}");
    read(&[&closed(""), STATION]).unwrap();
    let coalescer = |count: u32| format!("to = \"c\"\n[[coalescer]]\nname = \"c\"\ncount = {count}");
    read(&[&closed(""), "to = \"s\"", STATION, &coalescer(4)]).unwrap();
    refused(&[&closed(""), "to = \"s\"", STATION, &coalescer(5)], "coalescer c: count: all 4 customers");
    read(&[&closed(""), "to = \"s\"", STATION, &coalescer(5), "timer = \"1ms\""]).unwrap();
    refused(&[&closed(""), STATION, "capacity = 3"], "source a: closed: think: who finds station s full");
    read(&[&closed(", think = \"exponential(1ms)\""), STATION, "capacity = 3"]).unwrap();
    let alone = "[[coalescer]]\nname = \"c\"\ntimer = \"1us\"";
    refused(&[&closed(""), alone], "source a: closed: think: without it");
}

#[test]
fn coalescers_and_stops_are_coherent() {
    let coalescer = |line: &str| format!("[[coalescer]]\nname = \"c\"\n{line}");
    let table =
        |from: &str, caps: &str| format!("adaptive = {{ window = \"1ms\", from = {from}, caps = {caps} }}");
    for (line, begins) in [
        ("", "coalescer c: it holds nobody back"),
        ("count = 0", "coalescer c: count: 0"),
        ("timer = 0", "coalescer c: timer: 0"),
        ("cap = \"-3/s\"", "coalescer c: cap: -3"),
        (&table("[0, 10, 5]", "[1, 2, 3]"), "coalescer c: adaptive: from: it does not rise"),
        (&table("[1]", "[1]"), "coalescer c: adaptive: from: it does not begin at 0"),
        (&table("[0, 10]", "[1]"), "coalescer c: adaptive: caps: there are 1 for 2"),
        (&table("[]", "[]"), "coalescer c: adaptive: from: 0"),
    ] {
        refused(&[SOURCE, &coalescer(line)], begins);
    }
    for (line, begins) in [
        ("customers = 0", "stop: customers: 0"),
        ("replications = 0", "stop: replications: 0"),
        ("precision = 0", "stop: precision: 0"),
        ("precision = nan", "stop: precision: NaN"),
    ] {
        refused(&[SOURCE, STATION, "[stop]", line], begins);
    }
}

#[test]
fn a_large_system_is_checked_in_no_time() {
    let begun = processor_time();
    let mut text = format!("{SOURCE}to = \"s0\"\n");
    for i in 0..20_000 {
        text += &format!("[[station]]\nname = \"s{i}\"\nservice = \"exponential(1us)\"\n");
        text += &if i < 19_999 {
            format!("to = {{ s{} = 0.999, s0 = 0.0005, exit = 0.0005 }}\n", i + 1)
        } else {
            String::new()
        };
    }
    read(&[&text]).unwrap();
    // Behind a chance of ten thousand to one of coming through, the flows settle late or never: it ends all the same.
    let took = processor_time() - begun;
    assert!(took.as_secs() < 20, "{took:?}");
}
