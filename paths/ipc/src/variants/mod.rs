//! What is put on trial: requests by every way, what messages cost alone, and what a server's work does.
//!
//! ```text
//!   ping_pong  a client and a server by each way
//!   client     the client's end
//!   server     the server's end
//!   setting    what both do, by the axes
//!   gates      the bill of a round trip
//!   message    the toll of messages alone
//!   memory     memory taken and given back, by calls and by io_uring
//!   labour     the tolls of a server's work
//!   course     the timing of requests
//!   counted    what ends counted
//!   tcp        a TCP server whose network stack and application are two processes
//! ```

mod client;
mod counted;
mod course;
mod gates;
mod labour;
mod memory;
mod message;
mod ping_pong;
mod server;
mod setting;
mod tcp;

use tollway_core::{Placement, TollKey, Variant};

pub(crate) use setting::{Setting, Way};

/// The roles.
const CLIENT: &str = "client";
const SERVER: &str = "server";

/// Every variant.
pub(crate) fn all() -> Vec<Box<dyn Variant>> {
    let mut all: Vec<Box<dyn Variant>> = Vec::new();
    all.extend(ping_pong::variants());
    all.extend(memory::variants());
    all.push(Box::new(message::Message));
    all.extend(labour::variants());
    all.extend(tcp::variants());
    all
}

/// The toll of messages alone with so many on their way.
pub(crate) fn message_key(setting: &Setting, placement: Placement, depth: u32) -> TollKey {
    message::key(setting.way, placement, setting.size, depth)
}

/// The toll of a synchronous call by datagrams.
pub(crate) fn seqpacket_key(setting: &Setting, placement: Placement) -> TollKey {
    gates::datagrams(setting, placement)
}

/// The tolls of the server's work.
pub(crate) fn labour_keys(setting: &Setting) -> Vec<TollKey> {
    labour::keys(setting.load)
}
