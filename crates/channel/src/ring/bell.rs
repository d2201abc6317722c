//! The word by which an end says that it sleeps, so that the other wakes it then, and only then.
//!
//! Who is about to sleep says so, and looks once more. Who has written something looks whether the other has said so. Between each one's
//! write and its look is a full fence, so that of the two at least one sees what the other wrote (store buffering; Intel SDM volume 3,
//! section 9.2.3.4): no wake-up is lost. `tests/orderings` has loom try every order.

use super::atomic::{AtomicU64, Ordering, fence};

/// What stands in the word of who is to be woken.
pub const ASLEEP: u64 = 1;

/// The word of one end.
#[derive(Clone, Copy, Debug)]
pub struct Bell<'a>(pub &'a AtomicU64);

impl Bell<'_> {
    /// From now on its end is to be woken. It looks once more after this before it sleeps.
    pub fn ask(self) {
        // A swap, as in `answer`: each of several threads that answer sees what the last one of these left.
        self.0.swap(ASLEEP, Ordering::AcqRel);
        fence(Ordering::SeqCst);
    }

    /// Its end need not be woken any more.
    pub fn withdraw(self) {
        self.0.store(0, Ordering::Relaxed);
    }

    /// Whether its end still waits to be woken.
    pub fn is_asked(self) -> bool {
        self.0.load(Ordering::Relaxed) == ASLEEP
    }

    /// Whether its end is to be woken by whoever has written something for it; once for each time that it asked.
    #[inline]
    pub fn answer(self) -> bool {
        fence(Ordering::SeqCst);
        self.is_asked() && self.0.swap(0, Ordering::AcqRel) == ASLEEP
    }
}
