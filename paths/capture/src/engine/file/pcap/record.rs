//! One packet of a pcap file. Source: draft-ietf-opsawg-pcap, section 5 (Packet Record).

use super::super::error::Fault;
use super::super::order::Order;
use super::super::resolution::Resolution;
use super::super::step::{Found, Step};
use super::header::{Header, Lengths};
use crate::engine::Timestamp;

/// Length of a packet's header, in bytes.
pub(in super::super) const RECORD_HEADER: usize = 16;

/// A packet's header.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct Record {
    /// Seconds since 1970.
    pub seconds: u32,
    /// Fraction of a second, in the file's unit.
    pub fraction: u32,
    /// Bytes of the packet that the file has.
    pub stored: u32,
    /// Bytes that it had on the wire.
    pub wire_length: u32,
}

impl Record {
    /// Reads one of this machine's byte order and of version 2.4; the caller has seen that 16 bytes are there.
    #[inline]
    pub fn read_plain(bytes: &[u8]) -> Record {
        let order = Order::Native;
        Record {
            seconds: order.u32(bytes, 0),
            fraction: order.u32(bytes, 4),
            stored: order.u32(bytes, 8),
            wire_length: order.u32(bytes, 12),
        }
    }

    /// Reads one; the caller has seen that 16 bytes are there.
    #[inline]
    pub fn read(header: &Header, bytes: &[u8]) -> Record {
        let order = header.order;
        let (first, second) = (order.u32(bytes, 8), order.u32(bytes, 12));
        let swap = match header.lengths {
            Lengths::KeptFirst => false,
            Lengths::WireFirst => true,
            Lengths::Either => first > second,
        };
        let (stored, wire_length) = if swap { (second, first) } else { (first, second) };
        Record { seconds: order.u32(bytes, 0), fraction: order.u32(bytes, 4), stored, wire_length }
    }

    /// When it was seen. A fraction of a second may lie, and be more than one.
    #[inline]
    pub fn timestamp(&self, resolution: Resolution) -> Timestamp {
        let nanos = u64::from(self.fraction) * u64::from(resolution.nanos());
        Timestamp(u64::from(self.seconds) * 1_000_000_000 + nanos)
    }
}

impl Header {
    /// Whether records can go as they are into a file that we write in the same unit.
    pub(in super::super) fn is_plain(&self) -> bool {
        self.order == Order::Native
            && self.lengths == Lengths::KeptFirst
            && self.record_header == RECORD_HEADER
    }

    /// The next packet of the bytes at hand. Of one that is longer than the snapshot length only that much is shown, as
    /// libpcap does.
    #[inline]
    pub(in super::super) fn step(&self, window: &[u8]) -> Step {
        let begin = self.record_header;
        let Some(head) = window.get(..begin) else { return Step::Need(begin, "a packet's header") };
        let record = Record::read(self, head);
        let limit = self.longest;
        if record.stored > limit {
            return Step::Bad(0, Fault::TooLong { captured: record.stored, limit });
        }
        let length = begin + record.stored as usize;
        if length > window.len() {
            return Step::Need(length, "a packet");
        }
        let kept = record.stored.min(self.snapshot) as usize;
        let bytes = begin..begin + kept;
        let timestamp = record.timestamp(self.resolution);
        let wire_length = record.wire_length;
        Step::Packet(Found { timestamp, is_timed: true, wire_length, interface: 0, bytes, length })
    }
}
