//! The clocks that a packet can be stamped with.

use rustix::time::{ClockId, clock_gettime};
use tollway_core::{Clock as _, Result, Ticks};
use tollway_host::clock::{Tsc, hz};

use crate::engine::Timestamp;

/// Which clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClockKind {
    /// The kernel's, asked by a system call.
    SystemCall,
    /// The kernel's, read in user space through the vDSO.
    Vdso,
    /// The time-stamp counter, scaled to nanoseconds and held to the kernel's clock once a second.
    Tsc,
    /// None: every stamp is 0. What the other gates cost without it.
    None,
}

/// A clock that stamps packets with the time of day.
#[derive(Clone, Debug)]
pub struct Clock {
    kind: ClockKind,
    /// Nanoseconds a tick, in 2^-32ths.
    scale: u64,
    /// The counter when it was last held to the kernel's clock, and what that clock showed.
    anchor: (Ticks, u64),
    /// Ticks after which it is held to it again.
    good_for: Ticks,
}

impl Clock {
    /// A clock of that kind. The first of kind [`ClockKind::Tsc`] in a process takes 50 ms to calibrate.
    pub fn new(kind: ClockKind) -> Result<Clock> {
        let hz = if kind == ClockKind::Tsc { hz()? } else { 1e9 };
        Ok(Clock {
            kind,
            scale: (1e9 / hz * (1u64 << 32) as f64) as u64,
            anchor: (Tsc.now(), vdso()),
            good_for: hz as Ticks,
        })
    }

    /// The time of day.
    #[inline(always)]
    pub fn now(&mut self) -> Timestamp {
        Timestamp(match self.kind {
            ClockKind::SystemCall => system_call(),
            ClockKind::Vdso => vdso(),
            ClockKind::Tsc => self.counter(),
            ClockKind::None => 0,
        })
    }

    #[inline(always)]
    fn counter(&mut self) -> u64 {
        let since = Tsc.now().wrapping_sub(self.anchor.0);
        if since > self.good_for {
            return self.anchor();
        }
        self.anchor.1 + ((u128::from(since) * u128::from(self.scale)) >> 32) as u64
    }

    #[cold]
    fn anchor(&mut self) -> u64 {
        self.anchor = (Tsc.now(), vdso());
        self.anchor.1
    }
}

fn vdso() -> u64 {
    let now = clock_gettime(ClockId::Realtime);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

fn system_call() -> u64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the call writes one timespec, which `now` is. It cannot fail for this clock.
    unsafe { libc::syscall(libc::SYS_clock_gettime, libc::CLOCK_REALTIME, &raw mut now) };
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_clocks_tell_the_same_time() {
        for kind in [ClockKind::SystemCall, ClockKind::Vdso, ClockKind::Tsc] {
            let mut clock = Clock::new(kind).unwrap();
            let (before, told, after) = (vdso(), clock.now().0, vdso());
            // The counter may be off by what the calibration is (1e-5 of the time since it was anchored).
            assert!(before <= told + 20_000 && told <= after + 20_000, "{kind:?}: {before} {told} {after}");
        }
    }
}
