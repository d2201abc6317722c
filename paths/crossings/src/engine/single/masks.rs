//! The signals that a thread lets in: a call that reads and changes a word of the kernel's.

use std::mem::zeroed;

use libc::{SIG_BLOCK, SIG_SETMASK, pthread_sigmask, sigaddset, sigismember, sigset_t};
use tollway_core::Result;

use super::{IN_A_ROW, Single};

pub(super) fn change(_: usize) -> Result<Box<dyn Single>> {
    // SAFETY: a set of zeroes is the empty one of Linux, and `sigaddset` writes into it.
    let set = unsafe {
        let mut set: sigset_t = zeroed();
        sigaddset(&mut set, libc::SIGURG);
        set
    };
    Ok(Box::new(Mask { set }))
}

/// rt_sigprocmask: one signal blocked, and let in again, in turns.
struct Mask {
    set: sigset_t,
}

impl Single for Mask {
    #[inline]
    fn calls(&mut self) -> u32 {
        (0..IN_A_ROW / 2)
            .map(|_| {
                // SAFETY: a set of zeroes is a valid one; the calls read one set and write the other, both live. The mask is put
                // back at once, so nobody misses a signal.
                unsafe {
                    let mut before: sigset_t = zeroed();
                    let mut blocked: sigset_t = zeroed();
                    let block = pthread_sigmask(SIG_BLOCK, &self.set, &mut before);
                    let back = pthread_sigmask(SIG_SETMASK, &before, &mut blocked);
                    let was = sigismember(&blocked, libc::SIGURG) == 1;
                    u32::from(block == 0) + u32::from(back == 0 && was)
                }
            })
            .sum()
    }
}
