//! Instructions of what runs for every byte or block, counted under callgrind. A limit fails `make guard`; it is a few per cent
//! above what was measured, so that no stored baseline is needed. valgrind hides AVX-512.

use std::hint::black_box;

use gungraun::prelude::*;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use tollway_entropy::engine::fips::{BLOCK_BYTES, Block, Duplicates, Implementation, Tally, Tester};
use tollway_entropy::engine::health::{Alarms, Continuous, Limits};
use tollway_entropy::engine::source::{Seeded, Source};

use crate::at_most;

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

/// A hundred random blocks.
fn blocks() -> Vec<Block> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
    let mut blocks = vec![[0; BLOCK_BYTES]; 100];
    blocks.iter_mut().for_each(|block| random.fill_bytes(block));
    blocks
}

fn tester(implementation: &str) -> (Tester, Vec<Block>) {
    let implementation = Implementation::named(implementation).expect("valgrind has it");
    (Tester::with(implementation, [0; 4]), blocks())
}

#[library_benchmark]
// Measured 1_703_359 and 7_654_591.
#[bench::avx2(args = ("avx2"), setup = tester, config = at_most(1_755_000))]
#[bench::portable(args = ("portable"), setup = tester, config = at_most(7_885_000))]
fn hundred_blocks((mut tester, blocks): (Tester, Vec<Block>)) -> (Vec<Block>, Tally) {
    let mut tally = Tally::default();
    for block in black_box(&blocks) {
        tally.add(tester.test(block));
    }
    (blocks, tally)
}

fn table() -> (Duplicates, Vec<Block>) {
    (Duplicates::keyed(1), blocks())
}

#[library_benchmark]
// A hash and a line of the table each: measured 126_061.
#[bench::hundred_blocks(setup = table, config = at_most(130_000))]
fn remember((mut duplicates, blocks): (Duplicates, Vec<Block>)) -> (Duplicates, Vec<Block>) {
    for block in black_box(&blocks) {
        black_box(duplicates.seen(block));
    }
    (duplicates, blocks)
}

library_benchmark_group!(name = entropy, benchmarks = [health, hundred_blocks, remember]);
