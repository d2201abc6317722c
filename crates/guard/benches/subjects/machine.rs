//! Instructions of what runs for every number, sector, datagram or event, counted under callgrind. A limit fails `make guard`; it is a few per
//! cent above what was measured, so that no stored baseline is needed. valgrind hides AVX-512.

use std::hint::black_box;

use gungraun::prelude::*;
use tollway_machine::engine::cpu::events;
use tollway_machine::engine::disk::content::{SECTOR, bears, fill, holds, stamp};
use tollway_machine::engine::memory::Pages;
use tollway_machine::engine::memory::chase::Cycle;
use tollway_machine::engine::memory::stream::{Arrays, Kernel, Stores};
use tollway_machine::engine::network::datagrams::{Jitter, Numbers};

use crate::at_most;

fn arrays(stores: Stores) -> Arrays {
    Arrays::new(1 << 16, stores, Pages::Small).expect("2 MiB of memory")
}

#[library_benchmark]
// Four passes over 65_536 numbers: measured 991_595, and 426_318 by vectors of AVX.
#[bench::plain(args = (Stores::Plain), setup = arrays, config = at_most(1_021_000))]
#[bench::past_the_caches(args = (Stores::NonTemporal), setup = arrays, config = at_most(439_000))]
fn stream(mut arrays: Arrays) -> Arrays {
    Kernel::ALL.into_iter().for_each(|kernel| arrays.pass(kernel));
    arrays
}

fn cycle() -> Cycle {
    Cycle::new(1 << 20, Pages::Small, 1).expect("1 MiB of memory")
}

#[library_benchmark]
// 4096 loads: measured 5_648.
#[bench::loads(setup = cycle, config = at_most(5_820))]
fn chase(mut cycle: Cycle) -> Cycle {
    cycle.hop::<4096>();
    cycle
}

#[library_benchmark]
// Measured 1_320_164.
#[bench::of_sysbench(args = (events::LIMIT), config = at_most(1_360_000))]
fn event(limit: u64) -> u64 {
    events::event(black_box(limit))
}

fn block() -> Vec<u8> {
    let mut block = vec![0; 1 << 20];
    fill(&mut block, 7);
    stamp(&mut block, 0, std::iter::repeat(1));
    block
}

#[library_benchmark]
// Of 2048 sectors, written and looked at: measured 27_168.
#[bench::of_a_mebibyte(setup = block, config = at_most(27_980))]
fn stamps(mut block: Vec<u8>) -> (Vec<u8>, bool) {
    stamp(&mut block, 40, std::iter::repeat(2));
    let right = block.chunks_exact(SECTOR).zip(40..).all(|(sector, number)| bears(sector, number, 2));
    (block, right)
}

#[library_benchmark]
// Measured 2_275_360: 18 a word.
#[bench::of_a_mebibyte(setup = block, config = at_most(2_343_000))]
fn whole_sectors(block: Vec<u8>) -> (Vec<u8>, bool) {
    let right = block.chunks_exact(SECTOR).zip(0..).all(|(sector, number)| holds(sector, number, 1));
    (block, right)
}

/// Numbers of datagrams as they come: one in sixteen is missing, one in sixteen comes late.
fn numbers() -> Vec<u64> {
    (0..1024).filter(|n| n % 16 != 3).map(|n| if n % 16 == 7 { n - 5 } else { n }).collect()
}

#[library_benchmark]
// 960 of them, with their jitter: measured 26_455.
#[bench::thousand(setup = numbers, config = at_most(27_250))]
fn datagrams(came: Vec<u64>) -> (Vec<u64>, Numbers, Jitter) {
    let (mut numbers, mut jitter) = (Numbers::default(), Jitter::default());
    for number in &came {
        numbers.came(*number);
        jitter.arrived(number * 1000, number * 1000 + (number & 15));
    }
    (came, numbers, jitter)
}

library_benchmark_group!(
    name = machine,
    benchmarks = [stream, chase, event, stamps, whole_sectors, datagrams]
);
