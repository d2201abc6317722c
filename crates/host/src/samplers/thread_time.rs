//! Processor time of a thread or process in nanoseconds, from the CPU-time clocks.
//!
//! Counts time on a processor in user mode and kernel together, guests included. Kept by the scheduler at switches,
//! so it is exact to the nanosecond where /proc's ticks are 10 ms; but steal is in it where the kernel does not
//! subtract it (it usually does not see it in its own clock), and interrupts that hit the thread are charged to it
//! unless the kernel has CONFIG_IRQ_TIME_ACCOUNTING. A process's clock includes its ended threads, not its children.
//! A reading is a system call (about 300 ticks).

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use tollway_core::Missing;

use crate::found::Found;

/// The kernel's largest process number plus one (PID_MAX_LIMIT): the clock's number shifts it left by three, so a
/// larger one would name another process's clock.
const PID_LIMIT: i32 = 1 << 22;

fn duration(t: rustix::time::Timespec) -> Duration {
    // CPU-time clocks start at 0.
    Duration::new(t.tv_sec as u64, t.tv_nsec as u32)
}

/// Time that the calling thread has spent on a processor.
pub fn thread() -> Duration {
    duration(clock_gettime(ClockId::ThreadCPUTime))
}

/// Time that all threads of the calling process have spent on processors.
pub fn process() -> Duration {
    duration(clock_gettime(ClockId::ProcessCPUTime))
}

/// Time that all threads of another process have spent on processors.
///
/// # Errors
/// [`Missing`] if there is no such process.
pub fn process_of(pid: i32) -> Found<Duration> {
    let gone = |error: std::io::Error| {
        Missing::new(format!("processor time of process {pid}"), error.to_string(), "ask while it lives")
    };
    if !(1..PID_LIMIT).contains(&pid) {
        return Err(gone(std::io::Error::from_raw_os_error(libc::ESRCH)));
    }
    let mut clock: libc::clockid_t = 0;
    // SAFETY: `clock` is a live, writable clockid_t.
    let error = unsafe { libc::clock_getcpuclockid(pid, &mut clock) };
    if error != 0 {
        return Err(gone(std::io::Error::from_raw_os_error(error)));
    }
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a live, writable timespec.
    if unsafe { libc::clock_gettime(clock, &mut time) } != 0 {
        return Err(gone(std::io::Error::last_os_error()));
    }
    Ok(Duration::new(time.tv_sec as u64, time.tv_nsec as u32))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;

    use crate::asleep::sleeper;

    const SPUN: Duration = Duration::from_millis(20);

    /// However long others have the processor meanwhile.
    fn spin() {
        let begun = thread();
        while thread() - begun < SPUN {}
    }

    #[test]
    fn spinning_costs_time_and_sleeping_does_not() {
        let (start, before) = (Instant::now(), thread());
        spin();
        let spun = thread() - before;
        assert!(spun >= SPUN && spun <= start.elapsed(), "{spun:?}");
        // It sleeps for as long as another thread spins, or longer.
        let mut sleep = sleeper(1, spin);
        let before = thread();
        sleep();
        let slept = thread() - before;
        assert!(slept < SPUN / 2, "{slept:?}");
    }

    #[test]
    fn a_process_seen_from_outside_is_the_same() {
        let inside = process();
        let outside = process_of(std::process::id() as i32).unwrap();
        assert!(outside >= inside && outside - inside < Duration::from_secs(1));
        assert!(process_of(i32::MAX).is_err());
    }
}
