//! Cache lines that will be read soon.
//!
//! An entry comes from the other end's processor, and so does the message of which it tells. A processor fetches both at once if it asks for the
//! message's line when it has not yet got the entry's: as soon as it has taken the branch to where an entry has come, which it foresees.

/// This processor fetches the line in which that begins; nothing waits for it.
#[inline(always)]
pub fn fetch<T: ?Sized>(place: &T) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: PREFETCHT0 is a hint that changes no memory and no register and never faults (Intel SDM volume 2B, "PREFETCHh"); all x86-64 processors
    // have it, as it is of SSE.
    unsafe {
        use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(core::ptr::from_ref(place).cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = place;
}
