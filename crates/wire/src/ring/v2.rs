//! TPACKET_V2: a slot for each frame, handed over at once. A frame too large for its slot waits whole at the socket.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::sync::atomic::Ordering;

use super::v3::map_ring;
use super::{Geometry, Mapping, Received, Slot};
use crate::{PacketSocket, WireError};

/// More than any frame has: 64 KiB, its header, and tags.
const LARGEST_FRAME: usize = (64 << 10) + 64;

/// A socket with a ring of slots.
#[derive(Debug)]
pub struct SlotRing {
    memory: Mapping,
    socket: PacketSocket,
    geometry: Geometry,
    /// The slot whose turn it is: its number, and where it is.
    turn: usize,
    at: usize,
    /// Its place in its block, and how many a block has.
    column: usize,
    per_block: usize,
    /// Where frames that are too large for a slot are read to.
    large: Vec<u8>,
}

impl SlotRing {
    /// Gives a socket that is not bound yet a ring. With `large_frames`, those that do not fit into a slot come whole, as
    /// far as the socket's receive buffer has room; else they are cut.
    ///
    /// # Errors
    /// Too large a ring, or no memory for it.
    pub fn new(socket: PacketSocket, geometry: Geometry, large_frames: bool) -> Result<SlotRing, WireError> {
        let request = libc::tpacket_req {
            tp_block_size: geometry.block as u32,
            tp_block_nr: geometry.blocks as u32,
            tp_frame_size: geometry.slot as u32,
            tp_frame_nr: geometry.slots() as u32,
        };
        let memory = map_ring(&socket, libc::tpacket_versions::TPACKET_V2 as i32, &request, &geometry)?;
        if large_frames {
            socket.set(libc::SOL_PACKET, libc::PACKET_COPY_THRESH, &1i32, "keeping large frames whole")?;
        }
        let large = vec![0; Slot::ROOM + if large_frames { LARGEST_FRAME } else { 0 }];
        let per_block = geometry.slots_per_block();
        Ok(SlotRing { memory, socket, geometry, turn: 0, at: 0, column: 0, per_block, large })
    }

    /// Hands over at most `limit` of the frames that are there, without waiting, and says how many there were.
    ///
    /// # Errors
    /// [`WireError::Input`] at a slot that is damaged; it goes back to the kernel.
    #[inline]
    pub fn read(&mut self, limit: u64, mut sink: impl FnMut(Received<'_>)) -> Result<u64, WireError> {
        let mut seen = 0;
        while seen < limit {
            let at = self.at;
            let ours = self.memory.word(at).load(Ordering::Acquire) & libc::TP_STATUS_USER != 0;
            if !ours {
                break;
            }
            // SAFETY: the kernel has handed the slot over, and leaves it alone until its status is set back below.
            let slot = unsafe { self.memory.bytes(at, self.geometry.slot) };
            let read = Slot::read(slot);
            match &read {
                Ok(header) if header.is_whole_elsewhere() => {
                    match whole(&self.socket, &mut self.large[Slot::ROOM..]) {
                        Some(length) => sink(header.elsewhere(&mut self.large, length)),
                        None => sink(header.frame(slot)),
                    }
                }
                Ok(header) => sink(header.frame(slot)),
                Err(_) => {}
            }
            self.memory.word(at).store(libc::TP_STATUS_KERNEL, Ordering::Release);
            self.advance();
            read.map_err(|damaged| {
                WireError::input(
                    "the kernel's ring",
                    damaged.to_string(),
                    "report it with the kernel's version",
                )
            })?;
            seen += 1;
        }
        Ok(seen)
    }

    /// To the next slot: a little further in most cases, without a division.
    #[inline]
    fn advance(&mut self) {
        self.turn += 1;
        self.column += 1;
        self.at += self.geometry.slot;
        if self.column == self.per_block {
            self.column = 0;
            self.turn %= self.geometry.slots();
            self.at = self.geometry.slot_at(self.turn);
        }
    }

    /// Whether a frame is there, or a slot that [`read`](SlotRing::read) finds damaged. Costs no system call.
    #[inline]
    pub fn has_some(&self) -> bool {
        self.memory.word(self.at).load(Ordering::Acquire) & libc::TP_STATUS_USER != 0
    }

    /// The socket.
    pub fn socket(&mut self) -> &mut PacketSocket {
        &mut self.socket
    }
}

impl AsFd for SlotRing {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// The next of the frames that wait at the socket because no slot could hold them: they come in the slots' order.
#[cold]
fn whole(socket: &PacketSocket, buffer: &mut [u8]) -> Option<usize> {
    let fd = socket.as_fd().as_raw_fd();
    // SAFETY: the kernel writes at most the length of `buffer`.
    let got = unsafe { libc::recv(fd, buffer.as_mut_ptr().cast(), buffer.len(), libc::MSG_DONTWAIT) };
    usize::try_from(got).ok()
}
