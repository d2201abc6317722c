//! What is put on trial: requests by every way, what messages cost alone, and what a server's work does.
//!
//! ```text
//!   ping_pong  a client and a server by each way
//!   client     the client's end
//!   server     the server's end
//!   setting    what both do, by the axes
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
mod setting;
mod tcp;

use tollway_core::{Placement, TollKey, Variant};

pub(crate) use crowd::share as crowd_share;
pub(crate) use gates::{
    copying as copying_key, crowding as crowd_key, datagrams as seqpacket_key, line as line_key,
    noticing as notice_key, shares as depth_shares, switching as switch_key,
};
pub(crate) use setting::{Setting, Way};
pub(crate) use tcp::{STACK_DEPTHS, stack_key};

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

/// The tolls of messages alone that predictions are made from, by how many are on their way.
pub(crate) fn message_keys(setting: &Setting, placement: Placement) -> impl Iterator<Item = TollKey> {
    let key = move |depth: &u32| message::key(setting.way, placement, setting.size, *depth);
    gates::depths(placement).iter().map(key)
}

/// The tolls of the server's work.
pub(crate) fn labour_keys(setting: &Setting) -> Vec<TollKey> {
    labour::keys(setting.load)
}
