//! One sampler a file: what each counts, how finely, and what it cannot tell stands at the top of its file.
//!
//! All have one shape: `read()` takes a sample, or says what is [`Missing`](tollway_core::Missing); `delta(before,
//! after)` gives what happened in between, with `None` (unknown) for a counter that went backwards.

pub mod faults;
pub mod frequency;
pub mod interrupts;
pub mod kvm_stats;
pub mod perf;
pub mod pressure;
pub mod proc_stat;
pub mod process;
pub mod thread_time;
pub mod throttling;
pub mod usage;
