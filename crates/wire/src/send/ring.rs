//! One system call a batch, whose frames lie in memory shared with the kernel: PACKET_TX_RING.
//!
//! Source of layout and statuses: Linux, Documentation/networking/packet_mmap.rst and linux/if_packet.h (TPACKET_V2). The
//! packet that the kernel makes refers to the slot's pages, which saves copying a long frame and costs more than copying
//! a short one: on a veth pair this way is about a tenth slower than send() (`examples/sending.rs`).

use std::io;
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

use super::outlet::{Fate, Outlet, Refusal};
use super::{Counts, SLOT, Transmit};
use crate::{Interface, WireError};

/// Bytes from one slot's header to the next one's.
const STEP: usize = 2048;
/// Slots of the ring.
const SLOTS: usize = 1024;
/// Where a frame begins in its slot: after the header, aligned (packet_mmap.rst: tp_hdrlen less the address).
const DATA: usize = size_of::<libc::tpacket2_hdr>();
/// Frames of a batch.
const BATCH: usize = 64;
/// Bytes of a block; the kernel allocates each in one piece.
const BLOCK: usize = 1 << 16;

const _: () = assert!(DATA + SLOT == STEP && (STEP * SLOTS).is_multiple_of(BLOCK));

/// Who has a slot; other bits of its status say where its time stamp came from.
const OWNER: u32 = libc::TP_STATUS_SEND_REQUEST | libc::TP_STATUS_SENDING | libc::TP_STATUS_WRONG_FORMAT;

/// Sends a batch of frames out of memory shared with the kernel.
///
/// What the device has no room for stays in the ring and is offered again with the next batch: then a refusal is a delay
/// and no loss.
#[derive(Debug)]
pub struct Ring {
    outlet: Outlet,
    start: NonNull<u8>,
    /// Frames committed since the ring was made; the next one's slot is this modulo the slots.
    committed: u64,
    /// Those that the kernel took, in order.
    taken: u64,
    flushed: u64,
    /// Why the kernel took no more when it was last offered some.
    why: Refusal,
    counts: Counts,
}

// SAFETY: the mapping belongs to the process, not to a thread.
unsafe impl Send for Ring {}

impl Ring {
    /// Opens a socket on the interface and shares a ring of 2 MiB with the kernel.
    ///
    /// # Errors
    /// [`WireError`] as of the other ways, or if the kernel has no memory for it.
    pub fn open(interface: &Interface) -> Result<Ring, WireError> {
        let outlet = Outlet::open(interface)?;
        let version = libc::tpacket_versions::TPACKET_V2 as i32;
        outlet.set(libc::PACKET_VERSION, &version, "asking for rings of version 2")?;
        let request = libc::tpacket_req {
            tp_block_size: BLOCK as u32,
            tp_block_nr: (STEP * SLOTS / BLOCK) as u32,
            tp_frame_size: STEP as u32,
            tp_frame_nr: SLOTS as u32,
        };
        outlet.set(libc::PACKET_TX_RING, &request, "making a ring to send from")?;
        let access = ProtFlags::READ | ProtFlags::WRITE;
        let flags = MapFlags::SHARED | MapFlags::POPULATE;
        // SAFETY: a new mapping at an address of the kernel's choice overlaps no memory that Rust knows of.
        let start = unsafe { mmap(ptr::null_mut(), STEP * SLOTS, access, flags, outlet.descriptor(), 0) }
            .map_err(io::Error::from)
            .and_then(|start| {
                NonNull::new(start.cast()).ok_or_else(|| io::Error::other("it is at address 0"))
            })
            .map_err(|error| WireError::system("mapping the ring to send from", error))?;
        let (why, counts) = (Refusal::NoBuffers, Counts::default());
        Ok(Ring { outlet, start, committed: 0, taken: 0, flushed: 0, why, counts })
    }

    fn at(&self, number: u64) -> *mut u8 {
        // SAFETY: the slot's number is below SLOTS, so its start is inside the mapping.
        unsafe { self.start.as_ptr().add(number as usize % SLOTS * STEP) }
    }

    /// The word by which a slot changes hands.
    fn status(&self, number: u64) -> &AtomicU32 {
        // SAFETY: the first word of a slot's header, aligned to 2048 bytes, mapped as long as `self` lives; the kernel
        // changes it, which atomics allow.
        unsafe { AtomicU32::from_ptr(self.at(number).cast()) }
    }

    fn owner(&self, number: u64) -> u32 {
        self.status(number).load(Ordering::Acquire) & OWNER
    }

    /// Counts what the kernel took since the last look. It takes slots in order.
    fn count(&mut self) -> Result<(), WireError> {
        while self.taken < self.committed {
            let owner = self.owner(self.taken);
            if owner & libc::TP_STATUS_SEND_REQUEST != 0 {
                break;
            }
            let length = self.length(self.taken);
            if owner & libc::TP_STATUS_WRONG_FORMAT != 0 {
                return Err(self.outlet.too_long(length));
            }
            self.counts.frames += 1;
            self.counts.bytes += length as u64;
            self.taken += 1;
        }
        Ok(())
    }

    fn length(&self, number: u64) -> usize {
        let header = self.at(number).cast::<libc::tpacket2_hdr>();
        // SAFETY: `at` is inside the mapping and aligned; of this word nobody else writes.
        unsafe { (&raw const (*header).tp_len).read() as usize }
    }
}

impl Transmit for Ring {
    #[inline]
    fn slot(&mut self) -> Option<&mut [u8]> {
        let full =
            self.committed - self.flushed >= BATCH as u64 || self.committed - self.taken >= SLOTS as u64;
        if full || self.owner(self.committed) != libc::TP_STATUS_AVAILABLE {
            return None;
        }
        // SAFETY: STEP bytes of the mapping belong to the slot, DATA + SLOT of them are used; the status says that they are
        // this side's, and `&mut self` keeps this side's others away.
        Some(unsafe { std::slice::from_raw_parts_mut(self.at(self.committed).add(DATA), SLOT) })
    }

    #[inline]
    fn commit(&mut self, length: usize) {
        assert!(
            length <= SLOT && self.owner(self.committed) == libc::TP_STATUS_AVAILABLE,
            "a frame of {length} bytes has no slot"
        );
        let header = self.at(self.committed).cast::<libc::tpacket2_hdr>();
        // SAFETY: inside the mapping, aligned, and this side's until the status changes below.
        unsafe { (&raw mut (*header).tp_len).write(length as u32) };
        self.status(self.committed).store(libc::TP_STATUS_SEND_REQUEST, Ordering::Release);
        self.committed += 1;
    }

    fn flush(&mut self) -> Result<(), WireError> {
        self.flushed = self.committed;
        self.count()?;
        while self.taken < self.committed {
            self.counts.calls += 1;
            // SAFETY: no buffer: the frames are in the ring.
            let sent = unsafe { libc::send(self.outlet.raw(), ptr::null(), 0, libc::MSG_DONTWAIT) };
            if sent >= 0 {
                break;
            }
            let length = self.length(self.taken);
            match self.outlet.judge(length)? {
                Fate::AskAgain => {}
                Fate::Refused(why) => {
                    self.counts.put_off += 1;
                    self.why = why;
                    break;
                }
            }
        }
        self.count()
    }

    /// What still waits in the ring was refused so far.
    fn counts(&self) -> Counts {
        let mut counts = self.counts;
        counts.refuse(self.flushed - self.taken, self.why);
        counts
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: exactly the mapping made in `open`; slots borrow `self` and are gone.
        let _ = unsafe { munmap(self.start.as_ptr().cast(), STEP * SLOTS) };
    }
}
