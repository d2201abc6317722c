//! The buffer's memory, mapped twice in a row: what begins before its end goes on behind it.

use std::os::fd::OwnedFd;
use std::ptr::{self, NonNull};

use rustix::mm::{MapFlags, ProtFlags, mmap, mmap_anonymous, munmap};
use tollway_core::{Error, Result};

/// `len` bytes of shared memory at two adjacent places.
#[derive(Debug)]
pub(super) struct TwiceMapped {
    start: NonNull<u8>,
    len: usize,
}

// SAFETY: the mapping belongs to the process, not to a thread, and has one owner.
unsafe impl Send for TwiceMapped {}

impl TwiceMapped {
    /// Maps `memory`, of `len` bytes: a power of two, whole pages. All pages are there afterwards.
    pub(super) fn new(memory: &OwnedFd, len: usize) -> Result<TwiceMapped> {
        let refused = |e| Error::system(format!("mapping a buffer of {len} bytes"), e);
        // SAFETY: a new mapping at an address of the kernel's choice overlaps nothing that Rust knows of.
        let start =
            unsafe { mmap_anonymous(ptr::null_mut(), 2 * len, ProtFlags::empty(), MapFlags::PRIVATE) }
                .map_err(refused)?;
        let start = NonNull::new(start.cast::<u8>())
            .ok_or_else(|| Error::system("mapping a buffer", "the kernel mapped address 0"))?;
        let mapped = TwiceMapped { start, len };
        for half in [0, len] {
            let access = ProtFlags::READ | ProtFlags::WRITE;
            let flags = MapFlags::SHARED | MapFlags::FIXED | MapFlags::POPULATE;
            // SAFETY: the place lies within the mapping made above, which nothing uses yet and which this one replaces.
            unsafe { mmap(start.as_ptr().add(half).cast(), len, access, flags, memory, 0) }
                .map_err(refused)?;
        }
        Ok(mapped)
    }

    /// Its length, once.
    #[inline(always)]
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// The `len` bytes from position `at` of the endless buffer on.
    ///
    /// `len` must not be above that of the buffer.
    #[inline(always)]
    pub(super) fn at(&mut self, at: u64, len: usize) -> &mut [u8] {
        debug_assert!(len <= self.len);
        let offset = at as usize & (self.len - 1);
        // SAFETY: offset < self.len and len <= self.len, so the slice lies within the 2 × self.len mapped bytes, which
        // are initialised (zero, or written through here). The two halves alias, but a slice of at most self.len bytes
        // has no byte twice; no other slice exists while this one borrows `self`, and the consumer reads by system call.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr().add(offset), len.min(self.len)) }
    }
}

impl Drop for TwiceMapped {
    fn drop(&mut self) {
        // SAFETY: both halves were mapped by `new` and nothing borrows them any more. A failure would leave them mapped.
        let _ = unsafe { munmap(self.start.as_ptr().cast(), 2 * self.len) };
    }
}
