//! What lies between a program and a network: namespaces and veth pairs made for a test, packet sockets and the rings
//! that the kernel shares with them.
//!
//! Everything here is Linux only and most of it needs root; what is not allowed is told as
//! [`tollway_core::Missing`], with what would allow it. Nothing is left behind: a namespace has no name and dies with
//! its last descriptor, a ring with its socket, an XDP program with its link.
#![warn(missing_debug_implementations)]

mod address;
mod cable;
mod call;
mod error;
mod interface;
mod link;
mod messages;
mod namespace;
mod netlink;
pub mod ring;
mod route;
pub mod send;
mod socket;
mod stop;

pub use address::{leave_checksums_to_device, set_address};
pub use cable::Cable;
pub use error::WireError;
pub use interface::{Counters, Interface, Watch};
pub use link::{End, delete_link, move_link, set_mtu, set_up, veth_pair};
pub use messages::Messages;
pub use namespace::Namespace;
pub use route::{add_route, pass_on};
pub use socket::{Fanout, FanoutMode, PacketSocket, SocketCounts, StampSource};
pub use stop::{Stop, Woken, wait};
pub mod xdp;
