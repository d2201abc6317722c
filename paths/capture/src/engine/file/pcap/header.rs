//! The first 24 bytes of a pcap file. Source: draft-ietf-opsawg-pcap, section 4 (General File Structure).

use super::super::error::Fault;
use super::super::limits::{longest_packet, snapshot_length};
use super::super::order::Order;
use super::super::resolution::Resolution;
use crate::engine::LinkType;

/// Its length in bytes.
pub(in super::super) const FILE_HEADER: usize = 24;

const MICROS: u32 = 0xa1b2_c3d4;
const NANOS: u32 = 0xa1b2_3c4d;
/// A. Kuznetzov's patch, found in old Linux distributions: eight bytes more in each packet's header. Not in the draft;
/// libpcap reads it.
const KUZNETZOV: u32 = 0xa1b2_cd34;

/// The last word: the link type, the bit P and the length of a frame check sequence that it makes valid, and
/// what must be 0: libpcap refuses files in which it is not (LT_RESERVED1 of its pcap/pcap.h). One bit more
/// is not used, and libpcap does not look at it.
/// Source: draft-ietf-opsawg-pcap, section 4; pcap-savefile(5).
const LINK_TYPE: u32 = 0x0000_ffff;
const CHECK_SEQUENCE_PRESENT: u32 = 0x0400_0000;
const CHECK_SEQUENCE_SHIFT: u32 = 28;
const RESERVED: u32 = 0x03ff_0000;

/// Unit of the length of a frame check sequence.
const CHECK_SEQUENCE_UNIT_BITS: u8 = 16;

/// The upper bits of the link type's word for packets that end in a frame check sequence of so many bits.
/// What pcap has no room for (it counts in units of 16) is not told.
pub(in super::super) fn link_extension(check_sequence_bits: Option<u8>) -> u32 {
    match check_sequence_bits {
        Some(bits) if bits.is_multiple_of(CHECK_SEQUENCE_UNIT_BITS) => {
            u32::from(bits / CHECK_SEQUENCE_UNIT_BITS) << CHECK_SEQUENCE_SHIFT | CHECK_SEQUENCE_PRESENT
        }
        _ => 0,
    }
}

/// How many bits such a word says.
pub(in super::super) fn check_sequence_bits(word: u32) -> Option<u8> {
    let units = (word >> CHECK_SEQUENCE_SHIFT) as u8;
    (word & CHECK_SEQUENCE_PRESENT != 0).then_some(units * CHECK_SEQUENCE_UNIT_BITS)
}

/// The order of the two lengths in a packet's header. Old versions had the length on the wire first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lengths {
    /// What was kept first: version 2.4.
    KeptFirst,
    /// What was on the wire first: versions up to 2.2, and 543.0 of DG/UX.
    WireFirst,
    /// Version 2.3 was written both ways: the smaller is what was kept.
    Either,
}

/// What a pcap file says of all its packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Byte order of all numbers.
    pub order: Order,
    /// Unit of the packets' fractions of a second.
    pub resolution: Resolution,
    /// Version, before and after the point.
    pub version: (u16, u16),
    /// Bytes kept of a packet at most.
    pub snapshot: u32,
    /// What the packets are.
    pub link_type: LinkType,
    /// The upper bits of the link type's word: whether, and in how many bits, packets end in a frame check sequence.
    pub link_extension: u32,
    /// Order of the two lengths.
    pub lengths: Lengths,
    /// Length of a packet's header, in bytes: 16, or 24 with Kuznetzov's patch.
    pub record_header: usize,
    /// The longest packet that there can be, in bytes.
    pub(in super::super) longest: u32,
}

impl Header {
    /// Whether a file that begins so is a pcap file, and in which byte order.
    pub(in super::super) fn order(magic: [u8; 4]) -> Option<Order> {
        let known = |magic| matches!(magic, MICROS | NANOS | KUZNETZOV);
        let magic = u32::from_ne_bytes(magic);
        if known(magic) { Some(Order::Native) } else { known(magic.swap_bytes()).then_some(Order::Swapped) }
    }

    /// Reads the first 24 bytes of a file that begins as [`Header::order`] knows.
    ///
    /// # Errors
    /// What is wrong, and at which byte.
    pub(in super::super) fn read(order: Order, bytes: &[u8]) -> Result<Header, (usize, Fault)> {
        let magic = order.u32(bytes, 0);
        let version @ (major, minor) = (order.u16(bytes, 4), order.u16(bytes, 6));
        let lengths = match version {
            (2, 4) => Lengths::KeptFirst,
            (2, 3) => Lengths::Either,
            (2, 0..=2) | (543, 0) => Lengths::WireFirst,
            _ => return Err((4, Fault::Version { format: "pcap", major, minor })),
        };
        let word = order.u32(bytes, 20);
        if word & RESERVED != 0 {
            return Err((20, Fault::ReservedBits { word, reserved: RESERVED }));
        }
        let link_type = LinkType::from_file(word & LINK_TYPE);
        let mut snapshot = snapshot_length(order.u32(bytes, 16), link_type);
        let mut record_header = super::RECORD_HEADER;
        if magic == KUZNETZOV {
            record_header += 8;
            if link_type == LinkType::ETHERNET {
                // Such a capture could add a made-up Ethernet header to what it had cut.
                snapshot = snapshot.saturating_add(14).min(i32::MAX as u32);
            }
        }
        let resolution = if magic == NANOS { Resolution::Nanos } else { Resolution::Micros };
        let link_extension = word & !LINK_TYPE;
        Ok(Header {
            order,
            resolution,
            version,
            snapshot,
            link_type,
            link_extension,
            lengths,
            record_header,
            longest: longest_packet(link_type),
        })
    }

    /// The bits of the frame check sequence at the end of each packet, where the file says.
    /// Source: draft-ietf-opsawg-pcap, section 4: FCS length in units of 16 bits, valid if the bit P is set.
    pub fn check_sequence_bits(&self) -> Option<u8> {
        check_sequence_bits(self.link_extension)
    }

    /// A header as we write it: version 2.4, this machine's byte order.
    pub(in super::super) fn to_bytes(
        link_word: u32,
        snapshot: u32,
        resolution: Resolution,
    ) -> [u8; FILE_HEADER] {
        let magic = match resolution {
            Resolution::Micros => MICROS,
            Resolution::Nanos => NANOS,
        };
        let mut bytes = [0; FILE_HEADER];
        bytes[0..4].copy_from_slice(&magic.to_ne_bytes());
        bytes[4..6].copy_from_slice(&2u16.to_ne_bytes());
        bytes[6..8].copy_from_slice(&4u16.to_ne_bytes());
        bytes[16..20].copy_from_slice(&snapshot.to_ne_bytes());
        bytes[20..24].copy_from_slice(&link_word.to_ne_bytes());
        bytes
    }
}
