//! How much memory a ring has, and in which pieces.

use crate::WireError;

use super::TAG;

/// Sizes of a ring, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Geometry {
    /// A block: memory that the kernel has in one piece.
    pub block: usize,
    /// How many blocks there are.
    pub blocks: usize,
    /// A frame's slot (TPACKET_V2).
    pub slot: usize,
}

/// The page size of x86-64; a multiple of it serves where pages are larger.
const PAGE: usize = 4096;
/// Between a slot's start and its frame at the most: header (rounded up), address, 16 bytes, room for a tag.
const BEFORE: usize = 96 + TAG;
/// The largest block that is asked for: one piece of contiguous memory, if the kernel finds it.
const LARGEST_BLOCK: usize = 1 << 20;
/// The smallest block of a TPACKET_V3 ring. The largest frame of most interfaces, 64 KiB, fits twice.
const SMALLEST_BLOCK: usize = 128 << 10;
/// So many blocks, if they do not get too small or too large by it.
const BLOCKS: usize = 32;

impl Geometry {
    /// Of a TPACKET_V3 ring of about so many bytes in all, for frames of up to `frame` bytes.
    ///
    /// # Errors
    /// A buffer of no or too many bytes.
    pub fn of_blocks(buffer: usize, frame: usize) -> Result<Geometry, WireError> {
        let needed = (frame + 256).next_power_of_two();
        let block = (buffer / BLOCKS).next_power_of_two().clamp(SMALLEST_BLOCK, LARGEST_BLOCK).max(needed);
        // With a single block the kernel has nowhere to write while it is read.
        let blocks = (buffer / block).max(2);
        let slot = 2048;
        Geometry { block, blocks, slot }.checked(buffer)
    }

    /// Of a TPACKET_V2 ring of about so many bytes, for frames of up to `frame` bytes. A larger one waits at the socket.
    ///
    /// # Errors
    /// A buffer of no or too many bytes.
    pub fn of_slots(buffer: usize, frame: usize) -> Result<Geometry, WireError> {
        let slot = (BEFORE + frame).next_multiple_of(16);
        // As many slots a block as leave little room unused.
        let block = (slot * 64).next_multiple_of(PAGE).min(LARGEST_BLOCK).max(slot.next_multiple_of(PAGE));
        let blocks = (buffer / block).max(1);
        Geometry { block, blocks, slot }.checked(buffer)
    }

    fn checked(self, buffer: usize) -> Result<Geometry, WireError> {
        let total = self.block.checked_mul(self.blocks).filter(|total| u32::try_from(*total).is_ok());
        match total {
            Some(_) if buffer > 0 => Ok(self),
            _ => Err(WireError::input(
                "the buffer",
                format!("{buffer} bytes"),
                "the kernel's rings have more than 0 and less than 4 GiB",
            )),
        }
    }

    /// All of it.
    pub fn total(&self) -> usize {
        self.block * self.blocks
    }

    /// How many slots a block has.
    pub fn slots_per_block(&self) -> usize {
        self.block / self.slot
    }

    /// Where slot `i` begins.
    #[inline]
    pub(crate) fn slot_at(&self, i: usize) -> usize {
        let per_block = self.slots_per_block();
        (i / per_block) * self.block + (i % per_block) * self.slot
    }

    /// How many slots there are.
    pub fn slots(&self) -> usize {
        self.slots_per_block() * self.blocks
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_fill_blocks_and_never_leave_them() {
        for buffer in [1, 70_000, 2 << 20, 64 << 20] {
            for frame in [60, 128, 1518, 9018, 262_144] {
                let geometry = Geometry::of_slots(buffer, frame).unwrap();
                assert_eq!((geometry.block % PAGE, geometry.slot % 16), (0, 0));
                let mut end = 0;
                for i in 0..geometry.slots() {
                    let at = geometry.slot_at(i);
                    assert!(at >= end && at / geometry.block == (at + geometry.slot - 1) / geometry.block);
                    end = at + geometry.slot;
                }
                assert!(end <= geometry.total());
                assert!(geometry.total() <= buffer.max(geometry.block), "{buffer} {frame} {geometry:?}");
            }
        }
    }

    #[test]
    fn blocks_hold_the_largest_frame_and_there_are_two() {
        for buffer in [1, 70_000, 2 << 20, 64 << 20] {
            for frame in [60, 1518, 65_549, 262_144] {
                let geometry = Geometry::of_blocks(buffer, frame).unwrap();
                assert!(
                    geometry.block.is_power_of_two() && geometry.block > frame + 100 && geometry.blocks >= 2
                );
            }
        }
        assert!(Geometry::of_blocks(0, 60).is_err());
        assert!(Geometry::of_blocks(8 << 30, 60).is_err());
    }
}
