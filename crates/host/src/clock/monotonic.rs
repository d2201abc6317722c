//! The kernel's raw monotonic clock: what a run counts by where the time-stamp counter is no clock.

use rustix::time::{ClockId, clock_gettime};
use tollway_core::{Clock, Ticks};

/// CLOCK_MONOTONIC_RAW, one tick a nanosecond. Not slewed by NTP. Costs some tens of nanoseconds a reading (the
/// vDSO's, or a system call where the clock source is not readable from user mode); not for micro-guests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MonotonicRaw;

impl Clock for MonotonicRaw {
    #[inline(always)]
    fn now(&self) -> Ticks {
        let t = clock_gettime(ClockId::MonotonicRaw);
        // The clock starts at boot with 0: neither part is negative, and 2^64 ns are 584 years.
        t.tv_sec as u64 * 1_000_000_000 + t.tv_nsec as u64
    }

    #[inline(always)]
    fn open(&self) -> Ticks {
        self.now()
    }

    #[inline(always)]
    fn close(&self) -> Ticks {
        self.now()
    }
}
