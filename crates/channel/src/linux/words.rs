//! Sleeping by two words at once (futex_waitv(2), Linux 5.16): one that the other process changes and wakes by, and one that no other process sees.
//!
//! By its own word an end is told what the other cannot keep from it: whatever that does to the shared word and to who sleeps by it (FUTEX_REQUEUE would
//! have it sleep by another word). A kernel without that call has an end sleep by the shared word alone, and look every now and then.

use std::sync::OnceLock;
use std::sync::atomic::AtomicU32;
use std::time::Duration;

use rustix::io::Errno;
use rustix::thread::ClockId;
use rustix::thread::futex::{self, Wait, WaitFlags, WaitPtr, WaitvFlags};
use rustix::time::{Timespec, clock_gettime};

use super::nap;
use crate::atomic::AtomicU64;

/// Whether the kernel has futex_waitv(2), and it is not forbidden here: asked once.
pub(super) fn can_be_two() -> bool {
    static CAN: OnceLock<bool> = OnceLock::new();
    *CAN.get_or_init(|| {
        let (shared, own) = (AtomicU64::new(0), AtomicU32::new(0));
        wait_for_both((&shared, 1), (&own, 1), None) == Err(Errno::AGAIN)
    })
}

/// Until it is woken by one of them, or interrupted, or so much time is over, or what stands there is not
/// these values any more: all of that is looked at again.
pub(super) fn sleep_by_both(shared: (&AtomicU64, u32), own: (&AtomicU32, u32), at_most: Option<Duration>) {
    // A filter of system calls may have come since that was asked.
    if let Err(Errno::NOSYS | Errno::PERM) = wait_for_both(shared, own, at_most) {
        nap_by_one(shared, at_most);
    }
}

/// The same by the one, for a [nap](nap::longest) at most.
pub(super) fn nap_by_one((shared, value): (&AtomicU64, u32), at_most: Option<Duration>) {
    let longest = nap::longest();
    let at_most = at_most.and_then(|time| Timespec::try_from(time).ok()).filter(|time| *time < longest);
    let _ = futex::wait(half(shared), futex::Flags::empty(), value, Some(&at_most.unwrap_or(longest)));
}

fn wait_for_both(
    shared: (&AtomicU64, u32),
    own: (&AtomicU32, u32),
    at_most: Option<Duration>,
) -> rustix::io::Result<usize> {
    let on = |(word, value): (&AtomicU32, u32), flags| {
        let mut wait = Wait::new();
        wait.val = value.into();
        wait.uaddr = WaitPtr::new(word.as_ptr().cast());
        wait.flags = WaitFlags::SIZE_U32 | flags;
        wait
    };
    let both = [on((half(shared.0), shared.1), WaitFlags::empty()), on(own, WaitFlags::PRIVATE)];
    // This call is told when to end, not after how long; of what is beyond all clocks it is told nothing.
    let now = || clock_gettime(rustix::time::ClockId::Monotonic);
    let end = at_most.and_then(|time| now().checked_add(Timespec::try_from(time).ok()?));
    futex::waitv(&both, WaitvFlags::empty(), end.as_ref(), ClockId::Monotonic)
}

/// Wakes so many who sleep by a shared word; without FUTEX_PRIVATE_FLAG, as they may be of another process.
pub(super) fn wake(shared: &AtomicU64, most: u32) {
    // That nobody sleeps is no error, and the word is mapped: there is no other.
    let _ = futex::wake(half(shared), futex::Flags::empty(), most);
}

/// Wakes who sleeps by a word that no other process sees.
pub(super) fn wake_own(own: &AtomicU32) {
    let _ = futex::wake(own, futex::Flags::PRIVATE, 1);
}

/// The half of a shared word that the kernel compares: x86-64 has the low half first.
pub(super) fn half(shared: &AtomicU64) -> &AtomicU32 {
    // SAFETY: the word is 8 bytes, aligned to as many, and borrowed for as long as its half is. Of this process nobody accesses the half: its address
    // goes to the kernel.
    unsafe { AtomicU32::from_ptr(shared.as_ptr().cast()) }
}
