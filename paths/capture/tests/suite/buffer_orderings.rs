//! The two counters of the packet buffer under every interleaving and every order of memory that the language allows.
//!
//! `indices.rs` is compiled once more here, with loom's atomics in the place of the processor's; packets are loom cells,
//! which report an access that is not ordered.

use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::sync::atomic;
use loom::thread;

#[path = "../../src/engine/buffer/indices.rs"]
mod indices;

use indices::Indices;

/// Packets that fit.
const CAPACITY: u64 = 2;

/// Packets that go through.
const PACKETS: u64 = 3;

#[test]
fn no_packet_is_read_before_it_is_written_or_overwritten_before_it_is_read() {
    // Two threads wait for each other in loops, so their interleavings have no end: as many as three preemptions make.
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.check(|| {
        let indices = Arc::new(Indices::default());
        let slots: Arc<Vec<UnsafeCell<u64>>> = Arc::new((0..CAPACITY).map(|_| UnsafeCell::new(0)).collect());
        let tap = thread::spawn({
            let (indices, slots) = (indices.clone(), slots.clone());
            move || {
                for head in 0..PACKETS {
                    while head - indices.read() == CAPACITY {
                        thread::yield_now();
                    }
                    slots[(head % CAPACITY) as usize].with_mut(|slot| {
                        // SAFETY: loom checks that nobody else has access at the same time: that is the test.
                        unsafe { *slot = head + 1 };
                    });
                    indices.publish(head + 1);
                }
            }
        });
        for tail in 0..PACKETS {
            while indices.written() == tail {
                thread::yield_now();
            }
            // SAFETY: as above.
            let packet = slots[(tail % CAPACITY) as usize].with(|slot| unsafe { *slot });
            assert_eq!(packet, tail + 1);
            indices.release(tail + 1);
        }
        tap.join().unwrap();
    });
}
