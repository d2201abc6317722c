//! What the calling thread, or its process, used: getrusage(2).
//!
//! Switches and faults are exact counts, faults taken in the kernel on its behalf included. Times are the scheduler's
//! total, split between user and system in the proportion of the timer's samples: the sum is good, the split is not
//! over short intervals. Costs one system call, so it can stand right before and after a window.

use std::fs;
use std::io;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tollway_core::Missing;

use crate::found::{Found, risen};

/// A tick of the kernel as it tells processes (USER_HZ is 100 on every architecture that we build for).
const TICK: Duration = Duration::from_millis(10);

/// Use at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Time in user mode.
    pub user: Duration,
    /// Time in the kernel.
    pub system: Duration,
    /// Page faults served without a disk.
    pub minor_faults: u64,
    /// Page faults that needed a disk.
    pub major_faults: u64,
    /// Context switches because it waited.
    pub voluntary: u64,
    /// Context switches because it was displaced.
    pub involuntary: u64,
}

impl Usage {
    /// Of the calling thread.
    ///
    /// # Errors
    /// [`Missing`] if the system call is refused.
    pub fn read() -> Found<Usage> {
        read(libc::RUSAGE_THREAD)
    }

    /// Of all threads of the calling process, ended ones included.
    ///
    /// # Errors
    /// [`Missing`] if the system call is refused.
    pub fn process() -> Found<Usage> {
        read(libc::RUSAGE_SELF)
    }

    /// Of all children of the calling process that have ended and been waited for, with theirs.
    ///
    /// # Errors
    /// [`Missing`] if the system call is refused.
    pub fn children() -> Found<Usage> {
        read(libc::RUSAGE_CHILDREN)
    }
}

fn read(who: libc::c_int) -> Found<Usage> {
    let mut raw = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: `raw` is a live, writable rusage.
    if unsafe { libc::getrusage(who, raw.as_mut_ptr()) } != 0 {
        let error = io::Error::last_os_error();
        return Err(Missing::new("use of resources", format!("getrusage: {error}"), "allow getrusage"));
    }
    // SAFETY: all bytes were zeroed, which is a valid rusage, and the kernel filled it.
    let raw = unsafe { raw.assume_init() };
    let time = |t: libc::timeval| Duration::new(t.tv_sec as u64, t.tv_usec as u32 * 1000);
    Ok(Usage {
        user: time(raw.ru_utime),
        system: time(raw.ru_stime),
        minor_faults: raw.ru_minflt as u64,
        major_faults: raw.ru_majflt as u64,
        voluntary: raw.ru_nvcsw as u64,
        involuntary: raw.ru_nivcsw as u64,
    })
}

/// Use over an interval; `None` is unknown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct UsageDelta {
    /// Time in user mode.
    pub user: Option<Duration>,
    /// Time in the kernel.
    pub system: Option<Duration>,
    /// Page faults served without a disk.
    pub minor_faults: Option<u64>,
    /// Page faults that needed a disk.
    pub major_faults: Option<u64>,
    /// Context switches because it waited.
    pub voluntary: Option<u64>,
    /// Context switches because it was displaced.
    pub involuntary: Option<u64>,
}

/// What happened between two readings of the same thread or process.
pub fn delta(before: &Usage, after: &Usage) -> UsageDelta {
    UsageDelta {
        user: after.user.checked_sub(before.user),
        system: after.system.checked_sub(before.system),
        minor_faults: risen(before.minor_faults, after.minor_faults),
        major_faults: risen(before.major_faults, after.major_faults),
        voluntary: risen(before.voluntary, after.voluntary),
        involuntary: risen(before.involuntary, after.involuntary),
    }
}

/// Processor time of what a process started and has waited for, in the kernel's ticks; `None` where it is gone.
pub fn children_of(pid: u32) -> Option<Duration> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // After the name: state, then numbers; cutime and cstime are the fields 16 and 17 of proc_pid_stat(5).
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace().skip(16 - 3);
    let user: u64 = fields.next()?.parse().ok()?;
    let system: u64 = fields.next()?.parse().ok()?;
    Some(TICK * u32::try_from(user + system).ok()?)
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;
    use crate::asleep::sleeper;

    #[test]
    fn what_children_used_is_known_once_they_have_ended() {
        let before = children_of(std::process::id()).unwrap();
        let spin = "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done";
        assert!(Command::new("sh").args(["-c", spin]).status().unwrap().success());
        assert!(children_of(std::process::id()).unwrap() > before);
        assert_eq!(children_of(u32::MAX), None);
    }

    #[test]
    fn a_sleep_is_a_voluntary_switch() {
        let mut sleep = sleeper(1, || ());
        let before = Usage::read().unwrap();
        sleep();
        let d = delta(&before, &Usage::read().unwrap());
        assert!(d.voluntary.unwrap() >= 1, "{d:?}");
        assert!(Usage::process().unwrap().minor_faults > 0);
    }

    #[test]
    fn backwards_is_unknown() {
        let more = Usage { voluntary: 3, ..Usage::default() };
        assert_eq!(delta(&more, &Usage::default()).voluntary, None);
    }
}
