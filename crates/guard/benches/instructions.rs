//! Instructions of hot paths, counted under callgrind: `make guard`. Each file of `subjects` has a crate's,
//! and says how many were measured. One program has them all, since ten would be linked ten times.

use gungraun::prelude::*;
use gungraun::{Callgrind, EventKind};

#[path = "../../virtio/examples/walk/five_pieces.rs"]
mod five_pieces;

mod subjects {
    pub mod capture;
    pub mod channel;
    pub mod cipher;
    pub mod core;
    pub mod entropy;
    pub mod load;
    pub mod machine;
    pub mod sim;
    pub mod stats;
    pub mod virtio;
}

use subjects::capture::capture;
use subjects::channel::channel;
use subjects::cipher::cipher;
use subjects::core::core;
use subjects::entropy::entropy;
use subjects::load::load;
use subjects::machine::machine;
use subjects::sim::sim;
use subjects::stats::stats;
use subjects::virtio::virtio;

/// Fails where it takes more instructions than this.
fn at_most(instructions: u64) -> LibraryBenchmarkConfig {
    let mut callgrind = Callgrind::default();
    callgrind.hard_limits([(EventKind::Ir, instructions)]);
    let mut config = LibraryBenchmarkConfig::default();
    config.tool(callgrind);
    config
}

main!(
    library_benchmark_groups = [capture, channel, cipher, core, entropy, load, machine, sim, stats, virtio]
);
