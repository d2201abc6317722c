//! Memory: how many bytes a second it moves, how long a load from it takes, and what the first touch of a page costs.
//!
//! [`stream`] has STREAM's four kernels by STREAM's rules, and [`program`] runs STREAM itself where it is installed. [`chase`] follows
//! pointers around a random cycle, each of which must have arrived before the next can be asked for. [`faults`] touches pages that have no
//! memory behind them yet. All three work on a [`Mapping`] of their own, of small pages, huge ones, or as the kernel has it.

pub mod chase;
pub mod faults;
mod kernels;
mod mapping;
pub mod program;
pub mod stream;

pub use mapping::{HUGE_PAGE, Mapping, PAGE, Pages, Zeroed};
