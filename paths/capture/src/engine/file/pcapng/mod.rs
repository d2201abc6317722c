//! The pcapng format. Source: draft-ietf-opsawg-pcapng.

mod block;
mod decoder;
mod interface;
mod options;
mod statistics;
mod writer;

pub use interface::Interface;
pub use statistics::Statistics;
pub use writer::{Described, Writer};

pub(super) use block::SECTION;
pub(super) use decoder::Decoder;
