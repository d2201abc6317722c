//! The using end of vhost-user: a process that plays a guest with one queue.
//!
//! It does what a guest's driver and its virtual machine do together: shares memory, tells where the queue is, offers
//! buffers and takes them back. The messages are sent by the `vhost` crate, so that the serving end here is held
//! against another's idea of the protocol.

mod layout;
mod link;
mod queue;

pub use layout::Layout;
pub use link::{Frontend, Options};
pub use queue::Used;
