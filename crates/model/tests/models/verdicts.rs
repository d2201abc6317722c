//! Verdicts over whole queues: the model that made a trace is hardly ever rejected, and wrong ones are. `TOLLWAY_LONG=1`
//! makes ten times as many traces.

use std::fmt::Write;

use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};
use tollway_model::fit::{Family, Fit, Options, Trace, fit};

/// Customers of one server at a load of 0.7, as CSV in microseconds, fitted.
fn queue(seed: u64, customers: u32, service: impl Fn(&mut dyn FnMut() -> f64) -> f64) -> Fit {
    let mut generator = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut exponential = move || -generator.random::<f64>().ln();
    let mut text = String::from("arrival_us,start_us,end_us\n");
    let (mut arrival, mut free) = (0.0, 0.0_f64);
    for _ in 0..customers {
        arrival += 100.0 * exponential();
        let start = free.max(arrival);
        free = start + 70.0 * service(&mut exponential);
        writeln!(text, "{arrival:.4},{start:.4},{free:.4}").unwrap();
    }
    let trace = Trace::read(text.as_bytes(), None).unwrap();
    fit(&trace, Options { seed, servers: None }).unwrap()
}

/// Rejected at most so often: 5 % of 30 are 1.5, and 99.9 % of the binomial lie up to 6; of 300, up to 28.
fn few(traces: u64) -> usize {
    if traces == 30 { 6 } else { 28 }
}

fn traces() -> u64 {
    if std::env::var_os("TOLLWAY_LONG").is_some() { 300 } else { 30 }
}

/// Whole queues with such services. Draws of a p-value have 500 values at most, so two queues in ten are longer than
/// that, and the others have no more than it takes to reject each wrong model every time.
fn queues(service: impl Fn(u64, &mut dyn FnMut() -> f64) -> f64) -> Vec<Fit> {
    let customers = |seed: u64| if seed % 10 < 2 { 2000 } else { 250 };
    (0..traces()).map(|seed| queue(seed, customers(seed), |e| service(seed, e))).collect()
}

fn rejected(fits: &[Fit], model: &str) -> usize {
    fits.iter().filter(|f| f.model(model).unwrap().rejected).count()
}

#[test]
fn exponential_services() {
    let fits = queues(|_, e| e());
    for model in ["mm1", "mg1", "gim1", "kramer-langenbach-belz"] {
        let count = rejected(&fits, model);
        eprintln!("{model}: rejected {count} times of {}", fits.len());
        assert!(count <= few(traces()), "{model}: rejected {count} times of {}", fits.len());
    }
    assert_eq!(rejected(&fits, "md1"), fits.len());
}

/// A queue whose clock reads whole nanoseconds, of which a service has 350 on average: one in 700 reads 0.
fn on_whole_nanoseconds(seed: u64) -> Fit {
    let mut generator = Xoshiro256PlusPlus::seed_from_u64(40_000 + seed);
    let mut exponential = move || -generator.random::<f64>().ln();
    let mut text = String::from("arrival_ns,start_ns,end_ns\n");
    let (mut arrival, mut free) = (0.0, 0.0_f64);
    for _ in 0..1000 {
        arrival += 500.0 * exponential();
        let start = free.max(arrival);
        free = start + 350.0 * exponential();
        writeln!(text, "{arrival:.0},{start:.0},{free:.0}").unwrap();
    }
    fit(&Trace::read(text.as_bytes(), None).unwrap(), Options { seed, servers: None }).unwrap()
}

/// Of 10 traces 99.9 % of the binomial lie up to 3; of 1000 (`TOLLWAY_LONG`), 35 to 65 are allowed. The model divides its
/// 5 % among what it takes for granted, and may be rejected more seldom.
#[test]
fn exponential_services_on_whole_nanoseconds_are_rejected_as_often_as_others() {
    let is_long = std::env::var_os("TOLLWAY_LONG").is_some();
    let (traces, least, most) = if is_long { (1000, 35, 65) } else { (10, 0, 3) };
    let fits: Vec<Fit> = (0..traces).map(on_whole_nanoseconds).collect();
    for of in ["gap", "service"] {
        let is_rejected = |found: &&Fit| {
            let verdict = found.families.iter().find(|v| v.of == of && v.family == Family::Exponential);
            verdict.unwrap().fitted.as_ref().unwrap().ad_p <= 0.05
        };
        let count = fits.iter().filter(is_rejected).count();
        eprintln!("whole nanoseconds: exponential {of} rejected {count} times of {traces}");
        assert!((least..=most).contains(&count), "{of}: rejected {count} times of {traces}");
    }
    for model in ["mm1", "mg1", "gim1"] {
        let count = rejected(&fits, model);
        eprintln!("whole nanoseconds: {model} rejected {count} times of {traces}");
        assert!(count <= most, "{model}: rejected {count} times of {traces}");
    }
}

#[test]
fn constant_services() {
    let fits = queues(|_, _| 1.0);
    for model in ["md1", "mg1"] {
        let count = rejected(&fits, model);
        eprintln!("{model}: rejected {count} times of {}", fits.len());
        assert!(count <= few(traces()), "{model}: rejected {count} times of {}", fits.len());
    }
    assert_eq!(rejected(&fits, "mm1"), fits.len());
    assert_eq!(rejected(&fits, "gim1"), fits.len());
    let told = |f: &Fit| f.model("mm1").unwrap().reasons.iter().any(|r| r.starts_with("service cv² 0 "));
    assert!(fits.iter().all(told));
}

/// Of four stages in one queue and nine in the next: M/G/1 takes either, and no other model does.
#[test]
fn services_in_stages() {
    let fits = queues(|seed, e| {
        let stages = if seed.is_multiple_of(2) { 4 } else { 9 };
        (0..stages).map(|_| e()).sum::<f64>() / f64::from(stages)
    });
    let count = rejected(&fits, "mg1");
    eprintln!("stages: mg1: rejected {count} times of {}", fits.len());
    assert!(count <= few(traces()), "mg1: rejected {count} times of {}", fits.len());
    for wrong in ["mm1", "md1", "gim1"] {
        let count = rejected(&fits, wrong);
        eprintln!("stages: {wrong}: rejected {count} times of {}", fits.len());
        assert_eq!(count, fits.len(), "{wrong}");
    }
    for found in &fits[..2] {
        let command = found.command.as_deref().unwrap();
        assert!(command.starts_with("tollway model mg1 lambda="), "{command}");
    }
}

#[test]
fn a_rate_that_moves_is_seen() {
    // The second half comes three times as fast.
    let mut generator = Xoshiro256PlusPlus::seed_from_u64(1);
    let mut text = String::from("arrival,service\n");
    let mut now = 0.0;
    for i in 0..1000 {
        now += if i < 500 { 3.0 } else { 1.0 } * -generator.random::<f64>().ln();
        writeln!(text, "{now},{}", -0.3 * generator.random::<f64>().ln()).unwrap();
    }
    let found = fit(&Trace::read(text.as_bytes(), None).unwrap(), Options::default()).unwrap();
    assert!(found.models.iter().all(|m| m.rejected));
    assert!(
        found.models[0].reasons.iter().any(|r| r.starts_with("gaps change over the trace")),
        "{found:#?}"
    );
}

#[test]
fn coalesced_completions_give_back_count_and_timer() {
    let mut generator = Xoshiro256PlusPlus::seed_from_u64(3);
    let ends: Vec<f64> = (0..5000)
        .scan(0.0, |now, _| {
            *now += -10.0 * generator.random::<f64>().ln();
            Some(*now)
        })
        .collect();
    let mut text = String::from("arrival_us,end_us,delivered_us\n");
    let mut first = 0;
    while first + 8 <= ends.len() {
        let told = ends[first + 7].min(ends[first] + 60.0);
        let held = ends[first..].iter().take_while(|end| **end <= told).count();
        for end in &ends[first..first + held] {
            writeln!(text, "{:.3},{end:.3},{:.3}", end - 1.0, told + 0.001).unwrap();
        }
        first += held;
    }
    let found = fit(&Trace::read(text.as_bytes(), None).unwrap(), Options::default()).unwrap();
    let coalescing = found.coalescing.as_ref().unwrap();
    assert_eq!(coalescing.count, Some(8), "{coalescing:?}");
    assert!((coalescing.timer.unwrap().seconds - 60e-6).abs() < 3e-9, "{coalescing:?}");
    assert!(found.get("delay.mean").is_some_and(|e| e.value > 0.0));
}

/// A queue as a program that keeps seconds in floating point sees it: gaps and services are added to a clock that began
/// at `epoch`, and written as `columns` says.
fn in_floating_point(epoch: f64, tick: Option<f64>, columns: &str, write: fn(f64) -> String) -> Fit {
    let mut generator = Xoshiro256PlusPlus::seed_from_u64(9);
    let (mut arrival, mut free) = (epoch, 0.0_f64);
    let mut text = columns.to_owned();
    for _ in 0..4000 {
        let gap = -100e-6 * generator.random::<f64>().ln();
        arrival += tick.map_or(gap, |tick| (gap / tick).round() * tick);
        let start = free.max(arrival);
        free = start + 70e-6;
        let readings = match columns {
            "arrival,start,end" => vec![arrival, start, free],
            "arrival,service" => vec![arrival, free - start],
            _ => panic!("{columns}"),
        };
        let fields: Vec<String> = readings.into_iter().map(write).collect();
        write!(text, "\n{}", fields.join(",")).unwrap();
    }
    fit(&Trace::read(text.as_bytes(), None).unwrap(), Options::default()).unwrap()
}

#[test]
fn rounding_of_readings_is_never_a_rejection() {
    let shortest: fn(f64) -> String = |x| format!("{x:?}");
    let decimals: fn(f64) -> String = |x| format!("{x:.9}");
    let exponents: fn(f64) -> String = |x| format!("{x:.16e}");
    for epoch in [0.0, 1000.0, 1.7e9] {
        for tick in [None, Some(1e-6)] {
            for columns in ["arrival,start,end", "arrival,service"] {
                for (at, write) in [shortest, decimals, exponents].into_iter().enumerate() {
                    // Of a time that was written with few digits nobody knows that its readings had none to spare.
                    if at == 1 && epoch > 1e9 && columns == "arrival,service" {
                        continue;
                    }
                    let found = in_floating_point(epoch, tick, columns, write);
                    let named = format!("{columns} since {epoch}, tick {tick:?}: {found:#?}");
                    assert!(!found.model("md1").unwrap().rejected, "{named}");
                    assert!(found.model("mm1").unwrap().rejected, "{named}");
                    let services: Vec<_> = found.families.iter().filter(|f| f.of == "service").collect();
                    assert!(services[0].family == Family::Constant && !services[0].rejected, "{named}");
                    assert!(found.tests.iter().all(|t| !t.rejected), "{named}");
                    assert!(!found.family("gap", Family::Exponential).unwrap().rejected, "{named}");
                    let told = found.notes.iter().any(|n| n.starts_with("gaps are multiples of 1 µs"));
                    let seen = tick.is_some() && epoch < 1e9;
                    assert_eq!(told, seen, "{named}");
                }
            }
        }
    }
}
