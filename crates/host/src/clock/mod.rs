//! The clocks that a run can count by.

mod monotonic;
mod tsc;

pub use monotonic::MonotonicRaw;
pub use tsc::{Tsc, read_with_cpu};
