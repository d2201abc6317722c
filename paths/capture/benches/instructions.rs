//! Instructions of what runs for every packet, counted under callgrind. A limit fails `make guard`; it is a few per cent
//! above what was measured, so that no stored baseline is needed.

#![expect(missing_docs, reason = "what gungraun's macros make is public and has no docs")]

use std::hint::black_box;

use gungraun::prelude::*;
use gungraun::{Callgrind, EventKind};
use tollway_capture::engine::Timestamp;
use tollway_capture::engine::generate::{Flows, Frames, Group, Sizes, Stamp, Transport};

fn at_most(instructions: u64) -> LibraryBenchmarkConfig {
    let mut callgrind = Callgrind::default();
    callgrind.hard_limits([(EventKind::Ir, instructions)]);
    let mut config = LibraryBenchmarkConfig::default();
    config.tool(callgrind);
    config
}

/// Frames of one flow and one size.
fn one_flow() -> (Frames, Vec<u8>) {
    frames(Group::v4(Transport::Udp).into(), "64")
}

/// Frames of four groups of flows, 256 by 16 addresses, 1000 by 1 or 1000 ports, and three sizes.
fn many_flows() -> (Frames, Vec<u8>) {
    frames(Flows::web(0.5).expect("half is a share"), "imix")
}

fn frames(flows: Flows, sizes: &str) -> (Frames, Vec<u8>) {
    let sizes: Sizes = sizes.parse().expect("sizes as they are written");
    (Frames::new(&flows, &sizes, 1).expect("flows and sizes that can be"), vec![0; 2016])
}

#[library_benchmark]
// Random draws, the head's copy, what varies and two checksums; measured 220_244.
#[bench::thousand_frames_of_one_flow(setup = one_flow, config = at_most(227_000))]
// The same, and which group and size by their weights; measured 270_788.
#[bench::thousand_frames_of_a_mix(setup = many_flows, config = at_most(279_000))]
fn generate((mut frames, mut slot): (Frames, Vec<u8>)) -> (Vec<u8>, usize) {
    let mut bytes = 0;
    for number in 0..1000 {
        bytes += frames.write(black_box(&mut slot), &Stamp::new(number, Timestamp(black_box(1 << 60))));
    }
    (slot, bytes)
}

library_benchmark_group!(name = capture, benchmarks = generate);
main!(library_benchmark_groups = capture);
