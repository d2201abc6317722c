//! A virtio-rng device (VIRTIO 1.2, 5.4) for many guests, over vhost-user: who asks gets, and nobody's share depends on
//! how much another asks.
//!
//! ```text
//!   reception (tollway-virtio)  peers, messages, memory, queues
//!   worker                      one thread each: source → a block of bytes → buffers of whoever's turn it is
//!   desk (tollway-virtio)       whose turn it is, and how much it may have (order); where workers sleep meanwhile
//!   seat                        one tenant's queue, the buffer that is being filled, what was counted
//!   server                      all of them together: start, status, change, stop
//! ```
//!
//! A turn costs the bytes that it brought, or what the worker could have drawn in the time that it took to hand them out, if that
//! is more, but no more than sixteen quanta: who asks by single bytes takes time and no bytes. Where the source is slow, time
//! costs little. Of usual guests, whose turns take less time than it takes to draw as much, the bound of
//! [`order`](tollway_virtio::order) is one of bytes.
//!
//! A worker draws a block ahead, at most as long as one turn, or as what a slow source gives in a millisecond. It hands each
//! byte out once; what was handed out is wiped. There is no pool that one tenant could drain for the others.
//!
//! A worker whose source fails serves nobody until it gives again: guests wait. One whose source has ended is over. Under health tests
//! ([`Monitored`](super::health::Monitored)) that is after the start-up test has been passed.

mod seat;
mod server;
mod status;
mod told;
mod worker;

pub use server::{Options, Server, Tenant};
pub use status::{Status, TenantStatus, WorkerStatus};
pub use told::Told;
