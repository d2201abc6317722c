//! Markov chains solved as numbers: for what has no closed form, and to hold closed forms against.
//!
//! [`explore`] finds the states that can be reached from one of them; the [`Generator`] that comes of it answers with
//! its steady state and with what it is after some time.

mod allowance;
mod band;
mod explore;
mod generator;
mod iterate;
pub mod poisson;
pub mod system;
mod transient;

pub use allowance::Allowance;
pub use explore::{Explored, explore};
pub use generator::Generator;
