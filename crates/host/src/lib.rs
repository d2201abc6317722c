//! Clocks, counters, samplers, CPU features and requirement checks of this machine.
//!
//! Everything that touches the machine to learn something about it is here; what is learnt is handed on as plain
//! data. x86-64 Linux only.
#![warn(missing_debug_implementations)]

#[cfg(not(all(target_arch = "x86_64", target_os = "linux")))]
compile_error!("tollway-host reads the time-stamp counter and /proc: it needs x86-64 Linux");

pub mod af_alg;
#[cfg(test)]
#[path = "../testing/asleep.rs"]
mod asleep;
pub mod clock;
pub mod cpu;
pub mod descriptor;
pub mod doctor;
#[cfg(test)]
#[path = "../testing/eventually.rs"]
mod eventually;
pub mod features;
pub mod file_limit;
pub mod fingerprint;
pub mod fork;
mod found;
pub mod gap;
pub mod guest_data;
pub mod kvm;
pub mod memory;
pub mod meters;
mod network;
pub mod profiler;
pub mod program;
#[cfg(test)]
#[path = "../testing/quiet.rs"]
mod quiet;
pub mod requirement;
pub mod samplers;
pub mod scratch;
pub mod shared;
pub mod steadiness;
pub mod watch;

pub use found::Found;
