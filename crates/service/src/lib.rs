//! What every service of Tollway needs, whatever it serves.
//!
//! ```text
//!   signals   SIGTERM and SIGINT end it, another asks something of it: to be waited for beside everything else
//!   log       what happens, as lines on standard error that nobody is held up by
//!   config    a file that it is told everything by
//!   serving   from its start to its end: ready, asked for its state, told anew, ended
//!   peer      whom it serves, as a person writes it
//!   tenants   such lines about tenants, of whom none may fill the log
//!   status    a socket at which each connection gets one document
//! ```
#![warn(missing_debug_implementations)]

pub mod config;
pub mod log;
#[cfg(test)]
#[path = "../../host/testing/pause.rs"]
mod pause;
pub mod peer;
pub mod serving;
mod signals;
pub mod status;
mod tenants;

pub use serving::Service;
pub use signals::{Signals, Waker};
pub use tenants::TenantLog;
