//! The clocks that a run can count by.

mod monotonic;
mod run;
mod tsc;

pub use monotonic::MonotonicRaw;
pub use run::RunClock;
pub use tsc::{Tsc, read_with_cpu};
