//! Clocks as they are: set back, coarse, read as 0; and what a trace of them may and may not be told to say.

use std::fmt::Write;

use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};
use tollway_model::fit::{Family, Fit, Options, Requests, Trace, fit};

/// Times of one customer, seconds: arrival, start, end.
type Customer = [f64; 3];

/// Customers of one server, 0.5 a second, each for 0.5 s on average: a load of a quarter.
fn queue(customers: usize, seed: u64) -> Vec<Customer> {
    let mut generator = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut exponential = |mean: f64| -mean * generator.random::<f64>().ln();
    let (mut arrival, mut free) = (94_800.0, 0.0_f64);
    let mut one = || {
        arrival += exponential(2.0);
        let start = free.max(arrival);
        free = start + exponential(0.5);
        [arrival, start, free]
    };
    (0..customers).map(|_| one()).collect()
}

/// As a clock shows them that is set back by so much at a time.
fn set_back(customers: &[Customer], at: f64, by: f64) -> Vec<Customer> {
    let shown = |time: f64| if time >= at { time - by } else { time };
    customers.iter().map(|times| times.map(shown)).collect()
}

fn csv(customers: &[Customer]) -> String {
    let mut text = String::from("arrival,start,end");
    for [arrival, start, end] in customers {
        write!(text, "\n{arrival:.3},{start:.3},{end:.3}").unwrap();
    }
    text
}

fn fitted(text: &str) -> Fit {
    fit(&Trace::read(text.as_bytes(), None).unwrap(), Options::default()).unwrap()
}

fn notes(found: &Fit) -> String {
    found.notes.join("\n")
}

fn value(found: &Fit, name: &str) -> f64 {
    found.get(name).unwrap_or_else(|| panic!("{name}: {found:#?}")).value
}

/// The seconds that a note says after these words.
#[track_caller]
fn said(found: &Fit, words: &str) -> f64 {
    let notes = notes(found);
    let (_, rest) = notes.split_once(words).unwrap_or_else(|| panic!("no `{words}`: {notes}"));
    let (number, _) = rest.split_once(" s ").unwrap_or_else(|| panic!("no seconds: {rest}"));
    number.parse().unwrap_or_else(|_| panic!("no number: {number}"))
}

#[track_caller]
fn near(found: f64, wanted: f64, share: f64) {
    assert!((found / wanted - 1.0).abs() <= share, "{found} is not {wanted}");
}

#[test]
fn a_clock_set_back_makes_no_second_server_and_no_second_rate() {
    // What passed at the step differs from queue to queue: of the others only the least and the hour are asked for.
    for (seed, steps) in [(1, &[5.0, 40.0, 493.0, 3600.0][..]), (2, &[5.0, 3600.0])] {
        let customers = queue(500, seed);
        let right = fitted(&csv(&customers));
        let passed = |row: usize| customers[row][0] - customers[row - 1][0];
        // Just before one comes that comes soon after another, so that even 5 s back are less than what passed.
        let row = (250..500).find(|row| passed(*row) < 1.0).unwrap();
        let at = customers[row][0] - 1e-4;
        for by in steps.iter().copied() {
            let found = fitted(&csv(&set_back(&customers, at, by)));
            let back = said(&found, &format!("line {}: the clock goes back there, by ", row + 2));
            near(back, by - passed(row), 0.005);
            assert_eq!(found.servers, 1, "set back by {by} s: {found:#?}");
            for name in ["lambda", "mu", "utilization", "gap.scv", "service.scv"] {
                near(value(&found, name), value(&right, name), 0.02);
            }
            let is_an_hour = notes(&found).contains("an hour, as at the end of summer time");
            assert_eq!(is_an_hour, by == 3600.0, "{}", notes(&found));
        }
    }
}

#[test]
fn who_is_there_when_the_clock_is_set_back_is_left_out() {
    let customers = queue(500, 4);
    // In the midst of a service.
    let served = customers[200..].iter().find(|[_, start, end]| end - start > 1.0).unwrap();
    let at = 0.5 * (served[1] + served[2]);
    let found = fitted(&csv(&set_back(&customers, at, 100.0)));
    assert!(notes(&found).contains("that may have times of both sides"), "{}", notes(&found));
    assert_eq!(found.servers, 1);
    near(value(&found, "utilization"), value(&fitted(&csv(&customers)), "utilization"), 0.05);
}

#[test]
fn an_end_before_its_arrival_names_by_how_much() {
    let text = "arrival,end\n10,11\n12,7.5\n14,15\n";
    let told = Trace::read(text.as_bytes(), None).unwrap_err().to_string();
    assert!(told.starts_with("line 3, column end: it is before arrival, by 4.5 s; "), "{told}");
    assert!(told.contains("set back"), "{told}");
}

/// As a program writes that notes an arrival and is held up before it writes the line.
#[test]
fn a_line_that_is_late_by_itself_is_no_clock_set_back() {
    let mut customers = queue(500, 5);
    customers.swap(100, 103);
    customers.swap(300, 301);
    let mut text = String::from("arrival");
    for [arrival, ..] in &customers {
        write!(text, "\n{arrival:.3}").unwrap();
    }
    let found = fitted(&text);
    assert!(
        notes(&found).contains("they were sorted") && !notes(&found).contains("clock"),
        "{}",
        notes(&found)
    );
    near(value(&found, "lambda"), 0.5, 0.15);
}

#[test]
fn lines_in_the_order_of_ends_are_of_one_clock() {
    let mut generator = Xoshiro256PlusPlus::seed_from_u64(6);
    let mut customers: Vec<Customer> = (0..500)
        .map(|i| {
            let arrival = f64::from(i);
            [arrival, arrival, arrival - 4.0 * generator.random::<f64>().ln()]
        })
        .collect();
    customers.sort_by(|a, b| a[2].total_cmp(&b[2]));
    let found = fitted(&csv(&customers));
    assert!(!notes(&found).contains("clock goes back"), "{}", notes(&found));
    assert!(found.servers > 4);
    near(value(&found, "lambda"), 1.0, 0.01);
}

#[test]
fn a_trace_that_is_played_again_has_one_clock() {
    let customers = queue(100, 7);
    let text = csv(&set_back(&customers, customers[60][0] - 1e-3, 60.0));
    let told = Requests::read(text.as_bytes()).unwrap_err().to_string();
    assert!(told.starts_with("line 62: the clock goes back there, by "), "{told}");
    assert!(told.contains("cut the trace there"), "{told}");
}

#[test]
fn what_a_web_server_logs_has_arrivals() {
    let customers = queue(400, 8);
    let mut text = String::from("end,response");
    for [arrival, _, end] in &customers {
        write!(text, "\n{end:.3},{:.3}", end - arrival).unwrap();
    }
    let (found, right) = (fitted(&text), fitted(&csv(&customers)));
    assert!(notes(&found).contains("arrivals are end less response"), "{}", notes(&found));
    for name in ["lambda", "mu", "utilization", "response.mean"] {
        near(value(&found, name), value(&right, name), 0.01);
    }
    assert!(!found.model("mm1").unwrap().rejected && found.model("md1").unwrap().rejected);
}

#[test]
fn moments_with_a_zone_are_of_one_clock_and_without_one_they_show_the_step() {
    // Ten minutes round the end of summer time, a line each second.
    let line = |second: u32, zoned: bool| {
        let (hour, zone) = if second < 300 { (2, "+02:00") } else { (2, "+01:00") };
        let (minute, of_minute) =
            if second < 300 { (55 + second / 60, second % 60) } else { ((second - 300) / 60, second % 60) };
        let zone = if zoned { zone } else { "" };
        format!(
            "2026-10-25T{hour:02}:{minute:02}:{of_minute:02}.{:03}{zone},{:.3}\n",
            second * 7 % 10,
            0.1 + 0.001 * f64::from(second % 13)
        )
    };
    let text =
        |zoned| String::from("arrival,service\n") + &(0..600).map(|s| line(s, zoned)).collect::<String>();
    let found = fitted(&text(true));
    assert!(!notes(&found).contains("clock goes back"), "{}", notes(&found));
    near(value(&found, "lambda"), 1.0, 0.01);
    let found = fitted(&text(false));
    assert!(notes(&found).contains("line 302: the clock goes back there"), "{}", notes(&found));
    assert!(notes(&found).contains("summer time"), "{}", notes(&found));
    near(value(&found, "lambda"), 1.0, 0.01);
    let told = Trace::read(&b"arrival_us\n2026-10-25T02:55:00Z\n"[..], None).unwrap_err().to_string();
    assert!(told.starts_with("line 2, column arrival_us: `2026-10-25T02:55:00Z` is a date"), "{told}");
}

/// As Apache and nginx write them unless they are configured otherwise, before and after the end of summer time.
#[test]
fn moments_of_the_common_log_format_are_of_one_clock() {
    let line = |second: u32| {
        let zone = if second < 300 { "+0200" } else { "+0100" };
        let of_hour = if second < 300 { 3300 + second } else { second - 300 };
        format!("[25/Oct/2026:02:{:02}:{:02} {zone}]\n", of_hour / 60, of_hour % 60)
    };
    let text = String::from("arrival\n") + &(0..600).map(line).collect::<String>();
    let found = fitted(&text);
    assert!(!notes(&found).contains("clock goes back"), "{}", notes(&found));
    near(value(&found, "lambda"), 1.0, 1e-9);
}

#[test]
fn after_a_pause_no_interval_reaches_over_powers_of_ten() {
    for pause in [1e4, 1e7] {
        let mut customers = queue(300, 9);
        for times in &mut customers[150..] {
            *times = times.map(|time| time + pause);
        }
        let found = fitted(&csv(&customers));
        for estimate in &found.estimates {
            let (Some(lo), Some(hi)) = (estimate.lo, estimate.hi) else { continue };
            assert!(hi <= 1e3 * lo || lo == 0.0, "{estimate:?}");
            assert!(hi <= 1e3 * estimate.value.max(0.1), "{estimate:?}");
        }
        assert!(notes(&found).contains("was that a gap?"), "{}", notes(&found));
    }
}

/// Gaps and services that a clock of this unit reads, written with so many decimals.
fn read_by(unit: f64, decimals: usize, seed: u64, customers: usize) -> String {
    let mut generator = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut exponential = |mean: f64| -mean * generator.random::<f64>().ln();
    let mut text = String::from("arrival,service");
    let mut now = 0.0;
    for _ in 0..customers {
        now += exponential(0.15);
        let read = (now / unit).floor() * unit;
        write!(text, "\n{read:.decimals$},{:.4}", exponential(0.09)).unwrap();
    }
    text
}

#[test]
fn a_clock_too_coarse_for_a_verdict_gives_none() {
    for (unit, decimals) in [(1.0, 0), (1.0, 3), (0.1, 1)] {
        let found = fitted(&read_by(unit, decimals, 1, 600));
        assert!(notes(&found).contains("too coarse for a verdict"), "{unit} s: {}", notes(&found));
        let scv = found.get("gap.scv").unwrap();
        assert!(scv.value > 0.5, "{scv:?}");
        assert!(scv.lo.is_none_or(|lo| lo <= 1.0) && scv.hi.is_none_or(|hi| hi >= 1.0), "{scv:?}");
        assert!(!found.model("mm1").unwrap().rejected, "{unit} s: {:?}", found.model("mm1"));
        let gaps = found.families.iter().filter(|verdict| verdict.of == "gap");
        assert!(gaps.clone().all(|verdict| verdict.why_not.is_some()), "{found:#?}");
        near(value(&found, "lambda"), 1.0 / 0.15, 0.15);
    }
    let few = fitted("gap\n0\n0\n0\n0\n1\n0\n0\n0\n0\n2\n0\n0\n");
    near(value(&few, "gap.scv"), 6.18, 0.01);
    assert!(few.get("gap.scv").unwrap().lo.is_none());
}

#[test]
fn times_two_ticks_apart_are_no_constant_and_one_tick_apart_they_may_be() {
    let services = |short: u32, long: u32| {
        let ms = |i: u32| if i.wrapping_mul(2_654_435_761) >> 31 == 0 { short } else { long };
        (0..400).fold(String::from("service_ms"), |text, i| format!("{text}\n{}", ms(i)))
    };
    for (short, long, scv) in [(5, 7, 0.028), (200, 202, 2.475e-5)] {
        let apart = fitted(&services(short, long));
        assert!(apart.family("service", Family::Constant).unwrap().rejected, "{short} and {long} ms");
        near(value(&apart, "service.scv"), scv, 0.05);
    }
    let fine = fitted(&services(200, 201));
    assert!(!fine.family("service", Family::Constant).unwrap().rejected);
    let beside = fitted(&services(5, 6));
    assert!(!beside.family("service", Family::Constant).unwrap().rejected);
    let scv = beside.get("service.scv").unwrap();
    // A uniform from 5 to 6 ms would read the same.
    assert!(scv.value == 0.0 && scv.lo == Some(0.0) && scv.hi > Some(1.0 / 12.0 / 30.25), "{scv:?}");
}

#[test]
fn services_that_all_read_0_are_told_of() {
    let text = (0..50).fold(String::from("gap,service"), |text, i| format!("{text}\n0.{},0", 10 + i));
    let found = fitted(&text);
    assert!(notes(&found).contains("all 50 services read 0"), "{}", notes(&found));
}

/// 200 services of which one is shorter than half a nanosecond and reads 0, as one in so many does.
#[test]
fn one_service_that_reads_0_rejects_no_family() {
    let mut generator = Xoshiro256PlusPlus::seed_from_u64(10);
    let mut text = String::from("gap_ns,service_ns");
    for i in 0..2000 {
        let [gap, service] = [121_000.0, 100_000.0].map(|mean| -mean * generator.random::<f64>().ln());
        write!(text, "\n{gap:.0},{:.0}", if i == 700 { 0.3 } else { service }).unwrap();
    }
    let found = fitted(&text);
    for family in [Family::Exponential, Family::Gamma, Family::Weibull, Family::Hyperexponential] {
        let verdict = found.family("service", family).unwrap();
        assert!(!verdict.rejected, "{verdict:?}");
        assert!(verdict.fitted.as_ref().unwrap().ad.is_some(), "{verdict:?}");
    }
    assert!(!found.model("mm1").unwrap().rejected, "{:?}", found.model("mm1"));
    // A clock that nobody knows reads 0 as well.
    let mut services: Vec<f64> = (0..2000).map(|_| -generator.random::<f64>().ln()).collect();
    services[3] = 0.0;
    let found = fit(&Trace::from_series(None, Some(services)), Options::default()).unwrap();
    assert!(!found.family("service", Family::Exponential).unwrap().rejected, "{found:#?}");
}

/// Twelve days of times without a date had the rate of all days at once, and nine servers.
#[test]
fn a_clock_set_back_every_midnight_makes_no_second_server_either() {
    const DAY: f64 = 86_400.0;
    let customers: Vec<Customer> =
        queue(6_000, 7).iter().map(|times| times.map(|time| time * DAY / 1_000.0)).collect();
    let shown: Vec<Customer> = customers.iter().map(|times| times.map(|time| time % DAY)).collect();
    let found = fitted(&csv(&shown));
    near(value(&found, "gap.mean"), 2.0 * DAY / 1_000.0, 0.1);
    assert!(notes(&found).contains("the clock goes back there"), "{}", notes(&found));
    assert_eq!(notes(&found).matches("the clock goes back there").count(), 13, "{}", notes(&found));
}

#[test]
fn a_clock_set_back_in_a_trace_of_few_lines_is_told() {
    let customers = queue(18, 3);
    let at = customers[9][0];
    let found = fitted(&csv(&set_back(&customers, at, 100.0)));
    assert!(notes(&found).contains("the clock goes back there"), "{}", notes(&found));
    assert!(value(&found, "gap.mean") < 4.0);
}
