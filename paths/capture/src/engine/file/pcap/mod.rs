//! The pcap format. Source: draft-ietf-opsawg-pcap, and for what it leaves out, libpcap's own reading of its files.

mod header;
mod record;
mod writer;

pub(super) use header::FILE_HEADER;
pub use header::{Header, Lengths};
pub(super) use record::{RECORD_HEADER, Record};
pub use writer::{Layout, Writer};
