//! Memory that two processes share: made here, handed over as a descriptor, mapped there.
//!
//! A memfd (memfd_create(2)) whose size is sealed, so that the other side cannot shrink it under a reader (which
//! would kill the reader with SIGBUS). The pages are touched when mapped and locked where the limit allows, so that
//! no fault falls into a window.

use std::ops::Deref;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicU8, AtomicU64};

use rustix::fs::{
    MemfdFlags, SealFlags, fcntl_add_seals, fcntl_get_seals, fstat, fstatfs, ftruncate, memfd_create,
};
use rustix::mm::{MapFlags, ProtFlags, mlock, mmap, munmap};
use rustix::param::page_size;
use tollway_core::{Error, Result};

/// Shared pages, mapped readable and writable; unmapped when dropped.
#[derive(Debug)]
pub struct SharedPages {
    start: NonNull<u8>,
    len: usize,
    descriptor: OwnedFd,
    locked: bool,
}

// SAFETY: the mapping belongs to the process, not to a thread.
unsafe impl Send for SharedPages {}
// SAFETY: shared references give out only atomics, and raw pointers whose use is unsafe.
unsafe impl Sync for SharedPages {}

/// The most that is mapped of another process's memory, in bytes: it is touched and kept in memory.
const MOST: usize = 64 << 20;

/// What fstatfs(2) says of a memfd of ordinary pages (TMPFS_MAGIC). One of huge pages says HUGETLBFS_MAGIC: whoever touches those when none are left
/// is killed by SIGBUS.
const TMPFS_MAGIC: rustix::fs::FsWord = 0x0102_1994;

impl SharedPages {
    /// Makes pages for at least `bytes` bytes, all zero. The size is rounded up to whole pages.
    ///
    /// # Errors
    /// [`Error::Input`] for no or too many bytes; [`Error::System`] if the kernel refuses.
    pub fn new(bytes: usize) -> Result<SharedPages> {
        let len = bytes.checked_next_multiple_of(page_size()).filter(|len| *len > 0).ok_or_else(|| {
            unusable(
                format!("{bytes} bytes cannot be mapped"),
                "ask for at least one byte, and fewer than 2^63",
            )
        })?;
        let doing = format!("making {len} bytes of shared memory");
        let refused = |e: rustix::io::Errno| Error::system(&*doing, e);
        let descriptor =
            memfd_create("tollway", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING).map_err(refused)?;
        ftruncate(&descriptor, len as u64).map_err(refused)?;
        fcntl_add_seals(&descriptor, SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL)
            .map_err(refused)?;
        SharedPages::map(descriptor, len)
    }

    /// Maps pages that another process made with [`SharedPages::new`].
    ///
    /// # Errors
    /// [`Error::Input`] if it is no memory of that kind: not sealed against shrinking, empty, or of huge pages; [`Error::System`] if
    /// the kernel refuses.
    pub fn from_fd(descriptor: OwnedFd) -> Result<SharedPages> {
        SharedPages::checked(descriptor, None)
    }

    /// Maps pages that another process made with [`SharedPages::new`] for so many bytes: nothing is mapped, or touched, if they are others.
    ///
    /// # Errors
    /// As [`SharedPages::from_fd`], and [`Error::Input`] if they are fewer or more.
    pub fn from_fd_for(descriptor: OwnedFd, bytes: usize) -> Result<SharedPages> {
        SharedPages::checked(descriptor, Some(bytes))
    }

    fn checked(descriptor: OwnedFd, bytes: Option<usize>) -> Result<SharedPages> {
        let remedy = "pass the descriptor of a SharedPages";
        let seals = fcntl_get_seals(&descriptor)
            .map_err(|e| unusable(format!("the descriptor is no memory that can be sealed: {e}"), remedy))?;
        if !seals.contains(SealFlags::SHRINK) {
            return Err(unusable("the memory is not sealed: its maker could shrink it".into(), remedy));
        }
        let size =
            fstat(&descriptor).map_err(|e| Error::system("asking for a descriptor's size", e))?.st_size;
        let len = usize::try_from(size).ok().filter(|len| *len > 0 && len.is_multiple_of(page_size()));
        let len = len.ok_or_else(|| unusable(format!("{size} bytes are not whole pages"), remedy))?;
        if bytes.is_some_and(|bytes| bytes.checked_next_multiple_of(page_size()) != Some(len)) {
            return Err(unusable(format!("{len} bytes are not what was agreed on"), remedy));
        }
        let kind =
            fstatfs(&descriptor).map_err(|e| Error::system("asking for a descriptor's kind", e))?.f_type;
        if kind != TMPFS_MAGIC {
            return Err(unusable("its pages are not of the ordinary kind".into(), remedy));
        }
        if len > MOST {
            return Err(unusable(format!("{len} bytes are more than {MOST}"), remedy));
        }
        SharedPages::map(descriptor, len)
    }

    fn map(descriptor: OwnedFd, len: usize) -> Result<SharedPages> {
        let access = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new mapping at an address of the kernel's choice overlaps no memory that Rust knows of.
        let start = unsafe {
            mmap(ptr::null_mut(), len, access, MapFlags::SHARED | MapFlags::POPULATE, &descriptor, 0)
        }
        .map_err(|e| Error::system(format!("mapping {len} bytes of shared memory"), e))?;
        // SAFETY: exactly the mapping made above.
        let locked = unsafe { mlock(start, len) }.is_ok();
        let start =
            NonNull::new(start.cast()).ok_or_else(|| Error::system("mapping", "it is at address 0"))?;
        Ok(SharedPages { start, len, descriptor, locked })
    }

    /// The first byte; page-aligned. Valid for [`len`](SharedPages::len) bytes as long as this value lives; another
    /// process may change them at any time.
    pub fn as_ptr(&self) -> *mut u8 {
        self.start.as_ptr()
    }

    /// How many bytes are mapped: whole pages.
    #[allow(clippy::len_without_is_empty)]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether the pages are locked in memory; where RLIMIT_MEMLOCK is too small they are touched but not locked.
    pub fn locked(&self) -> bool {
        self.locked
    }

    /// The memory as bytes that both sides may change.
    pub fn bytes(&self) -> &[AtomicU8] {
        // SAFETY: the mapping is readable and writable, `len` bytes long, lives as long as `self` and cannot shrink
        // (sealed: checked in `from_fd`, set in `new`). Atomics allow changes from elsewhere.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr().cast(), self.len) }
    }

    /// The memory as 64-bit words that both sides may change.
    pub fn words(&self) -> &[AtomicU64] {
        // SAFETY: as in `bytes`; the start is page-aligned and the length a multiple of the page.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr().cast(), self.len / 8) }
    }
}

impl AsFd for SharedPages {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}

impl Drop for SharedPages {
    fn drop(&mut self) {
        // SAFETY: exactly the mapping made in `map`; references into it borrow `self` and are gone.
        let _ = unsafe { munmap(self.start.as_ptr().cast(), self.len) };
    }
}

/// Exactly one shared page.
#[derive(Debug)]
pub struct SharedPage(SharedPages);

impl SharedPage {
    /// Makes a page, all zero.
    ///
    /// # Errors
    /// As [`SharedPages::new`].
    pub fn new() -> Result<SharedPage> {
        SharedPages::new(1).map(SharedPage)
    }

    /// Maps a page that another process made.
    ///
    /// # Errors
    /// As [`SharedPages::from_fd`], and [`Error::Input`] if it is more than a page.
    pub fn from_fd(descriptor: OwnedFd) -> Result<SharedPage> {
        let pages = SharedPages::from_fd(descriptor)?;
        if pages.len() == page_size() {
            return Ok(SharedPage(pages));
        }
        Err(unusable(format!("it has {} bytes", pages.len()), "pass the descriptor of a SharedPage"))
    }
}

impl Deref for SharedPage {
    type Target = SharedPages;

    fn deref(&self) -> &SharedPages {
        &self.0
    }
}

fn unusable(reason: String, remedy: &str) -> Error {
    Error::Input { place: "shared memory".into(), reason, remedy: remedy.into() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::descriptor;
    use std::os::unix::net::UnixStream;
    use std::sync::atomic::Ordering;

    #[test]
    fn two_mappings_see_the_same_memory() {
        let mine = SharedPages::new(10_000).unwrap();
        assert_eq!(mine.len() % page_size(), 0);
        assert!(mine.words().iter().all(|w| w.load(Ordering::Relaxed) == 0));
        let (a, b) = UnixStream::pair().unwrap();
        descriptor::send(&a, &[mine.as_fd()]).unwrap();
        let mut fds = descriptor::receive(&b).unwrap();
        let theirs = SharedPages::from_fd(fds.remove(0)).unwrap();
        theirs.words()[1000].store(42, Ordering::Release);
        assert_eq!(mine.words()[1000].load(Ordering::Acquire), 42);
        assert_ne!(mine.as_ptr(), theirs.as_ptr());
        assert_eq!(mine.bytes().len(), mine.len());
    }

    #[test]
    fn the_other_side_cannot_shrink_it() {
        let page = SharedPage::new().unwrap();
        assert!(ftruncate(&page.descriptor, 0).is_err());
        assert!(page.locked() || page.len() == page_size());
    }

    #[test]
    fn foreign_descriptors_are_refused() {
        assert!(SharedPages::from_fd(tempfile::tempfile().unwrap().into()).is_err());
        let loose = memfd_create("loose", MemfdFlags::ALLOW_SEALING).unwrap();
        ftruncate(&loose, 4096).unwrap();
        assert!(SharedPages::from_fd(loose).is_err());
        let agreed = || SharedPages::new(page_size() + 1).unwrap().as_fd().try_clone_to_owned().unwrap();
        assert!(SharedPages::from_fd_for(agreed(), 2 * page_size()).is_ok());
        assert!(SharedPages::from_fd_for(agreed(), page_size()).is_err());
        assert!(SharedPages::from_fd_for(agreed(), 2 * page_size() + 1).is_err());
        assert!(SharedPages::from_fd_for(agreed(), usize::MAX).is_err());
        // Of huge pages, none of which need be there.
        let huge =
            memfd_create("huge", MemfdFlags::ALLOW_SEALING | MemfdFlags::HUGETLB | MemfdFlags::HUGE_2MB);
        if let Ok(huge) = huge {
            ftruncate(&huge, 2 << 20).unwrap();
            fcntl_add_seals(&huge, SealFlags::SHRINK | SealFlags::GROW).unwrap();
            assert!(SharedPages::from_fd(huge).unwrap_err().to_string().contains("kind"));
        }
        let two = SharedPages::new(page_size() + 1).unwrap();
        assert!(SharedPage::from_fd(two.as_fd().try_clone_to_owned().unwrap()).is_err());
        assert!(SharedPages::new(0).is_err());
        assert!(SharedPages::new(usize::MAX).is_err());
    }
}
