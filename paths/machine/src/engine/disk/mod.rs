//! How fast a disk is: reads and writes of a file of our own by io_uring, and what it costs to make a block durable.
//!
//! - [`TestFile`] is made here, without a name, full of bytes that nothing can compress or hold for a copy of others
//!   ([`content`]). What each of its sectors must hold is known at any time, so that every result can be checked. No other
//!   file is ever touched, and no device.
//! - [`Accesses`] keeps as many reads and writes under way as it is told, as [`Load`] says, and tells when they came back.
//! - [`Durable`] writes a block and waits until it is on the disk.
//! - [`fio`] has fio do the same to such a file.

mod accesses;
pub mod content;
mod durable;
mod file;
pub mod fio;
mod flight;
mod memory;
pub(crate) mod order;

pub use accesses::Accesses;
pub use durable::{Durable, Sync};
pub use file::TestFile;
pub use order::Pattern;

/// What is done to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Load {
    /// What is read and what is written, in which order.
    pub pattern: Pattern,
    /// Bytes of a block: whole [sectors](content::SECTOR).
    pub size: usize,
    /// How many accesses are under way.
    pub depth: usize,
    /// Whether past the page cache (O_DIRECT).
    pub direct: bool,
}
