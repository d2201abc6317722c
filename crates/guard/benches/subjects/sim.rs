//! Instructions of the hot loops, counted under callgrind: a hundred thousand customers each, pilot included. A limit fails
//! `make guard`; it is a few per cent above what was measured, so that no stored baseline is needed.
//!
//! Half of the recursion's are those of the C library's logarithm, which picks its code by the CPU.

use gungraun::prelude::*;
use tollway_model::spec::Spec;
use tollway_sim::{Options, Outcome, simulate};

use crate::at_most;

/// So many M/M/1 queues side by side.
fn side_by_side(stations: u32) -> Spec {
    let mut text = String::from("[stop]\ncustomers = 100000\nreplications = 1\n");
    for i in 0..stations {
        text +=
            &format!("[[source]]\nname = \"s{i}\"\ninterarrival = \"exponential(125us)\"\nto = \"d{i}\"\n");
        text += &format!("[[station]]\nname = \"d{i}\"\nservice = \"exponential(100us)\"\n");
    }
    Spec::from_toml(&text).expect("it is sound")
}

/// One station with a coalescer behind it: the loop that can do everything.
fn coalesced() -> Spec {
    let text = "[stop]\ncustomers = 100000\nreplications = 1\n\
        [[source]]\nname = \"s\"\ninterarrival = \"exponential(125us)\"\nto = \"d\"\n\
        [[station]]\nname = \"d\"\nservice = \"exponential(100us)\"\nto = \"c\"\n\
        [[coalescer]]\nname = \"c\"\ncount = 8\ntimer = \"1ms\"\n";
    Spec::from_toml(text).expect("it is sound")
}

fn run(spec: &Spec, lindley: bool) -> Outcome {
    simulate(spec, &Options { threads: 1, lindley, ..Options::default() }).expect("it has an outcome")
}

// Measured 36_525_124; 4 million more where the CPU has neither FMA nor AVX2, here and below.
#[library_benchmark(config = at_most(42_000_000))]
#[bench::one_station(setup = side_by_side, args = [1])]
fn recursion(spec: Spec) -> (Outcome, Spec) {
    (run(&spec, true), spec)
}

// Measured 71_618_092.
#[library_benchmark(config = at_most(79_000_000))]
#[bench::one_station(setup = side_by_side, args = [1])]
fn events(spec: Spec) -> (Outcome, Spec) {
    (run(&spec, false), spec)
}

// Measured 213_537_006, of which the pilot has its share: 70,000 customers.
#[library_benchmark(config = at_most(230_000_000))]
#[bench::a_hundred_stations(setup = side_by_side, args = [100])]
fn many(spec: Spec) -> (Outcome, Spec) {
    (run(&spec, false), spec)
}

// Measured 126_946_921.
#[library_benchmark(config = at_most(139_000_000))]
#[bench::one_station_and_a_coalescer(setup = coalesced)]
fn everything(spec: Spec) -> (Outcome, Spec) {
    (run(&spec, false), spec)
}

library_benchmark_group!(name = sim, benchmarks = [recursion, events, many, everything]);
