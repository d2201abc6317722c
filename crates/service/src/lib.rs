//! What every service of Tollway needs, whatever it serves.
//!
//! ```text
//!   signals   SIGTERM and SIGINT end it, another asks something of it: to be waited for beside everything else
//!   log       what happens, as lines on standard error that nobody is held up by
//!   config    a file that it is told everything by
//!   peer      whom it serves, as a person writes it
//!   tenants   such lines about tenants, of whom none may fill the log
//!   status    a socket at which each connection gets one document
//! ```

pub mod config;
pub mod log;
pub mod peer;
mod signals;
pub mod status;
mod tenants;

pub use signals::Signals;
pub use tenants::TenantLog;
