//! Under which scheduling policy the calling thread runs.

use std::io;

use serde::{Deserialize, Serialize};

/// A policy of sched(7).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Policy {
    /// SCHED_OTHER: the default.
    Other,
    /// SCHED_BATCH.
    Batch,
    /// SCHED_IDLE.
    Idle,
    /// SCHED_FIFO: real time, until it waits.
    Fifo,
    /// SCHED_RR: real time, in turns.
    RoundRobin,
    /// SCHED_DEADLINE.
    Deadline,
}

/// The calling thread's policy; `None` if the kernel refuses to say or knows one that this program does not.
pub fn policy() -> Option<Policy> {
    // SAFETY: takes no pointer; 0 is the calling thread.
    match unsafe { libc::sched_getscheduler(0) } & !libc::SCHED_RESET_ON_FORK {
        libc::SCHED_OTHER => Some(Policy::Other),
        libc::SCHED_BATCH => Some(Policy::Batch),
        libc::SCHED_IDLE => Some(Policy::Idle),
        libc::SCHED_FIFO => Some(Policy::Fifo),
        libc::SCHED_RR => Some(Policy::RoundRobin),
        libc::SCHED_DEADLINE => Some(Policy::Deadline),
        _ => None,
    }
}

/// Gives the calling thread a policy; real-time ones at their lowest priority, 1. They need CAP_SYS_NICE; SCHED_DEADLINE
/// wants times as well (sched(7)) and is refused.
pub fn set_policy(policy: Policy) -> io::Result<()> {
    let (number, sched_priority) = match policy {
        Policy::Other => (libc::SCHED_OTHER, 0),
        Policy::Batch => (libc::SCHED_BATCH, 0),
        Policy::Idle => (libc::SCHED_IDLE, 0),
        Policy::Fifo => (libc::SCHED_FIFO, 1),
        Policy::RoundRobin => (libc::SCHED_RR, 1),
        Policy::Deadline => return Err(io::Error::from(io::ErrorKind::InvalidInput)),
    };
    let priority = libc::sched_param { sched_priority };
    // SAFETY: `priority` is a live sched_param; 0 is the calling thread.
    match unsafe { libc::sched_setscheduler(0, number, &priority) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_has_a_policy_and_it_changes() {
        std::thread::spawn(|| {
            assert!(policy().is_some());
            for asked in [Policy::Batch, Policy::Other, Policy::Fifo, Policy::RoundRobin] {
                match set_policy(asked) {
                    Ok(()) => assert_eq!(policy(), Some(asked)),
                    Err(refused) => assert_eq!(refused.kind(), io::ErrorKind::PermissionDenied, "{asked:?}"),
                }
            }
            assert!(set_policy(Policy::Deadline).is_err());
        })
        .join()
        .unwrap();
    }
}
