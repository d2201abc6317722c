//! Models: from measured tolls and loads to what will happen.
//!
//! Pure functions. Each model documents its formula, its assumptions, its source and where it holds; outside of that it
//! answers with a [`ModelError`] that names the parameter, never with NaN. Times are in seconds, rates per second.
//!
//! # Layers
//!
//! - What models speak: [`Distribution`]s of times, [`quantity`] texts, [`Solution`]s under flat names.
//! - The models, by family: [`markovian`], [`general`], [`priority`], [`interrupt`], [`network`], [`scaling`].
//! - Numerical [`chain`]s: steady state and transient of any finite Markov chain.
//! - A whole system of queues as data: [`spec::Spec`], which the simulator runs as well.
//! - The [`catalogue`]: every model by name, for the calculator.
//! - [`capacity`]: how much load a model of the catalogue takes while it keeps a service level.
#![warn(missing_debug_implementations)]

pub mod capacity;
mod card;
pub mod catalogue;
pub mod chain;
mod check;
mod distribution;
mod error;
pub mod fit;
pub mod general;
pub mod interrupt;
pub mod markovian;
pub mod network;
mod numeric;
pub mod priority;
#[cfg(test)]
#[path = "../../host/testing/processor_time.rs"]
mod processor_time;
pub mod quantity;
pub mod scaling;
mod solution;
pub mod spec;

pub use distribution::Distribution;
pub use error::{ModelError, Result};
pub use quantity::Unit;
pub use solution::{Metric, Solution};
