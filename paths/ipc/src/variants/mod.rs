//! What is put on trial: requests by every way, what messages cost alone, and what a server's work does.
//!
//! ```text
//!   ping_pong  a client and a server by each way
//!   client     the client's end
//!   server     the server's end
//!   gates      the bill of a round trip
//!   message    the toll of messages alone
//!   notice     the toll of a wake-up alone
//!   crowd      the toll of synchronous calls of many threads
//!   memory     memory taken and given back, by calls and by io_uring
//!   labour     the tolls of a server's work
//!   course     the timing of requests
//!   counted    what ends counted
//!   tcp        a TCP server whose network stack and application are two processes
//! ```

mod client;
mod counted;
mod course;
mod crowd;
mod gates;
mod labour;
mod memory;
mod message;
mod notice;
mod ping_pong;
mod server;
mod tcp;

use tollway_core::Variant;

/// The roles.
const CLIENT: &str = "client";
const SERVER: &str = "server";

/// Every variant.
pub(crate) fn all() -> Vec<Box<dyn Variant>> {
    let mut all: Vec<Box<dyn Variant>> = Vec::new();
    all.extend(ping_pong::variants());
    all.extend(memory::variants());
    all.push(Box::new(message::Message));
    all.push(Box::new(notice::Wakeup));
    all.push(Box::new(crowd::CrowdedCall));
    all.extend(labour::variants());
    all.extend(tcp::variants());
    all
}
