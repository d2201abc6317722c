//! Requests and replies between two processes that do not trust each other, through memory that they share.
//!
//! ```text
//!   ring        what lies in the shared memory, and the two ends: one asks, one answers
//!   wait        looks, gives way, says that it sleeps, looks once more, sleeps
//!   rouse       how threads of one process wake the one that sleeps
//!   coroutine   requests as futures, and an executor for them
//!   threads     several threads at one client's end
//!   linux       where the memory comes from, how ends meet and are woken
//! ```
//!
//! `ring`, `wait`, `rouse` and `coroutine` know no operating system: what they need of one is [`wait::Platform`] and memory. Without the feature `linux`
//! the crate is `no_std`.
#![cfg_attr(not(feature = "linux"), no_std)]
#![warn(missing_debug_implementations)]

extern crate alloc;

/// Those of the language; `tests/orderings` compiles what is model-checked with loom's.
use core::sync::atomic;
/// Likewise.
#[cfg(feature = "linux")]
use std::sync;

pub mod coroutine;
mod failed;
#[cfg(feature = "linux")]
pub mod linux;
pub mod ring;
pub mod rouse;
#[cfg(feature = "linux")]
pub mod threads;
#[cfg(feature = "linux")]
mod time_limit;
pub mod wait;

pub use failed::Failed;

/// The examples of the README are compiled.
#[cfg(all(doctest, feature = "linux"))]
#[doc = include_str!("../README.md")]
struct Readme;
