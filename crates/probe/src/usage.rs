//! What the kernel tells any thread of itself: getrusage(2) with RUSAGE_THREAD, and its processor time clock. Two system calls.

use std::time::Duration;

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Usage {
    pub voluntary: u64,
    pub involuntary: u64,
    /// Page faults in user mode and in the kernel, with a disk and without.
    pub faults: u64,
    /// Processor time, exactly.
    pub ran: Duration,
}

impl Usage {
    /// The calling thread's, so far.
    pub fn now() -> Usage {
        let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: all zero is a value of this structure of numbers.
        let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
        // SAFETY: each writes one structure, which is ours.
        unsafe {
            libc::getrusage(libc::RUSAGE_THREAD, &raw mut usage);
            libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time);
        }
        let count = |number: libc::c_long| u64::try_from(number).unwrap_or(0);
        Usage {
            voluntary: count(usage.ru_nvcsw),
            involuntary: count(usage.ru_nivcsw),
            faults: count(usage.ru_minflt) + count(usage.ru_majflt),
            ran: Duration::new(count(time.tv_sec), u32::try_from(time.tv_nsec).unwrap_or(0)),
        }
    }
}
