//! Where a queue is in the memory that a front end shares.

use tollway_core::{Error, Result};

/// Where the parts of a split queue are: offsets in bytes from the start of an area.
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
    /// The indirect tables, one for each descriptor.
    pub tables: usize,
    /// Descriptors of each of them; 0: there are none.
    pub entries: usize,
    /// The first byte after all of it.
    pub end: usize,
}

const LINE: usize = 64;

impl Layout {
    /// The parts of a queue from the cache line at or after `start` on, aligned as VIRTIO 1.2, 2.7, asks, each ring on cache
    /// lines of its own.
    ///
    /// # Errors
    /// [`Error::Input`] for a size that is no power of two, or above 32,768.
    pub fn new(start: usize, size: u16, entries: usize) -> Result<Layout> {
        if !size.is_power_of_two() {
            return Err(Error::Input {
                place: "a queue of a process tenant".into(),
                reason: format!("{size} descriptors"),
                remedy: "let it be a power of two, at most 32768".into(),
            });
        }
        let n = usize::from(size);
        let descriptors = start.next_multiple_of(LINE);
        let available = descriptors + 16 * n;
        let used = (available + 6 + 2 * n).next_multiple_of(LINE);
        let tables = (used + 6 + 8 * n).next_multiple_of(LINE);
        // Each on a line of its own, too: what the device reads of one is not what the driver writes of the next.
        let end = tables + n * (16 * entries).next_multiple_of(LINE);
        Ok(Layout { size, descriptors, available, used, tables, entries, end })
    }

    /// Where the indirect table of a descriptor begins.
    pub(crate) fn table(&self, descriptor: u16) -> usize {
        self.tables + usize::from(descriptor) * (16 * self.entries).next_multiple_of(LINE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_aligned_and_apart() {
        for (start, size, entries) in [(0, 1, 0), (100, 2, 8), (64, 256, 5), (4096, 1024, 1)] {
            let layout = Layout::new(start, size, entries).unwrap();
            let n = usize::from(size);
            assert!(layout.descriptors >= start && layout.descriptors.is_multiple_of(16));
            assert!(layout.available >= layout.descriptors + 16 * n && layout.available.is_multiple_of(2));
            assert!(layout.used >= layout.available + 6 + 2 * n && layout.used.is_multiple_of(4));
            assert!(layout.tables >= layout.used + 6 + 8 * n);
            assert!(layout.table(size - 1) + 16 * entries <= layout.end);
        }
        for wrong in [0, 3, 65_535] {
            Layout::new(0, wrong, 0).unwrap_err();
        }
    }
}
