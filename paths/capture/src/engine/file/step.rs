//! What a decoder says about the next bytes of a file.

use std::ops::Range;

use super::error::Fault;
use crate::engine::Timestamp;

/// A packet that is whole in the bytes at hand.
#[derive(Clone, Debug)]
pub(super) struct Found {
    /// When it was seen; the zero of its clock where that was not written.
    pub timestamp: Timestamp,
    /// Whether the file says so.
    pub has_time: bool,
    /// How long it was on the wire, in bytes.
    pub wire_length: u32,
    /// Which of the file's interfaces saw it, counted over all sections.
    pub interface: u32,
    /// Where its bytes are in the bytes at hand.
    pub bytes: Range<usize>,
    /// How far the next record is.
    pub length: usize,
}

/// The next thing in a file.
#[derive(Debug)]
pub(super) enum Step {
    /// A packet.
    Packet(Found),
    /// So many bytes are to be passed over; they may be more than are at hand.
    Skip(u64),
    /// It takes so many bytes at hand to say. If the file has none left here, it ends well.
    Need(usize, &'static str),
    /// It is damaged, so many bytes from here.
    Bad(usize, Fault),
}
