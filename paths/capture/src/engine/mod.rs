//! Capturing, without the laboratory.

mod accounting;
pub mod bpf;
pub mod buffer;
pub mod file;
pub mod generate;
pub mod in_process;
mod packet;
pub mod source;

pub use accounting::Accounting;
pub use packet::{LinkType, Packet, Timestamp};
