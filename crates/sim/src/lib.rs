#![doc = include_str!("../README.md")]
#![warn(missing_debug_implementations)]
//!
//! # Layers
//!
//! - What is asked and answered: [`simulate()`], [`Options`], [`Outcome`], [`SimError`].
//! - A specification with numbers instead of names: `system`, `sampler`, `stream`.
//! - One replication: event by event (`engine`, with `calendar` and `customers`) or by `lindley`.
//! - What is summed up meanwhile: `totals`, `histogram`; which figures that makes: `figures`.
//! - From sums to intervals: `warm_up`, `replication`, `estimate`; whether enough was seen: `rarity`,
//!   `rare_kinds`.

mod calendar;
mod customers;
mod engine;
mod error;
mod estimate;
mod figures;
mod histogram;
mod lindley;
mod options;
mod outcome;
mod rare_kinds;
mod rarity;
mod replication;
mod sampler;
mod simulate;
mod stream;
mod system;
mod totals;
mod warm_up;

pub use error::SimError;
pub use options::{Done, Options};
pub use outcome::{Engine, Estimate, Invariant, Outcome, Scarce, StoppedBy};
pub use simulate::simulate;
