//! The memory-allocation server of the study: memory taken and given back, by calls that are made and by calls that are asked for.
//!
//! ```text
//!   synchronous   madvise(2), one call after the other
//!   asynchronous  the same through io_uring, so many on their way
//! ```
//!
//! The third, a server that makes the calls for clients of its rings, is a [ping-pong](super::ping_pong) whose server's work is that.

mod asynchronous;
mod synchronous;

use tollway_core::Variant;

const CALLER: &str = "caller";

/// How often the kernel was entered to have calls done.
const ENTRIES: &str = "kernel_entries";

pub(super) fn variants() -> Vec<Box<dyn Variant>> {
    vec![
        Box::new(synchronous::Synchronous),
        Box::new(asynchronous::Asynchronous::Whole),
        Box::new(asynchronous::Asynchronous::Alone),
    ]
}
