//! Capturing, without the laboratory.

mod accounting;
pub mod bpf;
pub mod buffer;
pub mod file;
<<<<<<< HEAD
pub mod generate;
=======
>>>>>>> fc5ca51 (Bench: capture files beside tcpdump and plain writes)
pub mod in_process;
mod packet;
pub mod source;

pub use accounting::Accounting;
pub use packet::{LinkType, Packet, Timestamp};
