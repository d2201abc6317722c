//! Instructions of the two functions that run for every line of a report, counted under callgrind. A limit fails
//! `make guard`; it is a few per cent above what was measured, so that no stored baseline is needed.
//!
//! Logarithms and exponentials come from the C library, which picks its code by the CPU: both counts are given.

use gungraun::prelude::*;
use tollway_stats::{Interval, Ratio, figure, paired_ratio};

use crate::at_most;

/// Within one per cent of 100, in a fixed order that is neither ascending nor descending.
fn measured(i: usize) -> f64 {
    100.0 + (i * 37 % 101) as f64 / 101.0
}

fn ten_blocks_of_two() -> Vec<Vec<f64>> {
    (0..10).map(|block| (0..2).map(|trial| measured(2 * block + trial)).collect()).collect()
}

fn fourteen_blocks_of_four() -> Vec<Vec<(f64, f64)>> {
    let pair = |i| (measured(i), 1.02 * measured(i + 56));
    (0..14).map(|block| (0..4).map(|trial| pair(4 * block + trial)).collect()).collect()
}

// Measured 51_603; 57_990 where the CPU has neither FMA nor AVX2.
#[library_benchmark(config = at_most(60_000))]
#[bench::ten_blocks_of_two_trials(setup = ten_blocks_of_two)]
fn price(blocks: Vec<Vec<f64>>) -> (Interval, Vec<Vec<f64>>) {
    (figure(&blocks, 0.95).expect("the blocks are sound"), blocks)
}

// Measured 36_840; 38_514 where the CPU has neither FMA nor AVX2.
#[library_benchmark(config = at_most(40_000))]
#[bench::fourteen_blocks_of_four_pairs(setup = fourteen_blocks_of_four)]
fn comparison(blocks: Vec<Vec<(f64, f64)>>) -> (Ratio, Vec<Vec<(f64, f64)>>) {
    (paired_ratio(&blocks).expect("the blocks are sound"), blocks)
}

library_benchmark_group!(name = stats, benchmarks = [price, comparison]);
