//! Both ends of vhost-user, the protocol by which one process serves a virtio device of another.
//!
//! ```text
//!   socket    where peers connect; taken over from a killed server, removed at the end
//!   backend   the serving end: messages, memory, queues; a device is what implements `backend::Device`
//!   frontend  the using end: a process that plays a guest, at a socket or in the device's own process
//!   area      memory that both ends see
//!   order     whose turn it is: fair shares, by arrival, by rank
//!   desk      where threads take turns by that order, and sleep while there are none
//!   threads   those of a device: started, and ended in bounded time
//!   courtesy  a lock that one takes again and again, and lets others have first
//!   patience  how long a tenant may keep the others waiting
//!   bucket    a limit on a rate
//!   wiped     bytes of messages, of which nothing is left
//! ```
//!
//! The serving end believes nothing. A guest's memory and its messages are the guest's: whatever stands there is copied
//! once, checked, and then used, and what is wrong costs the peer its connection or its queue and nobody else anything.
//!
//! Sources: QEMU, "Vhost-user Protocol" (docs/interop/vhost-user.rst); OASIS, "Virtual I/O Device (VIRTIO) 1.2",
//! sections 2.6 to 2.7 (virtqueues) and 6 (feature bits).
#![warn(missing_debug_implementations)]

mod area;
#[cfg(test)]
#[path = "../../host/testing/asleep.rs"]
mod asleep;
pub mod backend;
mod bucket;
pub mod courtesy;
mod descriptor;
pub mod desk;
#[cfg(test)]
#[path = "../../host/testing/eventually.rs"]
mod eventually;
pub mod frontend;
pub mod order;
pub mod patience;
pub mod socket;
pub mod threads;
mod wiped;

pub use area::{Area, Span};
pub use bucket::Bucket;
