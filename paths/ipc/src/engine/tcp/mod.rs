//! A TCP server of two processes: one has the network stack and the connections, the other the application; what goes between them is a
//! request for each message, synchronous or asynchronous. Beside it, for scale, the same application on Linux's own TCP.
//!
//! ```text
//!   client ── Linux's TCP ── veth ── packet socket ── stack (smoltcp) ── IPC ── application
//!   client ── Linux's TCP ── veth ── Linux's TCP ── application (epoll, io_uring)
//!
//!   message      what is asked and answered
//!   network      two namespaces with a cable between them
//!   client       one message outstanding over each connection
//!   stack        the network-stack server
//!   application  who answers requests
//!   linux        the same application without a stack of ours
//! ```

mod application;
mod client;
mod linux;
mod message;
mod network;
mod stack;

pub use application::Application;
pub use client::{Answered, Client, REPLIED_WITHIN};
pub use linux::{By, LinuxServer, Served};
pub use message::{BYTES, Message, REFUSED, Wrong, answer, check, request};
pub use network::{Network, Speaker};
pub use stack::{Counts, Itself, MOST_CONNECTIONS, Running, Stack, Style};
