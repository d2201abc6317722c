//! What a frame says of itself: its number and when it was sent.
//!
//! Every frame made here has a source address (of the link) that begins with [`MARK`], which is locally administered
//! (IEEE 802, 8.2.2), so no adapter has it. The number, 64 bits, and the time, 48 bits of nanoseconds since 1970, which wrap
//! round every 78 hours, stand most significant byte first
//! * in UDP and ICMP: at the payload's bytes 0–7 and 8–13;
//! * in TCP: the number in place of sequence number and acknowledgement, the time at the payload's bytes 0–5. The shortest
//!   frame has no room for more.

use crate::engine::Timestamp;

/// The first five bytes of the source address of every frame made here.
pub(super) const MARK: [u8; 5] = [0x02, b'T', b'o', b'l', b'l'];

/// Bits of the time.
const TIME_BITS: u32 = 48;

/// A frame's number and when it was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// Counts frames from 0.
    pub number: u64,
    /// When it was handed to the kernel: nanoseconds since 1970, the lower 48 bits.
    pub time: u64,
}

impl Stamp {
    /// Of a frame that is handed over at this moment.
    #[inline]
    pub fn new(number: u64, sent: Timestamp) -> Stamp {
        Stamp { number, time: sent.0 & ((1 << TIME_BITS) - 1) }
    }

    /// Reads it from a frame; `None` if the frame was not made here, or too little of it was kept.
    #[inline]
    pub fn read(frame: &[u8]) -> Option<Stamp> {
        if frame.get(6..11)? != MARK {
            return None;
        }
        let (transport, protocol) = match frame.get(12..15)? {
            [0x08, 0x00, 0x45] => (34, *frame.get(23)?),
            [0x86, 0xdd, _] => (54, *frame.get(20)?),
            _ => return None,
        };
        let (number, time) = match protocol {
            // Numbers of protocols: IANA, "Assigned Internet Protocol Numbers".
            6 => (transport + 4, transport + 20),
            1 | 17 | 58 => (transport + 8, transport + 16),
            _ => return None,
        };
        let number = u64::from_be_bytes(frame.get(number..number + 8)?.try_into().ok()?);
        let [a, b, c, d, e, f] = *frame.get(time..time + 6)?.first_chunk()?;
        Some(Stamp { number, time: u64::from_be_bytes([0, 0, a, b, c, d, e, f]) })
    }

    /// How long before `seen` it was sent, in nanoseconds, if that is less than 39 hours: below 0 where the clocks of sender
    /// and receiver disagree.
    pub fn age(&self, seen: Timestamp) -> i64 {
        let unused = u64::BITS - TIME_BITS;
        ((seen.0.wrapping_sub(self.time) << unused) as i64) >> unused
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_survive_the_wrap_of_the_time() {
        let wrap = 1u64 << TIME_BITS;
        for sent in [0, 1, wrap - 5, wrap, 1_763_000_000_000_000_000] {
            let stamp = Stamp::new(7, Timestamp(sent));
            assert_eq!(stamp.age(Timestamp(sent + 10)), 10);
            assert_eq!(stamp.age(Timestamp(sent.wrapping_sub(3))), -3);
        }
    }

    #[test]
    fn what_was_not_made_here_has_no_stamp() {
        assert_eq!(Stamp::read(&[]), None);
        assert_eq!(Stamp::read(&[0; 60]), None);
        let mut arp = [0u8; 60];
        arp[6..11].copy_from_slice(&MARK);
        arp[12..14].copy_from_slice(&[8, 6]);
        assert_eq!(Stamp::read(&arp), None);
    }
}
