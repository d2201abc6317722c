//! What the engine of the part `memory` says for given arguments, in one line of JSON.
//!
//! `stream MIB THREADS ROUNDS plain|non-temporal [own|small|huge]`: megabytes a second of the best pass of each kernel, as STREAM does it ·
//! `stream-itself THREADS`: the same by the program `stream` of PATH · `stream-slowed MIB ROUNDS`: by one thread that does a fifth more than it
//! counts, which who compares the two has to see · `latency KIB [own|small|huge]`: nanoseconds a load · `faults anonymous|huge|file`:
//! nanoseconds a fault
//!
//! `cargo run --release -p tollway-machine --example machine_memory -- stream 128 1 10 plain`

use std::time::{Duration, Instant};

use tollway_core::{Error, Result};
use tollway_host::cpu::{set_affinity, slots};
use tollway_machine::engine::memory::chase::Cycle;
use tollway_machine::engine::memory::faults::{Kind, Region};
use tollway_machine::engine::memory::stream::{Arrays, Kernel, PER_MIB, Stores, measure};
use tollway_machine::engine::memory::{Pages, program};

/// How long latency and faults are measured.
const TIME: Duration = Duration::from_millis(300);

/// Loads of a sample.
const HOPS: u32 = 4096;

fn main() -> Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let word = |i: usize| words.get(i).map(String::as_str).unwrap_or_default();
    let number = |i: usize| word(i).parse::<usize>().map_err(|_| usage());
    let said = match word(0) {
        "stream" => {
            let stores = match word(4) {
                "plain" => Stores::Plain,
                "non-temporal" => Stores::NonTemporal,
                _ => return Err(usage()),
            };
            set_affinity(&processors(number(2)?)?)?;
            let rates = measure(number(1)? * PER_MIB, number(2)?, number(3)?, stores, pages(word(5))?)?;
            megabytes(rates.map(|rate| rate.best))
        }
        "stream-itself" => {
            let processors = processors(number(1)?)?;
            let printed = program::run(processors.len() as u32, &processors)?;
            megabytes(Kernel::ALL.map(|kernel| printed.rate(kernel).best))
        }
        "stream-slowed" => {
            set_affinity(&processors(1)?)?;
            megabytes(slowed(number(1)? * PER_MIB, number(2)?)?)
        }
        "latency" => {
            let mut cycle = Cycle::new(number(1)? << 10, pages(word(2))?, 1)?;
            let ns = median(|| {
                let begun = Instant::now();
                cycle.hop::<HOPS>();
                begun.elapsed()
            }) / f64::from(HOPS);
            cycle.check()?;
            format!(r#""ns":{ns:.3}"#)
        }
        "faults" => {
            let kind = match word(1) {
                "anonymous" => Kind::Anonymous,
                "huge" => Kind::Huge,
                "file" => Kind::File,
                _ => return Err(usage()),
            };
            let mut region = Region::new(kind)?;
            let ns = median(|| {
                region.give_back();
                let begun = Instant::now();
                region.touch();
                begun.elapsed()
            }) / f64::from(region.round());
            region.check()?;
            format!(r#""ns":{ns:.1}"#)
        }
        _ => return Err(usage()),
    };
    println!("{{{said}}}");
    Ok(())
}

/// The processors that so many threads may be on.
fn processors(threads: usize) -> Result<Vec<u32>> {
    let mut slots = slots()?;
    slots.truncate(threads);
    if slots.len() == threads && threads > 0 { Ok(slots) } else { Err(usage()) }
}

fn megabytes(rates: [f64; 4]) -> String {
    let kernels = Kernel::ALL.iter().zip(rates);
    let words: Vec<String> =
        kernels.map(|(kernel, rate)| format!(r#""{}":{:.1}"#, kernel.name(), rate / 1e6)).collect();
    words.join(",")
}

/// Bytes a second of each kernel's best pass, each followed by one over a fifth as much that is not counted.
fn slowed(numbers: usize, rounds: usize) -> Result<[f64; 4]> {
    let mut arrays = Arrays::new(numbers, Stores::Plain, Pages::Own)?;
    let mut planted = Arrays::new(numbers / 5, Stores::Plain, Pages::Own)?;
    let mut best = [0f64; 4];
    for round in 0..rounds {
        for (best, kernel) in best.iter_mut().zip(Kernel::ALL) {
            let begun = Instant::now();
            arrays.pass(kernel);
            planted.pass(kernel);
            if round > 0 {
                let bytes = kernel.bytes() as f64 * arrays.each() as f64;
                *best = best.max(bytes / begun.elapsed().as_secs_f64());
            }
        }
    }
    arrays.check()?;
    planted.check()?;
    Ok(best)
}

fn pages(word: &str) -> Result<Pages> {
    match word {
        "" | "own" => Ok(Pages::Own),
        "small" => Ok(Pages::Small),
        "huge" => Ok(Pages::Huge),
        _ => Err(usage()),
    }
}

/// The median of samples, in nanoseconds; those of the first tenth of the time do not count.
fn median(mut sample: impl FnMut() -> Duration) -> f64 {
    let begun = Instant::now();
    let mut samples = Vec::new();
    while begun.elapsed() < TIME || samples.is_empty() {
        let took = sample();
        if begun.elapsed() > TIME / 10 {
            samples.push(took);
        }
    }
    samples.sort_unstable();
    samples[samples.len() / 2].as_nanos() as f64
}

fn usage() -> Error {
    Error::Input {
        place: "arguments".into(),
        reason: "they are not understood".into(),
        remedy: "stream MIB THREADS ROUNDS plain|non-temporal [PAGES], stream-itself THREADS, \
                 stream-slowed MIB ROUNDS, latency KIB [PAGES], faults KIND"
            .into(),
    }
}
