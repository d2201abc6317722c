//! One frame of a TPACKET_V2 ring: a slot of fixed size with a header.

use super::{Damaged, Received, TAG, Tag, stamp};

/// `struct tpacket2_hdr`: status, bytes on the wire, bytes kept, offset of the frame, offset of its payload, seconds,
/// nanoseconds, VLAN control and protocol, padding.
const HEADER: usize = size_of::<libc::tpacket2_hdr>();

/// What a slot's header says, checked against the slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot {
    start: usize,
    kept: usize,
    wire_length: u32,
    stamp: Option<u64>,
    tag: Option<Tag>,
    whole_elsewhere: bool,
}

impl Slot {
    /// Reads the header of a slot that the kernel has handed over.
    ///
    /// # Errors
    /// [`Damaged`] if it tells of a frame that is not inside the slot.
    #[inline]
    pub fn read(slot: &[u8]) -> Result<Slot, Damaged> {
        let damaged = |what| Damaged { at: 0, what };
        let header = slot.first_chunk::<HEADER>().ok_or(damaged("that it is not inside the slot"))?;
        let word =
            |at: usize| u32::from_ne_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]);
        let half = |at: usize| u16::from_ne_bytes([header[at], header[at + 1]]);
        let status = word(0);
        let read = Slot {
            start: usize::from(half(12)),
            kept: word(8) as usize,
            wire_length: word(4),
            stamp: stamp(word(16), word(20)),
            tag: Tag::of(status, half(24), half(26)),
            whole_elsewhere: status & libc::TP_STATUS_COPY != 0,
        };
        if read.start < HEADER {
            return Err(damaged("that its frame is inside the header"));
        }
        if read.start + read.kept > slot.len() {
            return Err(damaged("that its frame ends outside the slot"));
        }
        Ok(read)
    }

    /// Whether the frame was too large for the slot, and waits whole at the socket.
    pub fn is_whole_elsewhere(&self) -> bool {
        self.whole_elsewhere
    }

    /// The frame in the slot from which this was read; its VLAN tag is put back in the slot itself.
    #[inline]
    pub fn frame<'a>(&self, slot: &'a mut [u8]) -> Received<'a> {
        let (mut start, end) = (self.start, self.start + self.kept);
        let (mut wire_length, mut tagged) = (self.wire_length, false);
        if let Some(tag) = self.tag
            && start >= HEADER + TAG
            && let Some(earlier) = tag.put_back(slot, start, self.kept)
        {
            (start, wire_length, tagged) = (earlier, wire_length.saturating_add(TAG as u32), true);
        }
        Received { bytes: slot.get(start..end).unwrap_or_default(), wire_length, stamp: self.stamp, tagged }
    }

    /// The frame that waited at the socket: `buffer` has it from byte [`Slot::ROOM`] on, `length` bytes of it.
    pub fn elsewhere<'a>(&self, buffer: &'a mut [u8], length: usize) -> Received<'a> {
        let at_socket = Slot { start: Slot::ROOM, kept: length.min(buffer.len() - Slot::ROOM), ..*self };
        at_socket.frame(buffer)
    }

    /// What must be free before a frame that waited at the socket.
    pub const ROOM: usize = HEADER + TAG;
}
