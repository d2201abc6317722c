//! Instructions of recording and of storing a distribution, counted under callgrind. A limit fails `make guard`; it is
//! a few per cent above what was measured, so that no stored baseline is needed.

use std::hint::black_box;

use gungraun::prelude::*;
use tollway_core::{Recorder, Spread};

use crate::at_most;

/// A thousand samples of a batch of a hundred: about 24 ticks an operation, one in fifty up to twice as long.
fn ticks() -> Vec<u64> {
    (0u64..1000).map(|i| 2400 + i * 7919 % 240 + if i % 50 == 0 { i * 2 } else { 0 }).collect()
}

fn recorder() -> Recorder {
    let mut recorder = Recorder::new();
    recorder.set_batch(100);
    recorder
}

fn to_record() -> (Recorder, Vec<u64>) {
    (recorder(), ticks())
}

fn typical_spread() -> Spread {
    let mut recorder = recorder();
    ticks().into_iter().for_each(|t| recorder.sample(t));
    recorder.spread()
}

fn typical_bytes() -> Vec<u8> {
    typical_spread().to_bytes()
}

// Measured 81_133.
#[library_benchmark(config = at_most(84_000))]
#[bench::thousand_samples(setup = to_record)]
fn recorder_sample((mut recorder, ticks): (Recorder, Vec<u64>)) -> Recorder {
    for t in black_box(&ticks) {
        recorder.sample(*t);
    }
    std::mem::forget(ticks);
    recorder
}

// Measured 4_707.
#[library_benchmark(config = at_most(5_000))]
#[bench::typical(setup = typical_spread)]
fn spread_to_bytes(spread: Spread) -> (Vec<u8>, Spread) {
    (spread.to_bytes(), spread)
}

// Measured 11_723.
#[library_benchmark(config = at_most(12_300))]
#[bench::typical(setup = typical_bytes)]
fn spread_from_bytes(bytes: Vec<u8>) -> (Spread, Vec<u8>) {
    (Spread::from_bytes(&bytes).expect("these bytes were just written"), bytes)
}

library_benchmark_group!(name = core, benchmarks = [recorder_sample, spread_to_bytes, spread_from_bytes]);
