//! Capture files: pcap and pcapng, read and written.
//!
//! ```text
//! Input (file, pipe, map) → Reader → Captured packets → filter → Writer → Output
//!                                └── copy: the same in one loop, over runs of records ──┘
//! ```
//!
//! Whatever a file says is a claim: lengths are held against what is there, and memory is taken as bytes come, not as a
//! header promises. What is damaged ends with an [`Error`] that names the place; what came before is good.

mod copy;
mod error;
mod host_order;
mod input;
mod limits;
mod map;
mod order;
mod output;
pub mod pcap;
pub mod pcapng;
mod reader;
mod resolution;
mod rotation;
mod sink;
mod step;

pub use copy::{Copied, Copy, Kind};
pub use error::{Error, Fault};
pub use input::Input;
pub use limits::{LONGEST_PACKET, longest_packet};
pub use order::Order;
pub use output::Output;
pub use reader::{Captured, Format, Reader};
pub use resolution::Resolution;
pub use rotation::{Rotating, Rotation};
pub use sink::{Content, Sink};
