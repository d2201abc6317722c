//! A traffic generator: frames of chosen sizes and flows, sent when a schedule says, on the one interface that was named.
//!
//! ```text
//! flows, sizes, seed → Frames (templates, a few bytes patched a frame) ┐
//!                                         Schedule → due times in ticks ┼→ pace: wait, fill a batch, hand it over → Report
//!                                    a capture file → Replay (both)     ┘
//! ```
//!
//! The loop is open: a frame is due when the schedule says, whatever became of those before it. A late sender catches up,
//! in batches, as fast as the interface takes them, so the mean rate holds; how late frames were is reported on its own. A
//! frame that the kernel refuses is counted and not sent again: its number is missing at the receiver, too.

mod choice;
mod error;
mod flow;
mod frames;
mod generator;
mod pace;
mod replay;
mod report;
mod schedule;
mod sequence;
mod size;
mod stamp;
mod template;
#[cfg(test)]
mod tests;

pub use error::GenerateError;
pub use flow::{Addresses, Flows, Group, Ports, Transport};
pub use frames::Frames;
pub use generator::{Generator, Method, Ready, Traffic};
pub use replay::ReplayPace;
pub use report::{Ended, Errors, Report};
pub use schedule::Schedule;
pub use sequence::Sequence;
pub use size::{Size, Sizes, line_rate};
pub use stamp::Stamp;
pub use template::HEAD;
