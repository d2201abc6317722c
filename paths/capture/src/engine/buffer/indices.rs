//! How far the producer has written and the consumer has read.

use super::atomic::{AtomicU64, Ordering};

/// A counter on cache lines of its own: two, as processors fetch pairs.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Own(AtomicU64);

/// Bytes appended and bytes read, since the buffer was made.
#[derive(Debug, Default)]
pub(super) struct Indices {
    head: Own,
    tail: Own,
}

impl Indices {
    /// Says that everything before `head` is written. Only the producer calls it, after it has written.
    #[inline(always)]
    pub(super) fn publish(&self, head: u64) {
        self.head.0.store(head, Ordering::Release);
    }

    /// How far the producer has written: what lies before may be read.
    #[inline(always)]
    pub(super) fn written(&self) -> u64 {
        self.head.0.load(Ordering::Acquire)
    }

    /// Says that everything before `tail` has been read. Only the consumer calls it, after it has read.
    #[inline(always)]
    pub(super) fn release(&self, tail: u64) {
        self.tail.0.store(tail, Ordering::Release);
    }

    /// How far the consumer has read: what lies before may be overwritten.
    #[inline(always)]
    pub(super) fn read(&self) -> u64 {
        self.tail.0.load(Ordering::Acquire)
    }
}
