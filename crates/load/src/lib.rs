//! Load generators: what repeats an operation, times it and records the latencies.
//!
//! [`repeat`] is the closed loop: the next operation begins when the last has ended. It is the one timing loop of the
//! program, so every figure has the same floor, which `paths/null` measures. [`follow`] is the open loop: operations begin
//! when a [`Schedule`] says, which is a stretch of an endless stream: [`Regular`], [`Poisson`], [`Bursts`], [`OnOff`]. [`fly`] has
//! several requests on their way at once, closed or open.
#![warn(missing_debug_implementations)]

mod arrivals;
mod closed;
mod in_flight;
mod open;

pub use arrivals::{Bursts, OnOff, Poisson, Regular};
pub use closed::{
    PlantCost, SAMPLE_TICKS, STAMP_FROM_TICKS, Work, delay, plant, repeat, ticks_per_step, wait_until,
};
pub use in_flight::{Flights, Places, Service, Starts, fly};
pub use open::{Lateness, Schedule, follow};
