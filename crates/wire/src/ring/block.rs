//! The frames of one block of a TPACKET_V3 ring: a chain of headers, each with the distance to the next.

use super::{Received, TAG, Tag, stamp};

/// `struct tpacket3_hdr`: next offset, seconds, nanoseconds, bytes kept, bytes on the wire, status, offset of the frame,
/// offset of its payload, hash, VLAN control and protocol, padding.
const HEADER: usize = size_of::<libc::tpacket3_hdr>();
/// Offsets in `struct tpacket_block_desc`: number of frames, offset of the first.
const FRAMES: usize = 12;
const FIRST: usize = 16;
/// Its size, up to and with the timestamps of the last frame.
const DESCRIPTOR: usize = 48;

/// A block whose chain leaves it, or goes nowhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a frame's header at byte {at} of a ring's block says {what}; what came before it was kept")]
pub struct Damaged {
    /// Where in the block.
    pub at: usize,
    /// What is wrong.
    pub what: &'static str,
}

/// How far a block was read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Walk {
    at: usize,
    left: u32,
}

#[inline]
fn word(bytes: &[u8; HEADER], at: usize) -> u32 {
    u32::from_ne_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

#[inline]
fn half(bytes: &[u8; HEADER], at: usize) -> u16 {
    u16::from_ne_bytes([bytes[at], bytes[at + 1]])
}

impl Walk {
    /// At the first frame of a block that the kernel has handed over.
    pub fn start(block: &[u8]) -> Walk {
        let word =
            |at: usize| block.get(at..at + 4).and_then(|b| b.try_into().ok()).map_or(0, u32::from_ne_bytes);
        Walk { at: word(FIRST) as usize, left: word(FRAMES) }
    }

    /// Whether the block has no more.
    pub fn is_done(&self) -> bool {
        self.left == 0
    }

    /// Goes on for at most `limit` frames and says how many there were. VLAN tags are put back in the block itself.
    ///
    /// # Errors
    /// [`Damaged`] at a header that is not inside the block or tells of something that is not; the walk is done then.
    #[inline]
    pub fn go(
        &mut self,
        block: &mut [u8],
        limit: u64,
        mut sink: impl FnMut(Received<'_>),
    ) -> Result<u64, Damaged> {
        let count = u64::from(self.left).min(limit) as u32;
        let (mut at, mut seen) = (self.at, 0);
        while seen < count {
            match frame(block, at, &mut sink) {
                // The kernel leaves 0 behind the last frame; before that the chain must not stand still.
                Ok(next) if (next as usize) < HEADER && seen + 1 < self.left => {
                    return Err(self.damaged(at, "that the next one is inside it"));
                }
                Ok(next) => at += next as usize,
                Err(what) => return Err(self.damaged(at, what)),
            }
            seen += 1;
        }
        *self = Walk { at, left: self.left - seen };
        Ok(u64::from(seen))
    }

    #[cold]
    fn damaged(&mut self, at: usize, what: &'static str) -> Damaged {
        *self = Walk::default();
        Damaged { at, what }
    }
}

/// Hands over the frame whose header is at `at`; answers how far it is to the next one.
#[inline]
fn frame(block: &mut [u8], at: usize, sink: &mut impl FnMut(Received<'_>)) -> Result<u32, &'static str> {
    if at < DESCRIPTOR {
        return Err("that it is inside the block's own header");
    }
    let Some(header) = block.get(at..).and_then(|b| b.first_chunk::<HEADER>()) else {
        return Err("that it is not inside the block");
    };
    let (next, kept, status, mac) = (word(header, 0), word(header, 12), word(header, 20), half(header, 24));
    let (mut wire_length, stamp) = (word(header, 16), stamp(word(header, 4), word(header, 8)));
    if usize::from(mac) < HEADER {
        return Err("that its frame is inside the header");
    }
    // No overflow: `at` is below the block's length, the others have 16 and 32 bits in 64.
    let (mut start, mut tagged) = (at + usize::from(mac), false);
    let end = start + kept as usize;
    if end > block.len() {
        return Err("that its frame ends outside the block");
    }
    if status & libc::TP_STATUS_VLAN_VALID != 0 {
        // The tag's fields have 32 and 16 bits, and the first is used by half.
        let tag = Tag::of(status, word(header, 32) as u16, half(header, 36));
        let room = usize::from(mac) >= HEADER + TAG;
        let earlier = tag.filter(|_| room).and_then(|tag| tag.put_back(block, start, kept as usize));
        if let Some(earlier) = earlier {
            (start, wire_length, tagged) = (earlier, wire_length.saturating_add(TAG as u32), true);
        }
    }
    sink(Received { bytes: &block[start..end], wire_length, stamp, tagged });
    Ok(next)
}
