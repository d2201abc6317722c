//! A page of memory that two processes share: a few words, each on cache lines of its own.
//!
//! Whoever is at the other end may write anything there at any time. So the page holds nothing but atomics, no value
//! found in it is ever used as an address, an index or a length, and its size is sealed: the other end cannot cut it
//! short and turn an access into SIGBUS.

use std::ops::Deref;
use std::os::fd::{AsFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, AtomicU64};

use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, fcntl_get_seals, fstat, ftruncate, memfd_create};
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use tollway_core::{Error, Result};

/// Size of the page.
const BYTES: usize = 4096;

/// What the page's size is protected by.
const SEALS: SealFlags = SealFlags::SHRINK.union(SealFlags::GROW).union(SealFlags::SEAL);

/// A word that shares its cache line with no other. Two lines wide: processors fetch lines in pairs.
#[derive(Debug, Default)]
#[repr(C, align(128))]
pub struct Line<T>(pub T);

impl<T> Deref for Line<T> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        &self.0
    }
}

/// The words of the page; all of them begin as zero.
#[derive(Debug, Default)]
#[repr(C)]
pub struct Board {
    /// What the caller asks.
    pub request: Line<AtomicU32>,
    /// What the server answers.
    pub reply: Line<AtomicU32>,
    /// Not zero once the exchange is over: for ends that spin on a word which the other end, or they themselves, could
    /// overwrite.
    pub over: Line<AtomicU32>,
    /// What both add to.
    pub sum: Line<AtomicU64>,
}

const _: () = assert!(size_of::<Board>() <= BYTES && align_of::<Board>() <= BYTES);

/// A [`Board`] mapped into this process.
#[derive(Debug)]
pub struct Shared(NonNull<Board>);

// SAFETY: a board is made of atomics only and the mapping belongs to this value alone, so it may be used and dropped
// on any thread.
unsafe impl Send for Shared {}
// SAFETY: as above: every access through a shared reference is atomic.
unsafe impl Sync for Shared {}

impl Shared {
    /// A new board, and the descriptor by which another process maps it.
    pub fn create() -> Result<(Shared, OwnedFd)> {
        let failed = |e| Error::system("making shared memory", e);
        let memory =
            memfd_create("tollway-board", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING).map_err(failed)?;
        ftruncate(&memory, BYTES as u64).map_err(failed)?;
        fcntl_add_seals(&memory, SEALS).map_err(failed)?;
        Ok((Shared::map(&memory)?, memory))
    }

    /// The board behind a descriptor that another process sent.
    pub fn adopt(memory: &OwnedFd) -> Result<Shared> {
        let failed = |e| Error::system("looking at the shared memory that was sent", e);
        let seals = fcntl_get_seals(memory).map_err(failed)?;
        let size = fstat(memory).map_err(failed)?.st_size;
        if !seals.contains(SEALS) || size != BYTES as i64 {
            return Err(Error::Tenant {
                tenant: "caller".into(),
                reason: format!(
                    "it sent {size} bytes of memory with {seals:?}; {BYTES} sealed ones were expected"
                ),
            });
        }
        Shared::map(memory)
    }

    fn map(memory: impl AsFd) -> Result<Shared> {
        let (access, flags) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED | MapFlags::POPULATE);
        // SAFETY: a new mapping, placed where the kernel chooses, replaces nothing.
        let start = unsafe { mmap(std::ptr::null_mut(), BYTES, access, flags, memory, 0) }
            .map_err(|e| Error::system("mapping shared memory", e))?;
        NonNull::new(start.cast())
            .map(Shared)
            .ok_or_else(|| Error::system("mapping shared memory", "it is at 0"))
    }
}

impl Deref for Shared {
    type Target = Board;

    #[inline(always)]
    fn deref(&self) -> &Board {
        // SAFETY: `map` mapped BYTES bytes, page-aligned, readable and writable, backed by sealed memory of that size;
        // they stay until `drop`. Every bit pattern is a board, and its fields are only accessed atomically.
        unsafe { self.0.as_ref() }
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        // SAFETY: the mapping is this value's own and no reference outlives it. It can only fail for a range that is
        // no mapping.
        let _ = unsafe { munmap(self.0.as_ptr().cast(), BYTES) };
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering;

    use super::*;

    #[test]
    fn what_one_mapping_writes_the_other_reads() {
        let (here, memory) = Shared::create().unwrap();
        let there = Shared::adopt(&memory).unwrap();
        here.request.store(7, Ordering::Release);
        there.sum.fetch_add(9, Ordering::Relaxed);
        assert_eq!(there.request.load(Ordering::Acquire), 7);
        assert_eq!(here.sum.load(Ordering::Relaxed), 9);
    }

    #[test]
    fn its_size_cannot_be_changed() {
        let (_here, memory) = Shared::create().unwrap();
        assert!(ftruncate(&memory, 0).is_err());
    }

    #[test]
    fn memory_that_could_be_cut_short_is_refused() {
        let open = memfd_create("open", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING).unwrap();
        ftruncate(&open, BYTES as u64).unwrap();
        assert!(Shared::adopt(&open).is_err());
        let pipe = rustix::pipe::pipe().unwrap().0;
        assert!(Shared::adopt(&pipe).is_err());
    }
}
