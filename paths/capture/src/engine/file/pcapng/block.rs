//! What all blocks have in common. Source: draft-ietf-opsawg-pcapng, section 3.1 (General Block Structure).

use super::super::error::Fault;
use super::super::order::Order;

/// Section header block: section 4.1. Reads the same in both byte orders.
pub(in super::super) const SECTION: u32 = 0x0a0d_0d0a;
/// Interface description block: section 4.2.
pub(super) const INTERFACE: u32 = 1;
/// Packet block, obsolete: appendix A.
pub(super) const OLD_PACKET: u32 = 2;
/// Simple packet block: section 4.4.
pub(super) const SIMPLE_PACKET: u32 = 3;
/// Interface statistics block: section 4.6.
pub(super) const STATISTICS: u32 = 5;
/// Enhanced packet block: section 4.3.
pub(super) const PACKET: u32 = 6;

/// Type and length at a block's start, in bytes.
pub(super) const HEAD: usize = 8;
/// The length at its end, in bytes.
pub(super) const TAIL: usize = 4;

/// In which byte order a section is written. Source: section 4.1, Byte-Order Magic.
pub(super) fn section_order(magic: [u8; 4]) -> Result<Order, Fault> {
    match u32::from_ne_bytes(magic) {
        0x1a2b_3c4d => Ok(Order::Native),
        0x4d3c_2b1a => Ok(Order::Swapped),
        _ => Err(Fault::ByteOrder(magic)),
    }
}

/// Refuses a length that no block of this type can have.
#[inline]
pub(super) fn check_length(kind: u32, length: u32, longest: u32) -> Result<(), Fault> {
    let least = match kind {
        SECTION => 28,
        INTERFACE => 20,
        OLD_PACKET | PACKET => 32,
        SIMPLE_PACKET => 16,
        STATISTICS => 24,
        _ => 12,
    };
    let reason = if length < least {
        "which is less than it needs"
    } else if !length.is_multiple_of(4) {
        "which is no multiple of four"
    } else if length > longest {
        "which is more than a packet with its options can have"
    } else {
        return Ok(());
    };
    Err(Fault::BlockLength { kind, length, reason })
}

/// The length of `bytes` with what fills them up to a multiple of four.
#[inline]
pub(super) fn padded(bytes: usize) -> usize {
    bytes.next_multiple_of(4)
}
