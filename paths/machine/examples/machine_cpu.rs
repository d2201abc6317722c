//! Events a second of sysbench's processor test, by our engine or by sysbench, as one line of JSON: so many threads, each on a processor of
//! its own, for so many seconds.
//!
//! `cargo run --release -p tollway-machine --example machine_cpu -- tollway|sysbench THREADS SECONDS`

use std::hint::black_box;
use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

use tollway_core::{Error, Result};
use tollway_host::cpu::{pin_current_thread, slots};
use tollway_machine::engine::cpu::events::{LIMIT, event, found};
use tollway_machine::engine::cpu::sysbench;

fn main() -> Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let unusable = |reason: &str| Error::Input {
        place: "arguments".into(),
        reason: reason.into(),
        remedy: "tollway|sysbench THREADS SECONDS".into(),
    };
    let [by, threads, seconds] = words.as_slice() else { return Err(unusable("they are not three")) };
    let number = |word: &str| word.parse::<u32>().map_err(|e| unusable(&format!("{word}: {e}")));
    let (threads, seconds) = (number(threads)?, number(seconds)?);
    let slots = slots()?;
    let cpus = slots.get(..threads as usize).ok_or_else(|| unusable("there are not so many processors"))?;
    let (events, rate) = match &**by {
        "tollway" => ours(cpus, Duration::from_secs(seconds.into())),
        "sysbench" => {
            let report = sysbench::run(threads, LIMIT, seconds.into(), cpus)?;
            (report.events, report.per_second)
        }
        _ => return Err(unusable("there are only these two")),
    };
    println!(r#"{{"by": "{by}", "threads": {threads}, "events": {events}, "events_per_second": {rate:.2}}}"#);
    Ok(())
}

/// Events of a thread on each of these processors, and how many a second that are.
fn ours(cpus: &[u32], length: Duration) -> (u64, f64) {
    let start = Barrier::new(cpus.len());
    thread::scope(|scope| {
        let running: Vec<_> = cpus.iter().map(|cpu| scope.spawn(|| repeated(*cpu, &start, length))).collect();
        running
            .into_iter()
            .map(|thread| thread.join().expect("a thread"))
            .fold((0, 0.0), |(events, rate), (more, faster)| (events + more, rate + faster))
    })
}

/// Events of one thread, and how many a second that are.
fn repeated(cpu: u32, start: &Barrier, length: Duration) -> (u64, f64) {
    pin_current_thread(cpu).expect("the processor");
    start.wait();
    let known = found(LIMIT);
    let (begun, mut events) = (Instant::now(), 0u32);
    while begun.elapsed() < length {
        assert_eq!(event(black_box(LIMIT)), known, "the primes of an event");
        events += 1;
    }
    (events.into(), f64::from(events) / begun.elapsed().as_secs_f64())
}
