//! How often this process has been copied by fork(2) on its way here: what a thread remembers of a probe is its parent's then, and not its own.

use std::sync::Once;
use std::sync::atomic::{AtomicU64, Ordering};

static FORKS: AtomicU64 = AtomicU64::new(0);

/// Counts from now on.
pub(crate) fn count() {
    extern "C" fn in_the_child() {
        FORKS.fetch_add(1, Ordering::Relaxed);
    }
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // SAFETY: the function makes one addition, which may be done in a child of a process with threads.
        unsafe { libc::pthread_atfork(None, None, Some(in_the_child)) };
    });
}

#[inline]
pub(crate) fn so_far() -> u64 {
    FORKS.load(Ordering::Relaxed)
}
