//! The memory that an isolated guest and its host share. The guest may change it at any moment, so the host has no
//! reference to its bytes: it copies them once, and decides by its copy.

use std::arch::asm;
use std::ops::Range;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use tollway_core::{Error, Result};
use tollway_host::shared::SharedPages;

/// Shared memory of guests, threads of this program and other processes. Clones are the same memory. It is given back
/// when the last clone, and the last guest that sees it, is gone.
#[derive(Debug, Clone)]
pub struct Window(Arc<SharedPages>);

impl Window {
    /// A new window of at least so many bytes, all zero; whole pages.
    ///
    /// # Errors
    /// As [`SharedPages::new`].
    pub fn new(bytes: usize) -> Result<Window> {
        Ok(Window(Arc::new(SharedPages::new(bytes)?)))
    }

    /// The window that another process made, by its descriptor.
    ///
    /// # Errors
    /// As [`SharedPages::from_fd`]: memory that its maker could shrink is refused.
    pub fn from_fd(descriptor: OwnedFd) -> Result<Window> {
        Ok(Window(Arc::new(SharedPages::from_fd(descriptor)?)))
    }

    /// Bytes of the window.
    #[allow(clippy::len_without_is_empty)]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Copies from the window at `offset`, each byte once. If the guest writes meanwhile, old and new bytes may be mixed;
    /// to get a whole message, let it say by an atomic [`word`](Window::word) when it is there.
    ///
    /// # Errors
    /// [`Error::Input`] if that is not within the window; then nothing is copied.
    pub fn read(&self, offset: usize, target: &mut [u8]) -> Result<()> {
        let range = self.check(offset, target.len())?;
        // SAFETY: the range is mapped as long as `self.0` lives; the target is exclusively ours.
        unsafe { copy(self.0.as_ptr().add(range.start), target.as_mut_ptr(), range.len()) };
        Ok(())
    }

    /// Copies to the window at `offset`.
    ///
    /// # Errors
    /// [`Error::Input`] if that is not within the window; then nothing is copied.
    pub fn write(&self, offset: usize, source: &[u8]) -> Result<()> {
        let range = self.check(offset, source.len())?;
        // SAFETY: as in `read`; nobody has references to the bytes of the window.
        unsafe { copy(source.as_ptr(), self.0.as_ptr().add(range.start), range.len()) };
        Ok(())
    }

    /// The 64-bit word at `offset`, for atomic access by both sides.
    ///
    /// # Errors
    /// [`Error::Input`] if that is not within the window or not a multiple of 8.
    pub fn word(&self, offset: usize) -> Result<&AtomicU64> {
        if !offset.is_multiple_of(8) {
            return Err(outside(format!("the offset {offset} of a word is not a multiple of 8")));
        }
        self.check(offset, 8)?;
        Ok(&self.0.words()[offset / 8])
    }

    /// Where this program sees the window.
    pub(super) fn range(&self) -> Range<usize> {
        let start = self.0.as_ptr() as usize;
        start..start + self.0.len()
    }

    fn check(&self, offset: usize, len: usize) -> Result<Range<usize>> {
        match offset.checked_add(len) {
            Some(end) if end <= self.len() => Ok(offset..end),
            _ => Err(outside(format!("{len} bytes at {offset} are not within its {} bytes", self.len()))),
        }
    }
}

impl AsFd for Window {
    /// The descriptor, for [`Window::from_fd`] in another process.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Copies `len` bytes, each read once and written once, by an instruction that the compiler knows nothing about: it
/// cannot read again what it has read, nor assume that memory which a guest writes stays as it is.
///
/// # Safety
/// Both ranges are mapped, and no Rust reference to the one that is written is in use.
unsafe fn copy(from: *const u8, to: *mut u8, len: usize) {
    // SAFETY: the caller's; the direction flag is clear by convention.
    unsafe {
        asm!("rep movsb", inout("rdi") to => _, inout("rsi") from => _, inout("rcx") len => _,
            options(nostack, preserves_flags));
    }
}

fn outside(reason: String) -> Error {
    Error::Input {
        place: "the window of an isolated guest".into(),
        reason,
        remedy: "stay within Window::len".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::Ordering;

    /// What is written is read, by clones and by another mapping of the same memory; up to the last byte and no further.
    #[test]
    fn it_is_one_memory() {
        let window = Window::new(10_000).unwrap();
        let other = Window::from_fd(window.as_fd().try_clone_to_owned().unwrap()).unwrap();
        let len = window.len();
        window.clone().write(len - 3, b"end").unwrap();
        let mut read = [0; 3];
        other.read(len - 3, &mut read).unwrap();
        assert_eq!(&read, b"end");
        other.word(8).unwrap().store(7, Ordering::Release);
        assert_eq!(window.word(8).unwrap().load(Ordering::Acquire), 7);
        window.write(len, b"").unwrap();
    }

    /// Beyond the end nothing is read, written or handed out.
    #[test]
    fn its_bounds_hold() {
        let window = Window::new(4096).unwrap();
        let mut target = [1u8; 8];
        for offset in [4089, 4096, 4097, usize::MAX, usize::MAX - 7] {
            assert!(window.read(offset, &mut target).is_err(), "{offset}");
            assert!(window.write(offset, &target).is_err(), "{offset}");
            assert!(window.word(offset & !7).is_err() || offset == 4089, "{offset}");
        }
        assert_eq!(target, [1; 8]);
        let error = window.word(4).unwrap_err().to_string();
        assert!(error.contains("multiple of 8"), "{error}");
    }

    /// A copy stays what it was while the memory is being changed under it, and each byte is an old or a new one.
    #[test]
    fn a_copy_is_a_copy() {
        let window = Window::new(4096).unwrap();
        let stop = AtomicU64::new(0);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for value in (0..=255u8).cycle().take_while(|_| stop.load(Ordering::Relaxed) == 0) {
                    let _ = window.write(0, &[value | 1; 4096]);
                }
            });
            let mut copy = vec![0u8; 4096];
            for _ in 0..2000 {
                window.read(0, &mut copy).unwrap();
                assert!(copy.iter().all(|byte| byte & 1 == 1 || *byte == 0));
                let sum: u64 = copy.iter().map(|byte| u64::from(*byte)).sum();
                std::thread::yield_now();
                assert_eq!(sum, copy.iter().map(|byte| u64::from(*byte)).sum::<u64>());
            }
            stop.store(1, Ordering::Relaxed);
        });
    }
}
