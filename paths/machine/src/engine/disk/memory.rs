//! Memory at the boundary of a page, as O_DIRECT asks for, that may be lent to the kernel part by part.

use std::ptr::{NonNull, null_mut};
use std::slice;

use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous, munmap};
use tollway_core::{Error, Result};

/// Bytes of a page; no disk's sectors are larger.
pub(super) const PAGE: usize = 4096;

/// Zeroes, at first.
pub(super) struct Memory {
    start: NonNull<u8>,
    bytes: usize,
}

// SAFETY: it owns what it points to, like a box.
unsafe impl Send for Memory {}

impl Memory {
    pub(super) fn new(bytes: usize) -> Result<Memory> {
        let bytes = bytes.max(1).next_multiple_of(PAGE);
        // SAFETY: without an address the mapping replaces nothing.
        let start = unsafe {
            mmap_anonymous(null_mut(), bytes, ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE)
        };
        let start = start.ok().and_then(|start| NonNull::new(start.cast()));
        let start = start.ok_or_else(|| {
            Error::system(format!("getting {} MiB of memory for blocks", bytes >> 20), "there is none left")
        })?;
        Ok(Memory { start, bytes })
    }

    /// Where a part begins that has so many bytes.
    pub(super) fn address(&self, from: usize, bytes: usize) -> *mut u8 {
        assert!(from.checked_add(bytes).is_some_and(|end| end <= self.bytes), "beyond the memory");
        // SAFETY: `from` is within the mapping.
        unsafe { self.start.as_ptr().add(from) }
    }

    /// A part. Nobody else may be writing to it: what is lent to the kernel is not to be asked for.
    pub(super) fn part(&mut self, from: usize, bytes: usize) -> &mut [u8] {
        // SAFETY: `address` has checked that the part is within the mapping, which is initialised and lives as long as `self`,
        // and nobody else in this program has a reference to any of it while this one lives.
        unsafe { slice::from_raw_parts_mut(self.address(from, bytes), bytes) }
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: the mapping is this one's alone, and no reference to it can outlive it. It fails for no mapping that there is.
        let _ = unsafe { munmap(self.start.as_ptr().cast(), self.bytes) };
    }
}
