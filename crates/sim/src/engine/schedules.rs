//! Tiny schedules worked out by hand: who leaves when, after how long, event by event.

use tollway_model::spec::Spec;

use super::{Engine, Progress};
use crate::system::System;

/// Time, number of customers who leave then, and their times in the system together; times in ms.
type Leaving = (f64, u64, f64);

/// The first leavings of the system, whose times are in ms.
fn leavings(text: &str, first: usize) -> Vec<Leaving> {
    let spec = Spec::from_toml(text).unwrap_or_else(|error| panic!("{error}"));
    let system = System::new(&spec).unwrap();
    let mut engine = Engine::new(&system, 1, 0).unwrap();
    let ms = |seconds: f64| (seconds * 1e6).round() / 1e3;
    let mut leavings = Vec::new();
    for _ in 0..first {
        let before = engine.sums;
        while engine.run(before.left + 1).unwrap() == Progress::Underway {}
        let after = engine.sums;
        leavings.push((ms(engine.now), after.left - before.left, ms(after.response - before.response)));
    }
    let laws = engine.laws(crate::totals::Layout::new(&system));
    assert!(laws.iter().all(|law| law.holds), "{laws:?}");
    leavings
}

/// A source of customers at these times (ms), and after very long again.
fn at(name: &str, times: &[f64], more: &str) -> String {
    let mut last = 0.0;
    let mut gaps: Vec<String> = Vec::new();
    for time in times {
        gaps.push(format!("\"{}ms\"", time - last));
        last = *time;
    }
    // The trace begins again with its first gap: let that be long after.
    gaps.push("\"1000s\"".into());
    format!("[[source]]\nname = \"{name}\"\ntrace = [{}]\n{more}\n", gaps.join(", "))
}

fn station(more: &str) -> String {
    format!("[[station]]\nname = \"device\"\n{more}\n")
}

#[test]
fn first_come_first_served() {
    let text = at("s", &[1.0, 2.0, 3.0, 20.0], "") + &station(r#"service = "constant(2ms)""#);
    assert_eq!(leavings(&text, 4), [(3.0, 1, 2.0), (5.0, 1, 3.0), (7.0, 1, 4.0), (22.0, 1, 2.0)]);
}

#[test]
fn two_servers() {
    let text = at("s", &[1.0, 2.0, 3.0], "") + &station("service = \"constant(3ms)\"\nservers = 2");
    assert_eq!(leavings(&text, 3), [(4.0, 1, 3.0), (5.0, 1, 3.0), (7.0, 1, 4.0)]);
}

/// What was set first comes first: the next arrival is set before the service of this one.
#[test]
fn at_one_moment_the_event_that_was_set_first_comes_first() {
    let full = station("service = \"constant(1ms)\"\ncapacity = 1");
    // The customer of 2 ms comes when the first one is done, but his coming was set before: he finds no place.
    assert_eq!(leavings(&(at("s", &[1.0, 2.0, 5.0], "") + &full), 2), [(2.0, 1, 1.0), (6.0, 1, 1.0)]);
    // Here his coming is set only at 1.5 ms, by another one who is lost: after the end of the service.
    let text = at("s", &[1.0, 1.5, 2.0, 5.0], "") + &full;
    assert_eq!(leavings(&text, 3), [(2.0, 1, 1.0), (3.0, 1, 1.0), (6.0, 1, 1.0)]);
}

#[test]
fn a_full_station_loses_who_comes() {
    let text = at("s", &[1.0, 1.1, 1.2, 6.0], "") + &station("service = \"constant(2ms)\"\ncapacity = 2");
    assert_eq!(leavings(&text, 3), [(3.0, 1, 2.0), (5.0, 1, 3.9), (8.0, 1, 2.0)]);
}

const CLASSES: &str = "[[class]]\nname = \"high\"\npriority = 0\n[[class]]\nname = \"middle\"\npriority = 1\n[[class]]\nname = \"low\"\npriority = 2\n";

fn classes(high: &[f64], middle: &[f64], low: &[f64], more: &str) -> String {
    CLASSES.to_owned()
        + &at("a", high, "class = \"high\"")
        + &at("b", middle, "class = \"middle\"")
        + &at("c", low, "class = \"low\"")
        + &station(more)
}

#[test]
fn higher_classes_go_first_but_do_not_interrupt() {
    let text = classes(&[1.4], &[1.2], &[1.0, 1.1], "service = \"constant(1ms)\"\norder = \"priority\"");
    assert_eq!(leavings(&text, 4), [(2.0, 1, 1.0), (3.0, 1, 1.6), (4.0, 1, 2.8), (5.0, 1, 3.9)]);
}

#[test]
fn higher_classes_interrupt_and_services_go_on() {
    let text = classes(&[3.0], &[2.0], &[1.0], "service = \"constant(2ms)\"\norder = \"preemptive-resume\"");
    // Low from 1 to 2, middle from 2 to 3, high from 3 to 5, middle from 5 to 6, low from 6 to 7.
    assert_eq!(leavings(&text, 3), [(5.0, 1, 2.0), (6.0, 1, 4.0), (7.0, 1, 6.0)]);
}

#[test]
fn of_two_servers_the_lowest_and_latest_is_interrupted_and_goes_on_anywhere() {
    let more = "service = \"constant(4ms)\"\norder = \"preemptive-resume\"\nservers = 2";
    let text = classes(&[3.0], &[1e5], &[1.0, 2.0], more);
    // Low from 1 to 5 and from 2 to 3; high from 3 to 7; the second low goes on at 5 with 3 ms left.
    assert_eq!(leavings(&text, 3), [(5.0, 1, 4.0), (7.0, 1, 4.0), (8.0, 1, 6.0)]);
}

#[test]
fn equals_do_not_interrupt() {
    let text =
        classes(&[1.0, 2.0], &[1e5], &[1e5], "service = \"constant(2ms)\"\norder = \"preemptive-resume\"");
    assert_eq!(leavings(&text, 2), [(3.0, 1, 2.0), (5.0, 1, 3.0)]);
}

#[test]
fn shared_servers() {
    let sharing = |servers: u32| {
        let more = format!("service = \"constant(2ms)\"\norder = \"processor-sharing\"\nservers = {servers}");
        leavings(&(at("s", &[1.0, 2.0, 20.0], "") + &station(&more)), 3)
    };
    // Alone for 1 ms; then half as fast until 4; then the second alone has 1 ms left.
    assert_eq!(sharing(1), [(4.0, 1, 3.0), (5.0, 1, 3.0), (22.0, 1, 2.0)]);
    assert_eq!(sharing(2), [(3.0, 1, 2.0), (4.0, 1, 2.0), (22.0, 1, 2.0)]);
}

#[test]
fn bulks() {
    let text = at("s", &[1.0, 2.0, 3.0, 4.0, 4.1, 4.2, 9.0], "")
        + &station("service = \"constant(2500us)\"\nbulk = { least = 2, most = 3 }");
    // Two from 2 to 4.5, of four who wait three from 4.5 to 7, and one more waits for somebody who comes at 9.
    assert_eq!(leavings(&text, 3), [(4.5, 2, 6.0), (7.0, 3, 9.9), (11.5, 2, 9.8)]);
}

#[test]
fn a_bulk_takes_longer_for_each_in_it() {
    let text = at("s", &[1.0, 1.5, 1.6], "")
        + &station("service = \"constant(1ms)\"\nbulk = { most = 8, each = \"constant(100us)\" }");
    assert_eq!(leavings(&text, 2), [(2.1, 1, 1.1), (3.3, 2, 3.5)]);
}

#[test]
fn customers_of_one_moment_are_one_bulk() {
    let batch = "batch = [[3, 1.0]]";
    let text = at("s", &[1.0, 5.0], batch) + &station("service = \"constant(1ms)\"\nbulk = { most = 8 }");
    assert_eq!(leavings(&text, 2), [(2.0, 3, 3.0), (6.0, 3, 3.0)]);
}

#[test]
fn sleep_until_so_many_wait() {
    let text =
        at("s", &[1.0, 2.0, 3.0, 3.1], "") + &station("service = \"constant(500us)\"\nwake = { count = 3 }");
    assert_eq!(leavings(&text, 4), [(3.5, 1, 2.5), (4.0, 1, 2.0), (4.5, 1, 1.5), (5.0, 1, 1.9)]);
}

#[test]
fn sleep_until_the_first_waited_so_long() {
    let text = at("s", &[1.0, 2.0, 6.0], "")
        + &station("service = \"constant(500us)\"\nwake = { count = 3, timer = \"1500us\" }");
    assert_eq!(leavings(&text, 3), [(3.0, 1, 2.0), (3.5, 1, 1.5), (8.0, 1, 2.0)]);
}

#[test]
fn a_look_at_the_end_of_each_period() {
    let text = at("s", &[1.5, 2.5], "")
        + &station("service = \"constant(250us)\"\nwake = { poll = \"constant(1ms)\" }");
    // Looks at 1 and 2; from 2.25, when nobody waits any more, at 3.25.
    assert_eq!(leavings(&text, 2), [(2.25, 1, 0.75), (3.5, 1, 1.0)]);
}

#[test]
fn spinning_first_and_set_up_after_sleep() {
    let wake = "wake = { spin = \"500us\", setup = \"constant(100us)\" }";
    let text = at("s", &[1.0, 1.5, 3.0], "") + &station(&format!("service = \"constant(250us)\"\n{wake}"));
    assert_eq!(leavings(&text, 3), [(1.35, 1, 0.35), (1.75, 1, 0.25), (3.35, 1, 0.35)]);
}

#[test]
fn interrupted_by_a_higher_class_while_others_sleep() {
    let more =
        "service = \"constant(2ms)\"\norder = \"preemptive-resume\"\nwake = { setup = \"constant(1ms)\" }";
    // Set up from 1 to 2; low from 2 to 3, high from 3 to 5, low from 5 to 6.
    assert_eq!(leavings(&classes(&[3.0], &[1e5], &[1.0], more), 2), [(5.0, 1, 2.0), (6.0, 1, 5.0)]);
}

fn coalescer(more: &str) -> String {
    format!("[[coalescer]]\nname = \"interrupts\"\n{more}\n")
}

#[test]
fn held_until_so_many_or_so_long() {
    let text = at("s", &[1.0, 1.2, 3.0, 9.0], "") + &coalescer("count = 2\ntimer = \"1ms\"");
    assert_eq!(leavings(&text, 3), [(1.2, 2, 0.2), (4.0, 1, 1.0), (10.0, 1, 1.0)]);
}

#[test]
fn released_not_more_often_than_the_cap() {
    let text = at("s", &[1.0, 1.2, 1.4, 5.0], "") + &coalescer("cap = \"1000/s\"");
    assert_eq!(leavings(&text, 3), [(1.0, 1, 0.0), (2.0, 2, 1.4), (5.0, 1, 0.0)]);
}

#[test]
fn a_count_and_a_cap_must_both_allow_it() {
    let text = at("s", &[1.0, 1.2, 1.4, 1.5, 5.0, 5.1], "") + &coalescer("count = 2\ncap = \"1000/s\"");
    // Two at 1.2; two more are there at 1.5, but not before 2.2.
    assert_eq!(leavings(&text, 3), [(1.2, 2, 0.2), (2.2, 2, 1.5), (5.1, 2, 0.1)]);
}

#[test]
fn released_at_multiples_of_the_period() {
    let text = at("s", &[1.5, 1.75, 4.0, 4.5], "") + &coalescer("poll = \"1ms\"");
    // Who comes at a multiple has missed it.
    assert_eq!(leavings(&text, 2), [(2.0, 2, 0.75), (5.0, 2, 1.5)]);
}

#[test]
fn a_cap_that_follows_the_load() {
    let text = at("s", &[0.1, 0.2, 0.3, 1.1, 1.2, 2.6, 3.5, 3.55], "")
        + &coalescer(
            "adaptive = { window = \"1ms\", from = [\"0/s\", \"3000/s\"], caps = [\"10k/s\", \"1k/s\"] }",
        );
    // Three in the first window: then a gap of 1 ms, so those of 1.1 and 1.2 leave at 0.3 + 1 ms. Two in the second:
    // again gaps of 0.1 ms, so all others leave at once but for the last one, who comes 0.05 ms after a release.
    let expected = [
        (0.1, 1, 0.0),
        (0.2, 1, 0.0),
        (0.3, 1, 0.0),
        (1.3, 2, 0.3),
        (2.6, 1, 0.0),
        (3.5, 1, 0.0),
        (3.6, 1, 0.05),
    ];
    assert_eq!(leavings(&text, 7), expected);
}

#[test]
fn a_lower_cap_at_the_end_of_a_window_holds_for_those_who_wait() {
    let text = at("s", &[0.1, 0.2, 0.9], "")
        + &coalescer(
            "adaptive = { window = \"1ms\", from = [\"0/s\", \"3000/s\"], caps = [\"2k/s\", \"1k/s\"] }",
        );
    // Released at 0.1; the second at 0.6 by the gap of 0.5; the third could leave at 1.1, but from 1 on the gap is 1.
    assert_eq!(leavings(&text, 3), [(0.1, 1, 0.0), (0.6, 1, 0.4), (1.6, 1, 0.7)]);
}

#[test]
fn a_release_arrives_as_so_many_customers_in_order() {
    let text = at("s", &[1.0, 1.5], "to = \"interrupts\"")
        + &coalescer("count = 2\nto = \"device\"")
        + &station("service = \"constant(1ms)\"");
    assert_eq!(leavings(&text, 2), [(2.5, 1, 1.5), (3.5, 1, 2.0)]);
}

#[test]
fn a_population_thinks_and_comes_back() {
    let text = "[[source]]\nname = \"s\"\nclosed = { customers = 2, think = \"constant(1ms)\" }\n".to_owned()
        + &station("service = \"constant(2ms)\"");
    // Both at 1; the first is served until 3 and is back at 4, the second until 5 and is back at 6.
    assert_eq!(leavings(&text, 4), [(3.0, 1, 2.0), (5.0, 1, 4.0), (7.0, 1, 3.0), (9.0, 1, 3.0)]);
}

#[test]
fn a_population_that_does_not_think() {
    let text = "[[source]]\nname = \"s\"\nclosed = { customers = 3 }\n".to_owned()
        + &station("service = \"constant(2ms)\"\nservers = 2");
    // At 2 the third begins, the first comes back and begins as well, the second comes back and waits until 4.
    assert_eq!(leavings(&text, 4), [(2.0, 1, 2.0), (2.0, 1, 2.0), (4.0, 1, 4.0), (4.0, 1, 2.0)]);
}

#[test]
fn from_station_to_station_and_back() {
    let text = at("s", &[1.0, 1.5], "to = \"device\"")
        + &station("service = \"constant(1ms)\"\nto = \"second\"")
        + "[[station]]\nname = \"second\"\nservice = \"constant(3ms)\"\n";
    assert_eq!(leavings(&text, 2), [(5.0, 1, 4.0), (8.0, 1, 6.5)]);
}
