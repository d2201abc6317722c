//! Under which scheduling policy the calling thread runs.

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_has_a_policy_and_it_changes() {
        std::thread::spawn(|| {
            assert!(policy().is_some());
            let lowest = libc::sched_param { sched_priority: 0 };
            // SAFETY: `lowest` is a live sched_param.
            if unsafe { libc::sched_setscheduler(0, libc::SCHED_BATCH, &lowest) } == 0 {
                assert_eq!(policy(), Some(Policy::Batch));
            }
        })
        .join()
        .unwrap();
    }
}
