//! Detection of fork(2): whether a value is still in the process that made it.
//!
//! A child has copies of all that its parent had, and shares with it what the parent shared with others:
//! memory, sockets. Whatever must be used by one process alone remembers its [`Origin`]. One page of each
//! process has a number that the kernel wipes in a child (MADV_WIPEONFORK, Linux 4.14), by whatever call that
//! is made; so to ask is two loads and no system call.

use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous};
use rustix::param::page_size;

/// The process in which a value was made.
#[derive(Clone, Copy, Debug)]
pub struct Origin {
    /// Where each process has its number; 0 in a child that has made nothing yet.
    word: &'static AtomicU64,
    number: u64,
}

impl Origin {
    /// This process.
    pub fn here() -> Origin {
        // Of this a child has a copy: it counts on from there, and its number is none of its parents'.
        static LAST: AtomicU64 = AtomicU64::new(0);
        static WORD: OnceLock<&AtomicU64> = OnceLock::new();
        let word = *WORD.get_or_init(word);
        let number = match word.load(Ordering::Relaxed) {
            0 => {
                let next = LAST.fetch_add(1, Ordering::Relaxed) + 1;
                match word.compare_exchange(0, next, Ordering::Relaxed, Ordering::Relaxed) {
                    Ok(_) => next,
                    Err(another) => another,
                }
            }
            number => number,
        };
        Origin { word, number }
    }

    /// Whether this is still that process, and no child of it.
    #[inline]
    pub fn is_here(&self) -> bool {
        self.word.load(Ordering::Relaxed) == self.number
    }
}

/// A word that is 0 in each child, by the kernel or, where that cannot, by the C library: which sees its own
/// fork(3) only.
fn word() -> &'static AtomicU64 {
    wiped_page().unwrap_or_else(|| {
        static WORD: AtomicU64 = AtomicU64::new(0);
        extern "C" fn in_the_child() {
            WORD.store(0, Ordering::Relaxed);
        }
        // SAFETY: the function makes one store, which may be done in a child of a process with threads.
        unsafe { libc::pthread_atfork(None, None, Some(in_the_child)) };
        &WORD
    })
}

fn wiped_page() -> Option<&'static AtomicU64> {
    let access = ProtFlags::READ | ProtFlags::WRITE;
    // SAFETY: a new mapping at an address of the kernel's choice overlaps no memory that Rust knows of.
    let page = unsafe { mmap_anonymous(ptr::null_mut(), page_size(), access, MapFlags::PRIVATE) }.ok()?;
    // SAFETY: exactly the mapping made above, to which there is no reference yet. Where the kernel refuses, a
    // page is kept for nothing, once.
    unsafe { madvise(page, page_size(), Advice::LinuxWipeOnFork) }.ok()?;
    // SAFETY: the page is aligned, zero, never unmapped, and accessed by this reference alone; that a child's
    // is zero again is one more value.
    Some(unsafe { AtomicU64::from_ptr(page.cast()) })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Forks, and says what the child exits with.
    fn in_a_child(does: impl FnOnce() -> bool) -> bool {
        // SAFETY: the child calls nothing that needs other threads or locks, and leaves at once.
        match unsafe { libc::fork() } {
            0 => {
                let done = does();
                // SAFETY: it ends this process.
                unsafe { libc::_exit(i32::from(!done)) }
            }
            child => {
                let mut status = 0;
                // SAFETY: the place for the status is this function's.
                unsafe { libc::waitpid(child, &raw mut status, 0) };
                status == 0
            }
        }
    }

    #[test]
    fn child_and_grandchild_are_not_where_a_value_was_made() {
        let origin = Origin::here();
        assert!(origin.is_here() && Origin::here().is_here());
        assert!(in_a_child(|| {
            let is_told = !origin.is_here();
            let own = Origin::here();
            is_told
                && own.is_here()
                && !origin.is_here()
                && in_a_child(|| !own.is_here() && !origin.is_here())
        }));
        assert!(origin.is_here());
    }

    #[test]
    fn child_made_without_the_c_library_is_told_as_well() {
        let origin = Origin::here();
        // SAFETY: clone(2) without flags is fork(2): no stack and no other address is passed.
        let child = unsafe { libc::syscall(libc::SYS_clone, libc::SIGCHLD, 0, 0, 0, 0) };
        if child == 0 {
            // SAFETY: it ends this process.
            unsafe { libc::_exit(i32::from(origin.is_here())) }
        }
        let mut status = 0;
        // SAFETY: the place for the status is this function's.
        unsafe { libc::waitpid(child as i32, &raw mut status, 0) };
        assert_eq!(status, 0);
    }
}
