//! TPACKET_V3: the kernel fills blocks with as many frames as fit or come in time, and hands over whole blocks.

use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::{Geometry, Mapping, Received, TAG, Walk};
use crate::{PacketSocket, WireError};

/// Offset of the status word in `struct tpacket_block_desc`.
const STATUS: usize = 8;

/// A socket with a ring of blocks.
#[derive(Debug)]
pub struct BlockRing {
    memory: Mapping,
    socket: PacketSocket,
    geometry: Geometry,
    /// The block whose turn it is.
    turn: usize,
    /// How far that block was read, once it is ours.
    walk: Option<Walk>,
}

impl BlockRing {
    /// Gives a socket that is not bound yet a ring. A block that is not full is handed over after `patience`, which has
    /// a resolution of 1 ms.
    ///
    /// # Errors
    /// Too large a ring, or no memory for it.
    pub fn new(socket: PacketSocket, geometry: Geometry, patience: Duration) -> Result<BlockRing, WireError> {
        let request = libc::tpacket_req3 {
            tp_block_size: geometry.block as u32,
            tp_block_nr: geometry.blocks as u32,
            tp_frame_size: geometry.slot as u32,
            tp_frame_nr: geometry.slots() as u32,
            tp_retire_blk_tov: u32::try_from(patience.as_millis()).unwrap_or(u32::MAX).max(1),
            tp_sizeof_priv: 0,
            tp_feature_req_word: 0,
        };
        let memory = map_ring(&socket, libc::tpacket_versions::TPACKET_V3 as i32, &request, &geometry)?;
        Ok(BlockRing { memory, socket, geometry, turn: 0, walk: None })
    }

    /// Hands over at most `limit` of the frames that are there, without waiting, and says how many there were.
    ///
    /// # Errors
    /// [`WireError::Input`] at a block that is damaged; it goes back to the kernel.
    #[inline]
    pub fn read(&mut self, limit: u64, mut sink: impl FnMut(Received<'_>)) -> Result<u64, WireError> {
        let mut seen = 0;
        while seen < limit {
            let at = self.turn * self.geometry.block;
            let ours = self.memory.word(at + STATUS).load(Ordering::Acquire) & libc::TP_STATUS_USER != 0;
            if !ours {
                break;
            }
            // SAFETY: the kernel has handed the block over, and leaves it alone until its status is set back below.
            let block = unsafe { self.memory.bytes(at, self.geometry.block) };
            let walk = self.walk.get_or_insert_with(|| Walk::start(block));
            let gone = walk.go(block, limit - seen, &mut sink);
            let done = walk.is_done();
            if done {
                self.walk = None;
                self.memory.word(at + STATUS).store(libc::TP_STATUS_KERNEL, Ordering::Release);
                self.turn = (self.turn + 1) % self.geometry.blocks;
            }
            seen += gone.map_err(|damaged| {
                WireError::input(
                    "the kernel's ring",
                    damaged.to_string(),
                    "report it with the kernel's version",
                )
            })?;
        }
        Ok(seen)
    }

    /// The socket.
    pub fn socket(&mut self) -> &mut PacketSocket {
        &mut self.socket
    }
}

impl AsFd for BlockRing {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// Has the kernel make a ring and maps it. Frames get room for a VLAN tag before them.
pub(super) fn map_ring<T: Copy>(
    socket: &PacketSocket,
    version: i32,
    request: &T,
    geometry: &Geometry,
) -> Result<Mapping, WireError> {
    let doing = format!("making a ring of {} blocks of {} bytes", geometry.blocks, geometry.block);
    socket.set(libc::SOL_PACKET, libc::PACKET_VERSION, &version, "choosing the ring's version")?;
    socket.set(libc::SOL_PACKET, libc::PACKET_RESERVE, &(TAG as u32), "reserving room in the ring")?;
    let out_of_memory = |error: WireError| match error.errno() {
        Some(libc::ENOMEM) => {
            WireError::input(&doing, "the kernel has no memory for it", "ask for a smaller buffer")
        }
        _ => error,
    };
    socket.set(libc::SOL_PACKET, libc::PACKET_RX_RING, request, &doing).map_err(out_of_memory)?;
    Mapping::of(socket.as_fd(), geometry.total(), 0)
        .map_err(|error| out_of_memory(WireError::system(&doing, error)))
}
