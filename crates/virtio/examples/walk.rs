//! What the two sides of a queue cost, in one thread: a request of five pieces in an indirect table, as crypto devices have them,
//! is submitted, taken out and looked at, given back, and taken back.
//!
//! `cargo run --release -p tollway-virtio --example walk`

use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tollway_core::Result;
use tollway_virtio::Span;
use tollway_virtio::backend::{Chain, Device, Event, Kicks, Reception};
use tollway_virtio::frontend::{Link, LinkOptions};
use tollway_virtio::socket::Meeting;

struct Nothing;

impl Device for Nothing {
    fn features(&self) -> u64 {
        1 << 28 | 1 << 29 | 1 << 32
    }

    fn event(&self, _: usize, _: Event<'_>) {}
}

/// Requests that are on their way at a time.
const BATCH: u64 = 32;

fn main() -> Result<()> {
    let meetings = vec![Meeting::Inside];
    let reception = Reception::new(Arc::new(Nothing), Arc::new(Kicks::new()?), meetings)?;
    let inside = reception.inside(0).expect("it is met in this process");
    let port = reception.ports().remove(0);
    let mut link = Link::inside(&inside, &LinkOptions { size: 64, ..LinkOptions::default() })?;
    let at = link.free();
    let piece = |offset: usize, bytes: u32| Span { at: at + offset, bytes };
    let (readable, writable) =
        ([piece(0, 72), piece(72, 16), piece(128, 64)], [piece(192, 64), piece(256, 1)]);
    let lane = link.lane(0);
    lane.want_call(false);
    let mut chain = Chain::default();
    let mut best = [Duration::MAX; 3];
    for _ in 0..2000 {
        let begun = Instant::now();
        for token in 0..BATCH {
            lane.submit(token, &readable, &writable)?;
        }
        lane.show();
        let submitted = Instant::now();
        let mut rings = port.rings();
        let ring = rings[0].as_mut().expect("it runs");
        let memory = ring.memory().clone();
        let (mut fixed, mut iv) = ([0; 72], [0; 16]);
        let (mut source, mut target) = (Vec::new(), Vec::new());
        for _ in 0..BATCH {
            ring.take(&mut chain).expect("a good buffer");
            chain.read(&memory, 0, &mut fixed).expect("it is there");
            chain.read(&memory, 72, &mut iv).expect("it is there");
            source.clear();
            target.clear();
            chain.source(&memory, 88, 64, &mut source).expect("it is there");
            chain.target(&memory, 0, 64, &mut target).expect("it is there");
            chain.target(&memory, 64, 1, &mut target).expect("it is there");
            black_box((&fixed, &iv, &source, &target));
            ring.give_back(&chain, 65);
        }
        ring.call();
        drop(rings);
        let served = Instant::now();
        for _ in 0..BATCH {
            black_box(lane.take()?);
        }
        let times = [submitted - begun, served - submitted, served.elapsed()];
        for (best, time) in best.iter_mut().zip(times) {
            *best = time.min(*best);
        }
    }
    for (what, time) in ["submitted", "served", "taken back"].iter().zip(best) {
        println!("{what:12} {:6.1} ns each", time.as_nanos() as f64 / BATCH as f64);
    }
    Ok(())
}
