//! One buffer that a driver offers: its descriptors, copied once and checked, and how much of it has been used.

use virtio_bindings::bindings::virtio_ring::{VRING_DESC_F_INDIRECT, VRING_DESC_F_NEXT, VRING_DESC_F_WRITE};
use virtio_queue::desc::split::Descriptor;
use vm_memory::{Address, Bytes, GuestAddress, GuestMemoryBackend, GuestMemoryMmap, VolatileSlice};

use super::Refused;

/// Bytes of a descriptor (VIRTIO 1.2, 2.7.5).
const DESCRIPTOR: u64 = 16;

/// The most descriptors of an indirect table. By VIRTIO 1.2, 2.7.5.3.1, it is the queue's size; Linux's drivers go
/// beyond that, and QEMU's devices take as many as this.
const LONGEST_TABLE: u64 = 1024;

/// A run of bytes in the guest's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Where it begins, as the guest counts.
    pub address: GuestAddress,
    /// Its bytes; at least one.
    pub len: u32,
    /// Whether the device is to write there; else it may read there.
    pub writable: bool,
}

/// A buffer: readable pieces, then writable ones, all of them in the guest's memory. The vector is used again for the
/// next one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Chain {
    pub(super) head: u16,
    pieces: Vec<Piece>,
    readable: u64,
    writable: u64,
    /// The first writable piece that is not full.
    at: usize,
    /// Bytes written there.
    within: u32,
    written: u32,
}

impl Chain {
    /// The number under which it is given back.
    pub fn head(&self) -> u16 {
        self.head
    }

    /// All of its pieces.
    pub fn pieces(&self) -> &[Piece] {
        &self.pieces
    }

    /// Bytes that the device may read in all.
    pub fn readable(&self) -> u64 {
        self.readable
    }

    /// Bytes that the device may write in all.
    pub fn room(&self) -> u64 {
        self.writable
    }

    /// Bytes that [`fill`](Chain::fill) has written so far.
    pub fn written(&self) -> u32 {
        self.written
    }

    /// Bytes that may still be written.
    pub fn left(&self) -> u64 {
        self.writable - u64::from(self.written)
    }

    /// Whether there is nothing that the device may read.
    pub fn is_only_writable(&self) -> bool {
        self.pieces.iter().all(|piece| piece.writable)
    }

    /// Writes as much of `bytes` as there is room for, where the last call ended; how many.
    ///
    /// # Errors
    /// [`Refused::Outside`] if the memory is not there any more.
    pub fn fill(&mut self, memory: &GuestMemoryMmap, bytes: &[u8]) -> Result<usize, Refused> {
        let mut done = 0;
        while done < bytes.len() && self.at < self.pieces.len() {
            let piece = self.pieces[self.at];
            if !piece.writable {
                self.at += 1;
                continue;
            }
            let now = ((piece.len - self.within) as usize).min(bytes.len() - done);
            let outside = Refused::Outside { address: piece.address.raw_value(), len: piece.len };
            let address = piece.address.checked_add(u64::from(self.within)).ok_or(outside.clone())?;
            memory.write_slice(&bytes[done..done + now], address).map_err(|_| outside)?;
            done += now;
            self.within += now as u32;
            if self.within == piece.len {
                (self.at, self.within) = (self.at + 1, 0);
            }
        }
        // At most `writable`, which fits in 32 bits.
        self.written += done as u32;
        Ok(done)
    }

    /// Copies readable bytes, from the one with number `from` on.
    ///
    /// # Errors
    /// [`Refused::Short`] if there are not as many; [`Refused::Outside`] if the memory is not there any more.
    pub fn read(&self, memory: &GuestMemoryMmap, from: u64, into: &mut [u8]) -> Result<(), Refused> {
        let mut done = 0;
        self.each(memory, false, from, into.len() as u64, |slice| {
            let (now, rest) = (slice.len(), into.len() - done);
            slice.copy_to(&mut into[done..done + now.min(rest)]);
            done += now;
        })
    }

    /// Where these readable bytes are: so many from the one with number `from` on. The guest may change them at any time.
    ///
    /// # Errors
    /// As [`Chain::read`].
    pub fn source<'m>(
        &self,
        memory: &'m GuestMemoryMmap,
        from: u64,
        bytes: u64,
        into: &mut Vec<VolatileSlice<'m>>,
    ) -> Result<(), Refused> {
        self.each(memory, false, from, bytes, |slice| into.push(slice))
    }

    /// Where these writable bytes are: so many from the one with number `from` on.
    ///
    /// # Errors
    /// As [`Chain::read`].
    pub fn target<'m>(
        &self,
        memory: &'m GuestMemoryMmap,
        from: u64,
        bytes: u64,
        into: &mut Vec<VolatileSlice<'m>>,
    ) -> Result<(), Refused> {
        self.each(memory, true, from, bytes, |slice| into.push(slice))
    }

    /// Does something with each run of these bytes.
    fn each<'m>(
        &self,
        memory: &'m GuestMemoryMmap,
        writable: bool,
        from: u64,
        bytes: u64,
        mut act: impl FnMut(VolatileSlice<'m>),
    ) -> Result<(), Refused> {
        let (mut skip, mut left) = (from, bytes);
        for piece in self.pieces.iter().filter(|piece| piece.writable == writable) {
            if left == 0 {
                break;
            }
            let len = u64::from(piece.len);
            if skip >= len {
                skip -= len;
                continue;
            }
            let now = (len - skip).min(left);
            let outside = || Refused::Outside { address: piece.address.raw_value(), len: piece.len };
            let address = piece.address.checked_add(skip).ok_or_else(outside)?;
            let mut rest = now;
            // A piece may go over from one region of the memory to the next.
            for slice in memory.get_slices(address, now as usize) {
                let slice = slice.map_err(|_| outside())?;
                rest = rest.saturating_sub(slice.len() as u64);
                act(slice);
            }
            if rest > 0 {
                return Err(outside());
            }
            (skip, left) = (0, left - now);
        }
        if left > 0 { Err(Refused::Short { wanted: from + bytes, writable }) } else { Ok(()) }
    }

    /// Copies the chain that begins at `head` of the table at `table`; of its pieces the first `most`.
    pub(super) fn copy(
        &mut self,
        memory: &GuestMemoryMmap,
        table: GuestAddress,
        size: u16,
        head: u16,
        indirect: bool,
        most: usize,
    ) -> Result<(), Refused> {
        *self = Chain { head, pieces: std::mem::take(&mut self.pieces), ..Chain::default() };
        self.pieces.clear();
        let mut table = (table, u64::from(size));
        let mut at = head;
        let (mut in_indirect, mut seen) = (false, 0);
        let mut total = 0u32;
        loop {
            if u64::from(at) >= table.1 {
                return Err(Refused::DescriptorIndex(at));
            }
            if seen == table.1 {
                return Err(Refused::Loop);
            }
            seen += 1;
            let outside =
                Refused::Outside { address: table.0.raw_value(), len: (table.1 * DESCRIPTOR) as u32 };
            let place = table.0.checked_add(u64::from(at) * DESCRIPTOR).ok_or(outside.clone())?;
            let descriptor: Descriptor = memory.read_obj(place).map_err(|_| outside)?;
            let has = |flag: u32| u32::from(descriptor.flags()) & flag != 0;
            if has(VRING_DESC_F_INDIRECT) {
                if !indirect || in_indirect {
                    return Err(Refused::Indirect("it was not asked for there"));
                }
                if has(VRING_DESC_F_NEXT) {
                    return Err(Refused::Indirect("a descriptor comes after it"));
                }
                let entries = u64::from(descriptor.len()) / DESCRIPTOR;
                let whole = u64::from(descriptor.len()) % DESCRIPTOR == 0;
                if !whole || entries == 0 || entries > LONGEST_TABLE {
                    return Err(Refused::Indirect("it has no usable size"));
                }
                (table, at, in_indirect, seen) = ((descriptor.addr(), entries), 0, true, 0);
                continue;
            }
            total = self.add(memory, &descriptor, has(VRING_DESC_F_WRITE), total)?;
            if !has(VRING_DESC_F_NEXT) || self.pieces.len() >= most {
                return Ok(());
            }
            at = descriptor.next();
        }
    }

    fn add(
        &mut self,
        memory: &GuestMemoryMmap,
        descriptor: &Descriptor,
        writable: bool,
        total: u32,
    ) -> Result<u32, Refused> {
        let piece = Piece { address: descriptor.addr(), len: descriptor.len(), writable };
        if piece.len == 0 {
            return Err(Refused::Empty);
        }
        let total = total.checked_add(piece.len).ok_or(Refused::TooLong)?;
        if !writable && self.pieces.last().is_some_and(|last| last.writable) {
            return Err(Refused::Order);
        }
        if !memory.check_range(piece.address, piece.len as usize) {
            return Err(Refused::Outside { address: piece.address.raw_value(), len: piece.len });
        }
        *(if writable { &mut self.writable } else { &mut self.readable }) += u64::from(piece.len);
        self.pieces.push(piece);
        Ok(total)
    }
}
