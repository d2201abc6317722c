//! The bill of any program: it is watched while it runs, its crossings are priced by the tolls of this machine, and what they do not explain is shown.
//!
//! - [`observed`]: watches a program and keeps what was counted.
//! - [`prices`]: what a system call on that file costs by itself, from the price list.
//! - [`bill`]: counts × tolls against the processor time in the kernel, which is measured apart.
//! - [`document`]: the bill as JSON, and [`terminal`] as text.

pub mod args;
pub mod bill;
pub mod document;
pub mod observed;
mod names;
mod payers;
mod per;
pub mod prices;
mod route;
mod terminal;
