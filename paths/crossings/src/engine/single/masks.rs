//! The signals that a thread lets in: a call that reads and changes a word of the kernel's.

use std::mem::zeroed;

use libc::{SIG_BLOCK, SIG_SETMASK, pthread_sigmask, sigaddset, sigismember, sigset_t};
use tollway_core::Result;

use super::{IN_A_ROW, Row, Single};

pub(super) fn change(_: usize, row: Row) -> Result<Box<dyn Single>> {
    // SAFETY: a set of zeroes is the empty one of Linux, and `sigaddset` writes into it.
    let set = unsafe {
        let mut set: sigset_t = zeroed();
        sigaddset(&mut set, libc::SIGURG);
        set
    };
    Ok(Box::new(Mask { set, before: None, row: row.of(IN_A_ROW) }))
}

/// rt_sigprocmask: one signal blocked, and let in again, in turns.
struct Mask {
    set: sigset_t,
    /// What was blocked before, while the signal is blocked.
    before: Option<sigset_t>,
    row: u32,
}

impl Mask {
    /// Sets or blocks; returns what was blocked before.
    #[inline]
    fn change(how: i32, set: &sigset_t) -> Option<sigset_t> {
        // SAFETY: a set of zeroes is a valid one; the call reads one set and writes the other, both live.
        unsafe {
            let mut before: sigset_t = zeroed();
            (pthread_sigmask(how, set, &mut before) == 0).then_some(before)
        }
    }
}

impl Single for Mask {
    fn count(&self) -> u32 {
        self.row
    }

    #[inline]
    fn calls(&mut self) -> u32 {
        (0..self.row)
            .map(|_| match self.before.take() {
                None => {
                    self.before = Mask::change(SIG_BLOCK, &self.set);
                    u32::from(self.before.is_some())
                }
                Some(before) => {
                    let blocked = Mask::change(SIG_SETMASK, &before);
                    // SAFETY: the set is live, and SIGURG a signal.
                    let was = blocked.is_some_and(|set| unsafe { sigismember(&set, libc::SIGURG) == 1 });
                    u32::from(was)
                }
            })
            .sum()
    }

    /// The signal is let in again.
    fn verify(&mut self, _: u64) -> Result<()> {
        if let Some(before) = self.before.take() {
            Mask::change(SIG_SETMASK, &before);
        }
        Ok(())
    }
}
