//! Where actors live: threads, processes and micro-guests.
//!
//! Actors never live in the program that coordinates a trial. They live in [`Agent`] processes, which speak a small
//! [`protocol`] over a socket: a *process* tenant is an agent with one actor, *threads* share an agent, a
//! *micro-guest* is made by an agent of its own from that agent's memory ([`micro`]). This crate knows an executable
//! and a protocol; it knows no path.

mod agent;
pub mod micro;
pub mod protocol;

pub use agent::{Agent, Executable};
