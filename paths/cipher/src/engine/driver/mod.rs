//! The tenant's end of the card: sessions and requests laid out in shared memory as Linux's driver lays them out.
//!
//! ```text
//!   connection   to a card at a socket, or in this process; sessions, by the control queue or by messages
//!   queue        a data queue: requests in, completions out; a thread of its own may have it
//!   slot         where the parts of a request that are not the caller's lie
//!   waiting      how completions are learnt of: by interrupt, by events, looking now and then, or without end
//! ```
//!
//! A request is a buffer `[fixed part][IV][source …][associated …] | [result …][status]` (VIRTIO 1.2, 5.9.7.4). Source and
//! result are wherever the caller has put them in the memory that is shared: nothing is copied.

mod connection;
mod queue;
mod slot;
mod waiting;

pub use connection::{Driver, Options, Sessions, Through};
pub use queue::{Completion, DataQueue, Handle, Operation};
pub use waiting::{Looks, Waiting};
