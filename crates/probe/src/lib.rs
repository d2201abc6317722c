#![doc = include_str!("../README.md")]
#![warn(missing_debug_implementations)]

mod bills;
mod paid;
mod probe;
mod usage;

pub use bills::Bills;
pub use paid::Paid;
pub use probe::{Probe, Request};
