//! The serving end of vhost-user.
//!
//! ```text
//!   reception ── one thread: accepts peers, reads their messages, each as they come (inbox, session)
//!       │ sets up                                 memory: what a peer shares, if it cannot take it away
//!       ▼
//!     port ───── a tenant's queues (ring, chain), behind a lock that is held for one buffer at a time; those of a tenant of
//!       │        this process are set up by `inside`, without a socket
//!       ▲ takes buffers, gives them back
//!       │
//!   the device's own threads, which wait in `Kicks` for peers that want something
//! ```

mod chain;
mod device;
mod eventfd;
mod inbox;
mod inside;
mod kicks;
mod memory;
mod message;
mod minder;
mod port;
mod received;
mod reception;
mod refused;
mod ring;
mod session;

pub use chain::{Chain, Piece};
pub use device::{Answer, Device, Event};
pub(crate) use inside::Door;
pub use inside::Inside;
pub use kicks::Kicks;
pub use memory::Memory;
pub(crate) use message::HEADER;
pub use message::LONGEST;
pub use port::Port;
pub use reception::{Reception, Stopper};
pub use refused::Refused;
pub use ring::Ring;
