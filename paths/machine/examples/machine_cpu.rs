//! The processor's part of the engine, or the tool that does the same, as one line of JSON.
//!
//! `tollway|sysbench THREADS SECONDS [slowed]`: events a second of sysbench's processor test, so many threads, each on a processor of its own ·
//! `primes tollway|python3 BELOW SECONDS`: how many primes there are, by one thread in so much time at most
//!
//! `slowed` plants a tenth more work in ours: who compares the two has to see it.
//!
//! `cargo run --release -p tollway-machine --example machine_cpu -- tollway 1 1`

use std::hint::black_box;
use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

use tollway_core::{Error, Result};
use tollway_host::cpu::{pin_current_thread, slots};
use tollway_machine::engine::cpu::events::{LIMIT, event, found};
use tollway_machine::engine::cpu::{primes, python, sysbench};

/// Of so many events one is not counted, where ours is slowed.
const PLANTED: u32 = 11;

fn main() -> Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words[..] {
        ["primes", by, below, seconds] => count(by, number(below)?, number(seconds)?),
        ["tollway", threads, seconds] => ours(number(threads)?, number(seconds)?, None),
        ["tollway", threads, seconds, "slowed"] => ours(number(threads)?, number(seconds)?, Some(PLANTED)),
        ["sysbench", threads, seconds] => {
            let threads = number(threads)?;
            let report = sysbench::run(threads, LIMIT, number(seconds)?.into(), &cpus(threads)?)?;
            line("sysbench", threads, report.events, report.per_second)
        }
        _ => Err(unusable("they are not understood")),
    }
}

fn number(word: &str) -> Result<u32> {
    word.parse().map_err(|e| unusable(&format!("{word}: {e}")))
}

fn unusable(reason: &str) -> Error {
    Error::Input {
        place: "arguments".into(),
        reason: reason.into(),
        remedy: "tollway|sysbench THREADS SECONDS [slowed], or primes tollway|python3 BELOW SECONDS".into(),
    }
}

fn cpus(threads: u32) -> Result<Vec<u32>> {
    let mut slots = slots()?;
    if slots.len() < threads as usize {
        return Err(unusable("there are not so many processors"));
    }
    slots.truncate(threads as usize);
    Ok(slots)
}

fn line(by: &str, threads: u32, events: u64, rate: f64) -> Result<()> {
    println!(r#"{{"by": "{by}", "threads": {threads}, "events": {events}, "events_per_second": {rate:.2}}}"#);
    Ok(())
}

fn count(by: &str, below: u32, seconds: u32) -> Result<()> {
    let within = Duration::from_secs(seconds.into());
    let [cpu] = cpus(1)?[..] else { return Err(unusable("there is no processor")) };
    let primes::Count { primes, reached, took } = match by {
        "tollway" => {
            pin_current_thread(cpu)?;
            primes::count(below, within)
        }
        "python3" => python::count(below, within, &[cpu])?,
        _ => return Err(unusable("primes are counted by these two")),
    };
    let seconds = took.as_secs_f64();
    println!(r#"{{"by": "{by}", "primes": {primes}, "reached": {reached}, "seconds": {seconds:.3}}}"#);
    Ok(())
}

/// Events of a thread on each of these processors, and how many a second that are.
fn ours(threads: u32, seconds: u32, uncounted: Option<u32>) -> Result<()> {
    let (cpus, length) = (cpus(threads)?, Duration::from_secs(seconds.into()));
    let start = Barrier::new(cpus.len());
    let (events, rate) = thread::scope(|scope| {
        let running: Vec<_> =
            cpus.iter().map(|cpu| scope.spawn(|| repeated(*cpu, &start, length, uncounted))).collect();
        running
            .into_iter()
            .map(|thread| thread.join().expect("a thread"))
            .fold((0, 0.0), |(events, rate), (more, faster)| (events + more, rate + faster))
    });
    line("tollway", threads, events, rate)
}

/// Events of one thread, and how many a second that are.
fn repeated(cpu: u32, start: &Barrier, length: Duration, uncounted: Option<u32>) -> (u64, f64) {
    pin_current_thread(cpu).expect("the processor");
    start.wait();
    let known = found(LIMIT);
    let (begun, mut events) = (Instant::now(), 0u32);
    while begun.elapsed() < length {
        assert_eq!(event(black_box(LIMIT)), known, "the primes of an event");
        events += 1;
    }
    let took = begun.elapsed().as_secs_f64();
    events -= uncounted.map_or(0, |one_in| events / one_in);
    (events.into(), f64::from(events) / took)
}
