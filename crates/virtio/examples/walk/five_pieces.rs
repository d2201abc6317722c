//! Requests of five pieces in an indirect table, as crypto devices have them, from one side of a queue to the other and back in
//! one thread.

use std::hint::black_box;
use std::sync::Arc;

use tollway_virtio::Span;
use tollway_virtio::backend::{Chain, Memory, Ring};
use tollway_virtio::frontend::{Agreed, Layout, Queue};
use vm_memory::VolatileSlice;

/// Requests that are on their way at a time.
pub const BATCH: u64 = 32;

const SIZE: u16 = 64;
const MEMORY: usize = 1 << 16;

/// Both sides, in memory of this process.
pub struct Both {
    queue: Queue,
    ring: Ring,
    chain: Chain,
}

impl Both {
    pub fn new() -> Both {
        let memory = Arc::new(Memory::anonymous(MEMORY));
        let area = memory.area(0, MEMORY).expect("it is all one");
        let agreed = Agreed { event_index: true, indirect: true };
        let layout = Layout::new(0, SIZE, 8).expect("a power of two");
        let mut queue = Queue::new(area, layout, 0, agreed).expect("it has room");
        queue.want_call(false);
        let ring = Ring::alone(memory, SIZE, true, true).expect("it has room");
        Both { queue, ring, chain: Chain::default() }
    }

    /// Submits a batch; `number` differs from one to the next.
    pub fn submit(&mut self, number: u64) {
        // From batch to batch somewhere else, so that descriptors have to be written.
        let at = MEMORY / 2 + 4096 * (number % 2) as usize;
        let piece = |offset: usize, bytes: u32| Span { at: at + offset, bytes };
        let readable = [piece(0, 72), piece(72, 16), piece(128, 64)];
        let writable = [piece(192, 64), piece(256, 1)];
        for token in 0..BATCH {
            let submitted = self.queue.submit(token, black_box(&readable), &writable);
            assert!(submitted.expect("good pieces"));
        }
        self.queue.show();
    }

    /// Takes them out, looks at what a crypto device looks at, and gives them back.
    pub fn serve(&mut self) {
        let Both { ring, chain, .. } = self;
        let memory = ring.memory().clone();
        let mut slices = Vec::with_capacity(8);
        while ring.take(chain).expect("a good buffer") {
            look(chain, &memory, &mut slices);
            ring.give_back(chain, 65);
            ring.call_early();
        }
        ring.call();
    }

    /// Takes them back.
    pub fn take(&mut self) {
        for _ in 0..BATCH {
            black_box(self.queue.take().expect("a good device"));
        }
    }
}

fn look<'m>(chain: &Chain, memory: &'m Memory, slices: &mut Vec<VolatileSlice<'m>>) {
    let (mut fixed, mut iv) = ([0; 72], [0; 16]);
    chain.read(memory, 0, &mut fixed).expect("it is there");
    chain.read(memory, 72, &mut iv).expect("it is there");
    slices.clear();
    chain.source(memory, 88, 64, slices).expect("it is there");
    chain.target(memory, 0, 64, slices).expect("it is there");
    chain.target(memory, 64, 1, slices).expect("it is there");
    black_box((&fixed, &iv, slices));
}
