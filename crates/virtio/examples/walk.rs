//! What the two sides of a queue cost in one thread, in nanoseconds a request: the best of many batches. And
//! what a long table costs who takes it: that which Linux's `virtio_crypto` makes of n pages a side, and one
//! that says the same with a descriptor a page.
//!
//! `cargo run --release -p tollway-virtio --example walk`

#[path = "../benches/five_pieces.rs"]
mod five_pieces;

use std::ptr::NonNull;
use std::sync::Arc;
use std::time::{Duration, Instant};

use five_pieces::{BATCH, Both};
use tollway_virtio::backend::{Chain, Memory, Ring};
use tollway_virtio::frontend::{Agreed, Layout, Queue};
use tollway_virtio::{Area, Span};
use vm_memory::{GuestAddress, GuestMemoryBackend};

const PAGE: usize = 4096;

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
    for pages in [16, 31, 32, 52, 255] {
        let all: Vec<usize> = (0..pages).flat_map(|first| first..pages).collect();
        let each: Vec<usize> = (0..pages).collect();
        for side in [each, all] {
            let (descriptors, best) = (2 * side.len() + 3, taken(pages, &side));
            println!("{:5} KiB in {descriptors:5} descriptors: taken in {best:?}", 4 * pages);
        }
    }
}

/// The best time in which a buffer is taken whose source and whose result are these pages of so many.
fn taken(pages: usize, side: &[usize]) -> Duration {
    let layout = Layout::new(0, 2, 2 * side.len() + 3).expect("a power of two");
    let free = layout.end.next_multiple_of(PAGE);
    let bytes = free + (2 * pages + 1) * PAGE;
    let memory = Arc::new(Memory::anonymous(bytes));
    let start = memory.guest().get_host_address(GuestAddress(0)).expect("it begins there");
    // SAFETY: the memory is mapped for as long as the ring has it, which is dropped last; both sides make
    // volatile and atomic accesses alone.
    let area = unsafe { Area::over(NonNull::new(start).expect("it is mapped"), bytes) };
    let mut queue =
        Queue::new(area, layout, 0, Agreed { event_index: true, indirect: true }).expect("it has room");
    let mut ring = Ring::alone(memory, 2, true, true).expect("it has room");
    let page = |number: usize| Span { at: free + number * PAGE, bytes: PAGE as u32 };
    let part = |at: usize, bytes: u32| Span { at: free + 2 * pages * PAGE + at, bytes };
    let source = side.iter().map(|number| page(*number));
    let readable: Vec<Span> = [part(0, 72), part(72, 16)].into_iter().chain(source).collect();
    let result = side.iter().map(|number| page(pages + number));
    let writable: Vec<Span> = result.chain([part(128, 1)]).collect();
    let (mut chain, mut best) = (Chain::default(), Duration::MAX);
    for token in 0..500 {
        assert!(queue.submit(token, &readable, &writable).expect("good pieces"));
        queue.show();
        let begun = Instant::now();
        assert!(ring.take(&mut chain).expect("a good buffer"));
        best = best.min(begun.elapsed());
        ring.give_back(&chain, 1);
        queue.take().expect("a good device").expect("it is given back");
    }
    best
}
