//! Counts the crossings of any program while it runs: system calls by number with the time in the kernel, switches, wake-ups, faults, signals,
//! interrupts.
//!
//! - [`kernel`]: small programs at the kernel's tracepoints, which count in memory that they share with this process. Nothing is written for an event, so
//!   nothing can be lost; a thread for which there was no room is counted as such.
//! - [`traced`]: ptrace(2), without root. Exact, and slow.
//! - [`proc`]: what the kernel counts anyway, from /proc, without root. At no cost, with little detail.
//! - [`numbers`]: names of system calls, and which are on a file.
#![warn(missing_debug_implementations)]

mod counts;
#[cfg(test)]
#[path = "../../host/testing/eventually.rs"]
mod eventually;
pub mod kernel;
mod living;
pub mod numbers;
pub mod proc;
mod start;
pub mod traced;
mod waiting;

pub use counts::{Calls, Counted, Counts, File, FileKind, Moments, Paths, Thread};
pub use living::{has_own_proc, is_proc_own};
