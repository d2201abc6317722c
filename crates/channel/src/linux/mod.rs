//! The ends on Linux: memory of a sealed memfd, a Unix socket by which it is passed and by which each end learns that the other is gone,
//! and a futex or an eventfd to wake who sleeps.
//!
//! ```text
//!   client      the end that asks
//!   server      the end that answers
//!   greeting    how ends of any kind meet: what they say to each other
//!   meeting     what the ends of rings agree on, and give each other
//!   shared      the memory, mapped
//!   connection  the way to the other end: wakes it, and waits for it
//!   doorbell    how an end is woken, and learns that the other is gone
//!   words       sleeping by two words at once
//!   nap         how long an end sleeps at most by one of them alone
//!   patience    what a wake-up costs here, which is how long to look
//!   dispatcher  brings the tasks of a thread what has come
//!   tokio       the ends for tasks of a tokio runtime
//!   kernel      io_uring for the same tasks
//!   plain       synchronous requests without rings
//! ```

mod client;
mod connection;
mod dispatcher;
mod doorbell;
mod greeting;
pub mod kernel;
mod meeting;
mod nap;
mod patience;
pub mod plain;
mod server;
mod shared;
#[cfg(feature = "tokio")]
pub mod tokio;
mod words;

pub use crate::failed::Failed;
pub use client::{Caller, Client};
pub use connection::Counts;
pub use dispatcher::Dispatcher;
pub use doorbell::{Doorbell, Notice};
pub use meeting::{Limits, Options};
pub use server::Server;
pub use shared::Shared;
