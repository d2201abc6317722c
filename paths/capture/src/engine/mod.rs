//! Capturing, without the laboratory.

mod accounting;
mod packet;

pub use accounting::Accounting;
pub use packet::{LinkType, Packet, Timestamp};
