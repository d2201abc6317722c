//! A piece of a socket's memory in this process, unmapped when dropped.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr::NonNull;
use std::sync::atomic::AtomicU32;

/// Memory that the kernel writes to as well. Nothing in it is an object of Rust's until it was taken over by a status
/// word.
#[derive(Debug)]
pub struct Mapping {
    start: NonNull<u8>,
    length: usize,
}

// SAFETY: it is memory and nothing of a thread; who uses it is ruled by `&` and `&mut` of the ring around it.
unsafe impl Send for Mapping {}

impl Mapping {
    /// Maps `length` bytes of a socket at an offset that names which of its rings is meant.
    pub fn of(socket: BorrowedFd<'_>, length: usize, offset: i64) -> io::Result<Mapping> {
        Mapping::new(length, libc::MAP_SHARED | libc::MAP_POPULATE, socket.as_raw_fd(), offset)
    }

    /// Memory of this process alone, zeroed, on whole pages.
    pub fn anonymous(length: usize) -> io::Result<Mapping> {
        Mapping::new(length, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_POPULATE, -1, 0)
    }

    fn new(length: usize, flags: i32, fd: i32, offset: i64) -> io::Result<Mapping> {
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a new mapping at an address of the kernel's choice touches no other.
        let start = unsafe { libc::mmap(std::ptr::null_mut(), length, protection, flags, fd, offset) };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let start = NonNull::new(start.cast()).ok_or_else(|| io::Error::other("mapped at address 0"))?;
        Ok(Mapping { start, length })
    }

    /// Where it is.
    pub fn address(&self) -> u64 {
        self.start.as_ptr() as u64
    }

    /// How many bytes it has.
    pub fn length(&self) -> usize {
        self.length
    }

    /// A word that both sides read and write.
    ///
    /// # Panics
    /// If it is not inside, or not aligned.
    #[inline]
    pub fn word(&self, at: usize) -> &AtomicU32 {
        assert!(at.is_multiple_of(4) && at.checked_add(4).is_some_and(|end| end <= self.length));
        // SAFETY: inside the mapping, which is aligned to a page and lives as long as the reference; atomic, so that the
        // kernel may write at the same time.
        unsafe { AtomicU32::from_ptr(self.start.as_ptr().add(at).cast()) }
    }

    /// Bytes that are ours at the moment.
    ///
    /// # Safety
    /// The other side neither reads nor writes them while the slice lives: a status word, read with acquire, said so.
    ///
    /// # Panics
    /// If they are not inside.
    #[inline]
    pub unsafe fn bytes(&mut self, at: usize, length: usize) -> &mut [u8] {
        assert!(at.checked_add(length).is_some_and(|end| end <= self.length));
        // SAFETY: inside the mapping, which outlives the slice; nobody else uses it, as the caller promises and `&mut`
        // says.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr().add(at), length) }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the mapping made in `new`; no reference into it outlives it.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.length) };
    }
}
