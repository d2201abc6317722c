//! The 20 bytes before each packet of the buffer.
//!
//! As long as the study's (WinPcap's `struct bpf_hdr`, padded to 20 bytes: two 32-bit words of time, two lengths, its own
//! length), with the same content but nanoseconds in one 64-bit number. Host byte order; records begin at multiples of 4.

use crate::engine::Timestamp;

/// Bytes of a header.
pub const HEADER: usize = 20;

/// Records begin at multiples of this, in bytes.
const ALIGNED: usize = 4;

/// What is known of a packet in the buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// When it was seen.
    pub timestamp: Timestamp,
    /// Bytes that follow.
    pub kept: u32,
    /// Bytes that it had on the wire.
    pub wire_length: u32,
}

/// Bytes that a packet of which `kept` bytes are kept takes in the buffer.
#[inline(always)]
pub const fn room_for(kept: u32) -> usize {
    (HEADER + kept as usize).next_multiple_of(ALIGNED)
}

impl Header {
    /// Writes it.
    #[inline(always)]
    pub(super) fn write(self, to: &mut [u8; HEADER]) {
        to[0..8].copy_from_slice(&self.timestamp.0.to_ne_bytes());
        to[8..12].copy_from_slice(&self.kept.to_ne_bytes());
        to[12..16].copy_from_slice(&self.wire_length.to_ne_bytes());
        to[16..20].copy_from_slice(&(HEADER as u32).to_ne_bytes());
    }

    /// Reads what [`Header::write`] wrote.
    #[inline(always)]
    pub(super) fn read(from: &[u8; HEADER]) -> Header {
        let [t0, t1, t2, t3, t4, t5, t6, t7, k0, k1, k2, k3, w0, w1, w2, w3, ..] = *from;
        Header {
            timestamp: Timestamp(u64::from_ne_bytes([t0, t1, t2, t3, t4, t5, t6, t7])),
            kept: u32::from_ne_bytes([k0, k1, k2, k3]),
            wire_length: u32::from_ne_bytes([w0, w1, w2, w3]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_minimal_frame_takes_84_bytes() {
        // 262144 / 84 = 3120 packets a read of 256 KiB, as in the study.
        assert_eq!((room_for(64), room_for(60), room_for(61)), (84, 80, 84));
    }

    #[test]
    fn a_header_reads_what_it_writes() {
        let header = Header { timestamp: Timestamp(u64::MAX - 3), kept: 98, wire_length: 1514 };
        let mut bytes = [0; HEADER];
        header.write(&mut bytes);
        assert_eq!(Header::read(&bytes), header);
    }
}
