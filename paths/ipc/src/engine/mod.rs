//! The applications: requests from one process to another, and what the server does with each.
//!
//! ```text
//!   message    what a request and its reply are, so that neither can be lost, doubled or changed unseen
//!   matrix     the server's work as in the study: a product of n×n matrices
//!   service    what the server does with a request
//!   memory     memory taken and given back, by calls and by io_uring
//!   ping_pong  clients and servers by every way
//!   tcp        a TCP server of two processes: network stack and application
//! ```

pub mod matrix;
pub mod memory;
pub mod message;
pub mod ping_pong;
pub mod service;
pub mod tcp;
