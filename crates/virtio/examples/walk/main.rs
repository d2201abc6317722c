//! What the two sides of a queue cost in one thread, in nanoseconds a request: the best of many batches.
//!
//! `cargo run --release -p tollway-virtio --example walk`

mod five_pieces;

use std::time::{Duration, Instant};

use five_pieces::{BATCH, Both};

fn main() {
    let mut both = Both::new();
    let mut best = [Duration::MAX; 3];
    for number in 0..5000 {
        let begun = Instant::now();
        both.submit(number);
        let submitted = Instant::now();
        both.serve();
        let served = Instant::now();
        both.take();
        let times = [submitted - begun, served - submitted, served.elapsed()];
        for (best, time) in best.iter_mut().zip(times) {
            *best = time.min(*best);
        }
    }
    for (what, time) in ["submitted", "served", "taken back"].iter().zip(best) {
        println!("{what:12} {:6.1} ns each", time.as_nanos() as f64 / BATCH as f64);
    }
}
