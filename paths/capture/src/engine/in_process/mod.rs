//! The study's path whole, in one process: driver, tap, filter, timestamp, copy 1, buffer, read, copy 2, application.
//!
//! What is missing is the wire: frames lie ready in the driver's receive ring, and an [`Interrupt`] is a signal, if there is
//! one at all. Everything else is done for real, and each gate of the path in the way of the study's original ("before") or of its improvement
//! ("after"): see [`Design`].

mod application;
mod clock;
mod driver;
mod interrupt;
mod path;
mod tap;

pub use application::Application;
pub use clock::{Clock, ClockKind};
pub use driver::{Driver, FrameId, Frames, Receive, Transfer, poll_into};
pub use interrupt::Interrupt;
pub use path::{Design, InProcess, Part};
pub use tap::{Group, Locking, Shared, TransferBy, Wanted};
