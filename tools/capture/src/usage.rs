//! What a capture took of processors.

use std::time::Duration;

/// Processor time of this process so far: its own, and the kernel's on its behalf.
pub fn processor() -> (Duration, Duration) {
    // SAFETY: all-zero is a valid rusage.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: the kernel writes one rusage. It cannot fail for this process.
    unsafe { libc::getrusage(libc::RUSAGE_SELF, &raw mut usage) };
    let time = |t: libc::timeval| Duration::new(t.tv_sec as u64, t.tv_usec as u32 * 1000);
    (time(usage.ru_utime), time(usage.ru_stime))
}
