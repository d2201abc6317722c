//! Where everything is in the memory that a front end shares.

use tollway_core::{Error, Result};

/// Offsets in bytes from the start of the memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// How many descriptors the queue has.
    pub size: u16,
    /// The table of descriptors.
    pub descriptors: usize,
    /// The available ring.
    pub available: usize,
    /// The used ring.
    pub used: usize,
    /// The first buffer; they follow each other.
    pub buffers: usize,
    /// Bytes of a buffer.
    pub buffer_bytes: usize,
    /// Bytes of all.
    pub end: usize,
}

const LINE: usize = 64;

impl Layout {
    /// The rings of a queue, aligned as VIRTIO 1.2, 2.7, asks, each on cache lines of its own, and no buffers.
    pub(crate) fn of_queue(size: u16, buffer_bytes: usize) -> Layout {
        let n = usize::from(size);
        let available = 16 * n;
        let used = (available + 6 + 2 * n).next_multiple_of(LINE);
        let buffers = (used + 6 + 8 * n).next_multiple_of(4096);
        Layout { size, descriptors: 0, available, used, buffers, buffer_bytes, end: buffers }
    }

    /// A queue and one buffer for each of its descriptors.
    pub(crate) fn new(size: u16, buffer_bytes: u32) -> Result<Layout> {
        let input = |reason: String, remedy: &str| Error::Input {
            place: "a queue of a process tenant".into(),
            reason,
            remedy: remedy.into(),
        };
        if !size.is_power_of_two() {
            return Err(input(format!("{size} buffers"), "let it be a power of two"));
        }
        if buffer_bytes == 0 {
            return Err(input("its buffers have no bytes".into(), "let them have one or more"));
        }
        let mut layout = Layout::of_queue(size, buffer_bytes as usize);
        layout.end += usize::from(size) * layout.buffer_bytes;
        Ok(layout)
    }

    /// Where a buffer begins.
    pub(crate) fn buffer(&self, number: u16) -> usize {
        self.buffers + usize::from(number) * self.buffer_bytes
    }
}
