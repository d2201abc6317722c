//! A nap that makes no lost wake-up good, where ends sleep by one word because two are forbidden.

use rustix::event::Timespec;

use crate::apart::is_apart;
use crate::atomic::pause;

/// So often an end may pause before it sleeps.
const PAUSES: u32 = 256;

/// An hour, before which the end pauses: it has said that it sleeps, and does not yet. As in `src` where the kernel has no futex_waitv(2), and tests are
/// not about that.
pub(super) fn longest() -> Timespec {
    if is_apart() {
        (0..PAUSES).for_each(|_| pause());
        Timespec { tv_sec: 3600, tv_nsec: 0 }
    } else {
        Timespec { tv_sec: 0, tv_nsec: 50_000_000 }
    }
}
