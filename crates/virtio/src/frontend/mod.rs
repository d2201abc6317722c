//! The using end of vhost-user: a process that plays a guest.
//!
//! ```text
//!   link        a connection to a device: memory, messages, as many queues as one likes
//!   peer        where the device is, at a socket or in this process, and what is agreed upon with it
//!   connection  vhost-user's messages to one at a socket
//!   lane        one of a link's queues, with the eventfds of both sides; a thread of its own may have it
//!   queue       the driver's side of a split queue over memory handed in: needs nobody else
//!   layout      where the queues are in the memory
//!   buffers     the simplest: one queue of equal buffers that the device fills
//! ```
//!
//! It does what a guest's driver and its virtual machine do together: shares memory, tells where the queues are, offers
//! buffers and takes them back. The protocol's own messages are sent by the `vhost` crate, so that the serving end here is held
//! against another's idea of the protocol.

mod buffers;
mod connection;
mod lane;
mod layout;
mod link;
mod peer;
mod queue;

pub use buffers::{Frontend, Options, Used};
pub use lane::Lane;
pub use layout::Layout;
pub use link::{Control, Link, LinkOptions};
pub use queue::{Agreed, Completion, Queue};
