//! The bars of the reduction 512:1: the samples a second that it takes in beside those that RDRAND alone gives, by one thread
//! and by two, and AES alone beside RDRAND.

use std::hint::black_box;
use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Result;
use rand::SeedableRng;
use rand::rngs::StdRng;
use tollway_entropy::engine::condition::{Conditioned, INPUT, Reduction, SAMPLE, STREAMS};
use tollway_entropy::engine::source::{Rdrand, Source};
use tollway_host::cpu::pin_current_thread;
use tollway_stats::{Interval, paired_ratio};

use crate::CONFIDENCE;
use crate::bar::{Bar, Row, Verdict};
use crate::only::Only;
use crate::turns::in_turns;

/// How long a side is tried each time.
const TIME: Duration = Duration::from_millis(100);

/// What a side does.
#[derive(Clone, Copy)]
enum Side {
    Raw,
    Conditioned,
    Aes,
}

/// A bar: its name, threads, the two sides, and the most that the second may cost over the first.
const BARS: [(&str, u32, Side, Bar); 3] = [
    ("512:1: RDRAND reduced / alone, 1 thread", 1, Side::Conditioned, Bar::AtMost(1.0 / 0.97, "")),
    ("512:1: RDRAND reduced / alone, 2 threads", 2, Side::Conditioned, Bar::AtMost(1.0 / 0.97, "")),
    ("512:1: AES alone / RDRAND alone", 1, Side::Aes, Bar::AtMost(0.1, "")),
];

/// Measures those that one of `only` is in the name of, or all.
pub fn measure(rounds: u32, seed: u64, only: &Only, cpus: &[u32]) -> Vec<Row> {
    BARS.iter()
        .filter(|(name, ..)| only.wants(name))
        .map(|(name, threads, side, bar)| {
            let empty = Row { name: (*name).into(), bar: bar.to_string(), ..Row::default() };
            let verdict = |verdict| Row { verdict, ..empty.clone() };
            if let Err(missing) = Rdrand::open() {
                return verdict(Verdict::Skipped(missing.to_string()));
            }
            if cpus.len() < *threads as usize {
                return verdict(Verdict::Skipped(format!("{threads} processors → a machine that has them")));
            }
            compare(rounds, seed, *threads, *side, cpus, *bar, empty.clone())
                .unwrap_or_else(|error| verdict(Verdict::Broken(format!("{error:#}"))))
        })
        .collect()
}

fn compare(
    rounds: u32,
    seed: u64,
    threads: u32,
    side: Side,
    cpus: &[u32],
    bar: Bar,
    empty: Row,
) -> Result<Row> {
    let mut rng = StdRng::seed_from_u64(seed);
    let pairs = in_turns(rounds, &mut rng, |ours| {
        nanoseconds(if ours { side } else { Side::Raw }, &cpus[..threads as usize])
    })?;
    let median = |of: fn(&(f64, f64)) -> f64| -> Result<Interval> {
        let blocks: Vec<Vec<f64>> = pairs.iter().map(|block| block.iter().map(of).collect()).collect();
        Ok(tollway_stats::figure(&blocks, CONFIDENCE)?)
    };
    let measured = paired_ratio(&pairs)?.interval(CONFIDENCE)?;
    Ok(Row {
        ours: format!("{:.2} ns/sample", median(|(_, ours)| *ours)?.estimate),
        twin: format!("{:.2} ns/sample", median(|(twin, _)| *twin)?.estimate),
        measured: format!("{:.3} [{:.3}, {:.3}]", measured.estimate, measured.lo, measured.hi),
        verdict: bar.judge(&measured),
        ..empty
    })
}

/// Nanoseconds a sample of 128 bits, of all threads together.
fn nanoseconds(side: Side, cpus: &[u32]) -> Result<f64> {
    let start = Barrier::new(cpus.len());
    let rates = thread::scope(|scope| {
        let running: Vec<_> = cpus
            .iter()
            .map(|cpu| {
                let start = &start;
                scope.spawn(move || -> Result<f64> {
                    let prepared = pin_current_thread(*cpu);
                    start.wait();
                    prepared?;
                    samples_a_second(side)
                })
            })
            .collect();
        running
            .into_iter()
            .map(|thread| thread.join().expect("it does not panic"))
            .collect::<Result<Vec<_>>>()
    })?;
    Ok(1e9 / rates.iter().sum::<f64>())
}

fn samples_a_second(side: Side) -> Result<f64> {
    let source = || Rdrand::open().map_err(tollway_core::Error::from);
    let mut samples = vec![0; STREAMS * INPUT];
    let mut values = [[0; SAMPLE]; STREAMS];
    let mut raw = source()?;
    let mut conditioned = Conditioned::of(source()?).map_err(tollway_core::Error::from)?;
    let reduction = Reduction::new(&[1; SAMPLE]);
    let mut group = || match side {
        Side::Raw => raw.fill(&mut samples),
        Side::Conditioned => conditioned.fill(values.as_flattened_mut()),
        Side::Aes => {
            reduction.reduce(black_box(&samples), &mut values);
            Ok(())
        }
    };
    let begun = Instant::now();
    let mut done = 0;
    while begun.elapsed() < TIME {
        group().map_err(tollway_core::Error::from)?;
        done += STREAMS * INPUT / SAMPLE;
    }
    let seconds = begun.elapsed().as_secs_f64();
    black_box((&samples, &values));
    Ok(done as f64 / seconds)
}
