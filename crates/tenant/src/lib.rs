//! Where actors live: threads, processes, micro-guests and Linux guests.
//!
//! Actors never live in the program that coordinates a trial. They live in [`Agent`] processes, which speak a small
//! [`protocol`] over a socket: a *process* tenant is an agent with one actor, *threads* share an agent, a
//! *micro-guest* is made by an agent of its own from that agent's memory ([`micro`]), and in a *Linux guest* the
//! agents are processes of that guest ([`linux`]). All of these but the last can also live on another host, as a run's
//! [`Target`] says ([`ssh`]). This crate knows an executable and a protocol; it knows no path.
#![warn(missing_debug_implementations)]

mod agent;
#[cfg(test)]
#[path = "../../host/testing/asleep.rs"]
mod asleep;
mod connection;
pub mod doctor;
#[cfg(test)]
#[path = "../../host/testing/eventually.rs"]
mod eventually;
pub mod guest_settings;
pub mod linux;
pub mod micro;
#[cfg(test)]
#[path = "../../host/testing/pause.rs"]
mod pause;
pub mod probe;
pub mod protocol;
#[cfg(test)]
#[path = "../../host/testing/quiet.rs"]
mod quiet;
pub mod recording;
pub mod ssh;
mod target;

use std::sync::OnceLock;

use tollway_core::{Missing, Requirement};

pub use agent::{Agent, Executable};
pub use target::Target;

/// Whether a requirement is met here: as [`tollway_host::requirement::check`], and Linux guests besides (looked for once
/// per process).
///
/// # Errors
/// [`Missing`] with what was tried and what would provide it.
pub fn check(requirement: &Requirement) -> Result<(), Missing> {
    match requirement {
        Requirement::LinuxGuest => {
            static FOUND: OnceLock<Result<(), Missing>> = OnceLock::new();
            FOUND.get_or_init(|| linux::check(None).map(drop)).clone()
        }
        other => tollway_host::requirement::check(other),
    }
}
