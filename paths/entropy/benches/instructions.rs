//! Instructions of what runs for every byte, counted under callgrind. A limit fails `make guard`; it is a few per cent
//! above what was measured, so that no stored baseline is needed.

#![expect(missing_docs, reason = "what gungraun's macros make is public and has no docs")]

use std::hint::black_box;

use gungraun::prelude::*;
use gungraun::{Callgrind, EventKind};
use tollway_entropy::engine::health::{Alarms, Continuous, Limits};
use tollway_entropy::engine::source::{Seeded, Source};

fn at_most(instructions: u64) -> LibraryBenchmarkConfig {
    let mut callgrind = Callgrind::default();
    callgrind.hard_limits([(EventKind::Ir, instructions)]);
    let mut config = LibraryBenchmarkConfig::default();
    config.tool(callgrind);
    config
}

/// The tests of a source of 8 bits a byte, and 64 KiB of good bytes.
fn tests() -> (Continuous, Vec<u8>) {
    let limits = Limits::new(8.0, Limits::DEFAULT_BITS).expect("they are in range");
    let mut bytes = vec![0; 1 << 16];
    Seeded::new(1).fill(&mut bytes).expect("it never fails");
    (Continuous::new(&limits), bytes)
}

#[library_benchmark]
// Where the processor has AVX2; measured 136_892: two instructions a byte.
#[bench::good_bytes(setup = tests, config = at_most(141_500))]
fn health((mut tests, bytes): (Continuous, Vec<u8>)) -> (Continuous, Vec<u8>, Alarms) {
    let alarms = tests.feed(black_box(&bytes));
    (tests, bytes, alarms)
}

library_benchmark_group!(name = entropy, benchmarks = [health]);
main!(library_benchmark_groups = entropy);
