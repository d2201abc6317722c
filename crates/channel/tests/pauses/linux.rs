//! `src/linux` with another memory.

#[path = "../../src/linux/client.rs"]
mod client;
#[path = "../../src/linux/connection.rs"]
mod connection;
#[path = "../../src/linux/dispatcher.rs"]
mod dispatcher;
#[path = "../../src/linux/doorbell.rs"]
mod doorbell;
#[path = "../../src/linux/greeting.rs"]
mod greeting;
#[path = "../../src/linux/kernel/mod.rs"]
pub mod kernel;
#[path = "../../src/linux/meeting.rs"]
mod meeting;
#[path = "nap.rs"]
mod nap;
#[path = "../../src/linux/patience.rs"]
mod patience;
#[path = "../../src/linux/plain/mod.rs"]
pub mod plain;
#[path = "../../src/linux/server.rs"]
mod server;
#[path = "shared.rs"]
mod shared;
#[cfg(feature = "tokio")]
#[path = "../../src/linux/tokio.rs"]
pub mod tokio;
#[path = "../../src/linux/words.rs"]
mod words;

pub use client::Client;
pub use connection::Counts;
pub use doorbell::Notice;
pub use meeting::{Limits, Options};
pub use server::Server;
pub use shared::Shared;
