//! The ends on Linux: memory of a sealed memfd, a Unix socket by which it is passed and by which each end learns that the other is gone,
//! and a futex or an eventfd to wake who sleeps.

mod client;
mod connection;
mod dispatcher;
mod doorbell;
mod greeting;
pub mod kernel;
mod meeting;
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
