//! Rings of frames in memory that the kernel shares with a packet socket. What the kernel wrote is checked before it is
//! used, as if anybody could have written it. Source: Documentation/networking/packet_mmap.rst of the kernel,
//! linux/if_packet.h.

mod block;
mod geometry;
mod mapping;
mod slot;
mod v2;
mod v3;

pub use block::{Damaged, Walk};
pub use geometry::Geometry;
pub(crate) use mapping::Mapping;
pub use slot::Slot;
pub use v2::SlotRing;
pub use v3::BlockRing;

/// A frame as the kernel handed it over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Received<'a> {
    /// What there is of it, its VLAN tag put back.
    pub bytes: &'a [u8],
    /// How long it was on the wire, in bytes.
    pub wire_length: u32,
    /// When the kernel (or the adapter) stamped it, in nanoseconds since 1970; `None` where nobody does.
    pub stamp: Option<u64>,
    /// Whether a VLAN tag was put back: the kernel's filter saw the frame without it.
    pub tagged: bool,
}

/// Bytes of a VLAN tag; as many must be free before a frame in which one is put back.
pub(crate) const TAG: usize = 4;

/// A VLAN tag that the kernel took out of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tag {
    protocol: u16,
    control: u16,
}

impl Tag {
    /// That of a frame whose status says that it had one. Kernels before 3.14 did not tell the protocol.
    #[inline]
    pub fn of(status: u32, control: u16, protocol: u16) -> Option<Tag> {
        let known = status & libc::TP_STATUS_VLAN_TPID_VALID != 0;
        let tag = Tag { protocol: if known { protocol } else { libc::ETH_P_8021Q as u16 }, control };
        (status & libc::TP_STATUS_VLAN_VALID != 0).then_some(tag)
    }

    /// Puts it back into the frame that begins at `start`: its two addresses move to the left. Answers where the frame
    /// begins now; `None` if there is no room, or the frame has no two addresses.
    #[cold]
    pub fn put_back(self, memory: &mut [u8], start: usize, length: usize) -> Option<usize> {
        const ADDRESSES: usize = 12;
        let earlier = start.checked_sub(TAG)?;
        if length < ADDRESSES || memory.len() < start.checked_add(length)? {
            return None;
        }
        memory.copy_within(start..start + ADDRESSES, earlier);
        let at = earlier + ADDRESSES;
        memory[at..at + 2].copy_from_slice(&self.protocol.to_be_bytes());
        memory[at + 2..at + 4].copy_from_slice(&self.control.to_be_bytes());
        Some(earlier)
    }
}

/// A timestamp as the kernel's headers have it.
#[inline]
pub(crate) fn stamp(seconds: u32, nanoseconds: u32) -> Option<u64> {
    Some(u64::from(seconds) * 1_000_000_000 + u64::from(nanoseconds))
}
