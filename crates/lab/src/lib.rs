//! The laboratory: plan → order → run → verify.
//!
//! A [`Lab`] knows the paths, this machine and how to start an agent. It turns a [`Request`] into points
//! ([`point`]), asks of each whether the machine has what it needs, checks whether that is steady, finds batch sizes in a pilot, plays the trials in
//! a seeded, interleaved order ([`order`]) by crews of agent processes that are started anew for each block
//! ([`crew`]), and writes each trial to the store before the next begins. Points that predict themselves from tolls
//! come last: the tolls they need are measured first, and the prediction is frozen in the store before the first
//! trial that tests it.
#![warn(missing_debug_implementations)]

mod budget;
mod claims;
mod counters;
pub mod crew;
mod footprint;
pub mod guests;
mod lab;
mod narrow;
mod noise;
pub mod order;
mod paces;
mod pilot;
pub mod point;
pub mod progress;
mod restore;
mod script;
mod seats;
mod servers;
mod session;
pub mod side;
mod spending;
mod steady;
mod timing;

pub use budget::budget;
pub use claims::claims;
pub use footprint::{Footprint, SettingChange};
pub use lab::{Ended, Lab, LabError};
pub use script::{Foretold, Request};
pub use timing::{Estimate, Finding, Forecasted, Share, not_kept};
