//! How many page faults the calling thread has had.

/// Minor faults so far: those that were served without a disk.
pub fn minor() -> u64 {
    // SAFETY: a `rusage` of zeroes is a valid one.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: it writes one `rusage`, which is owned here. It cannot fail for RUSAGE_THREAD.
    unsafe { libc::getrusage(libc::RUSAGE_THREAD, &mut usage) };
    usage.ru_minflt.max(0) as u64
}
