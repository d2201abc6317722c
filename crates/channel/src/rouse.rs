//! The word by which the threads of a process wake the one of them that sleeps for all, and by which it learns that the other end is gone.
//!
//! A bell lies in shared memory, where a hostile end may silence it at any moment. So whoever sleeps by a bell sleeps by this word as well, which
//! no other process sees, and what is said here is believed.

use super::atomic::{AtomicU32, Ordering};
use super::wait::Gone;

/// In the word while its thread sleeps, or is about to.
pub const DOWN: u32 = 1;

/// In the word when something was done for it since it last looked.
const ROUSED: u32 = 2;

/// In the word when the other end is no more; never taken away.
const ENDED: u32 = 4;

/// The word of one thread that sleeps; any may rouse it.
#[derive(Debug, Default)]
pub struct Rouse(AtomicU32);

impl Rouse {
    /// Of a thread that is awake.
    pub fn new() -> Rouse {
        Rouse(AtomicU32::new(0))
    }

    /// The thread is about to sleep, by [`word`](Rouse::word) while [`DOWN`] stands in it. It has looked at whatever it is roused for before. Whether
    /// it may sleep: not if it was roused since it last [rose](Rouse::rises).
    ///
    /// # Errors
    /// [`Gone`] if the other end is no more.
    pub fn lies_down(&self) -> Result<bool, Gone> {
        match self.0.compare_exchange(0, DOWN, Ordering::SeqCst, Ordering::SeqCst) {
            Ok(_) => Ok(true),
            Err(word) if word & ENDED != 0 => Err(Gone),
            Err(_) => {
                self.rises();
                Ok(false)
            }
        }
    }

    /// The thread has slept, and looks after this at whatever it may have been roused for.
    pub fn rises(&self) {
        self.0.fetch_and(ENDED, Ordering::SeqCst);
    }

    /// Something was done for the thread. Whether whoever did it has to wake it: once for each time that it lay down.
    pub fn rouse(&self) -> bool {
        self.0.fetch_or(ROUSED, Ordering::SeqCst) == DOWN
    }

    /// The other end is no more. Whether the thread is to be woken for that.
    pub fn ends(&self) -> bool {
        self.0.fetch_or(ENDED, Ordering::SeqCst) & DOWN != 0
    }

    /// Whether the other end is no more.
    pub fn is_ended(&self) -> bool {
        self.0.load(Ordering::SeqCst) & ENDED != 0
    }

    /// By which it sleeps.
    pub fn word(&self) -> &AtomicU32 {
        &self.0
    }
}
