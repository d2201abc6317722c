//! How long an end sleeps at most by one word alone. A file of its own, so that tests can have another, by which no lost wake-up is made good.

use rustix::event::Timespec;

/// 50 ms: for so long the other end can delay what an end's own process tells it; that costs 20 looks a second.
pub(super) const fn longest() -> Timespec {
    Timespec { tv_sec: 0, tv_nsec: 50_000_000 }
}
