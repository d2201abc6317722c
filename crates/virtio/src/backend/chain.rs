//! One buffer that a driver offers: its descriptors, copied once and checked, and how much of it has been used.

use vm_memory::{Address, GuestAddress, VolatileSlice};

use super::{Memory, Refused};
use crate::area::Area;
use crate::descriptor::{DESCRIPTOR, Descriptor, INDIRECT, NEXT, WRITE};

/// The most descriptors of an indirect table: as many as `next`, which has 16 bits, can number. By VIRTIO
/// 1.2, 2.7.5.3.1, it is the queue's size. Linux's drivers go beyond that: `virtio_crypto` makes n (n + 1) /
/// 2 of the n pages of a source, and as many of a result, so that 128 KiB have 1059. QEMU's devices take
/// 1024, and give the whole device up beyond.
const MAX_TABLE_ENTRIES: u64 = 1 << 16;

/// Pieces that a chain keeps room for between buffers: as many as Linux's driver makes of 208 KiB, which is
/// what a socket of AF_ALG holds unless told otherwise.
const KEPT_PIECES: usize = 4096;

/// Descriptors of a table beyond which no piece's first bytes are fetched ahead: of many a device needs few at
/// once, and each costs a look into the page tables.
const MAX_FETCHED: u64 = 64;

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
    /// How many pieces are readable: those come first.
    readables: usize,
    /// The first writable piece that is not full, counted from the first of them.
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
        self.readables == 0
    }

    /// Gives back the memory that a buffer of unusually many pieces took: for a device that has served a
    /// peer, and keeps the chain until it serves it again. A tenant can have a chain grow to a MiB.
    pub fn shrink(&mut self) {
        *self = Chain { pieces: std::mem::take(&mut self.pieces), ..Chain::default() };
        self.pieces.clear();
        self.pieces.shrink_to(KEPT_PIECES);
    }

    /// Writes as much of `bytes` as there is room for, where the last call ended; how many.
    ///
    /// # Errors
    /// [`Refused::Outside`] if the memory is not there any more.
    pub fn fill(&mut self, memory: &Memory, bytes: &[u8]) -> Result<usize, Refused> {
        let mut done = 0;
        while let Some(piece) = self.pieces.get(self.readables + self.at).filter(|_| done < bytes.len()) {
            let now = ((piece.len - self.within) as usize).min(bytes.len() - done);
            let mut rest = &bytes[done..done + now];
            let there = memory.each(piece.address.raw_value() + u64::from(self.within), now, |slice| {
                slice.copy_from(rest);
                rest = &rest[slice.len()..];
            });
            if !there {
                return Err(piece.outside());
            }
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
    pub fn read(&self, memory: &Memory, from: u64, into: &mut [u8]) -> Result<(), Refused> {
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
        memory: &'m Memory,
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
        memory: &'m Memory,
        from: u64,
        bytes: u64,
        into: &mut Vec<VolatileSlice<'m>>,
    ) -> Result<(), Refused> {
        self.each(memory, true, from, bytes, |slice| into.push(slice))
    }

    /// Does something with each run of these bytes.
    #[inline]
    fn each<'m>(
        &self,
        memory: &'m Memory,
        writable: bool,
        from: u64,
        bytes: u64,
        mut act: impl FnMut(VolatileSlice<'m>),
    ) -> Result<(), Refused> {
        let (readable, others) = self.pieces.split_at(self.readables);
        let (mut skip, mut left) = (from, bytes);
        for piece in if writable { others } else { readable } {
            if left == 0 {
                break;
            }
            let len = u64::from(piece.len);
            if skip >= len {
                skip -= len;
                continue;
            }
            let now = (len - skip).min(left);
            // Within a piece, which was checked.
            if !memory.each(piece.address.raw_value() + skip, now as usize, &mut act) {
                return Err(piece.outside());
            }
            (skip, left) = (0, left - now);
        }
        if left > 0 { Err(Refused::Short { wanted: from.saturating_add(bytes), writable }) } else { Ok(()) }
    }

    /// Copies the chain that begins at `head` of a table of `size` descriptors; of its pieces the first `most`.
    #[inline]
    pub(super) fn copy(
        &mut self,
        memory: &Memory,
        table: &Area,
        size: u16,
        head: u16,
        indirect: bool,
        most: usize,
    ) -> Result<(), Refused> {
        *self = Chain { head, pieces: std::mem::take(&mut self.pieces), ..Chain::default() };
        self.pieces.clear();
        let (mut at, mut seen) = (head, 0);
        loop {
            step(at, &mut seen, size.into())?;
            let descriptor = table.descriptor(DESCRIPTOR * usize::from(at));
            if descriptor.has(INDIRECT) {
                let refused = match (indirect, descriptor.has(NEXT)) {
                    (false, _) => "it was not asked for there",
                    (true, true) => "a descriptor comes after it",
                    (true, false) => return self.copy_indirect(memory, &descriptor, most),
                };
                return Err(Refused::Indirect(refused));
            }
            match self.add::<true>(memory, &descriptor, most)? {
                Some(next) => at = next,
                None => return Ok(()),
            }
        }
    }

    /// The same of an indirect table, which is wherever its descriptor says (2.7.5.3).
    #[inline]
    fn copy_indirect(&mut self, memory: &Memory, table: &Descriptor, most: usize) -> Result<(), Refused> {
        let entries = u64::from(table.bytes) / DESCRIPTOR as u64;
        if entries == 0 || !(table.bytes as usize).is_multiple_of(DESCRIPTOR) {
            return Err(Refused::Indirect("its bytes are none, or no whole descriptors"));
        }
        if entries > MAX_TABLE_ENTRIES {
            return Err(Refused::Indirect(
                "it has more than 65536 descriptors, and `next` can number no more",
            ));
        }
        match entries > MAX_FETCHED {
            true => self.walk::<false>(memory, table, entries, most),
            false => self.walk::<true>(memory, table, entries, most),
        }
    }

    /// Copies the chain of a table of so many descriptors. `FETCH`: whether the processor is to fetch what it
    /// names.
    #[inline]
    fn walk<const FETCH: bool>(
        &mut self,
        memory: &Memory,
        table: &Descriptor,
        entries: u64,
        most: usize,
    ) -> Result<(), Refused> {
        let (mut at, mut seen) = (0, 0);
        loop {
            step(at, &mut seen, entries)?;
            let place = table.address.checked_add(DESCRIPTOR as u64 * u64::from(at));
            let found = place.and_then(|place| memory.descriptor(place));
            let descriptor = found.ok_or(Refused::Outside { address: table.address, len: table.bytes })?;
            if descriptor.has(INDIRECT) {
                return Err(Refused::Indirect("it was not asked for there"));
            }
            match self.add::<FETCH>(memory, &descriptor, most)? {
                Some(next) => at = next,
                None => return Ok(()),
            }
        }
    }

    /// Adds a piece; the number of the next descriptor, if there is one that is wanted.
    #[inline]
    fn add<const FETCH: bool>(
        &mut self,
        memory: &Memory,
        descriptor: &Descriptor,
        most: usize,
    ) -> Result<Option<u16>, Refused> {
        let writable = descriptor.has(WRITE);
        let piece = Piece { address: GuestAddress(descriptor.address), len: descriptor.bytes, writable };
        let len = u64::from(piece.len);
        if len == 0 {
            return Err(Refused::Empty { head: self.head, piece: self.pieces.len() + 1 });
        }
        if self.readable + self.writable + len > u64::from(u32::MAX) {
            return Err(Refused::TooLong(self.head));
        }
        if !writable && self.writable > 0 {
            return Err(Refused::Order { head: self.head, piece: self.pieces.len() + 1 });
        }
        if !memory.holds::<FETCH>(descriptor.address, piece.len as usize) {
            return Err(piece.outside());
        }
        if writable {
            self.writable += len;
        } else {
            self.readable += len;
            self.readables += 1;
        }
        self.pieces.push(piece);
        Ok((descriptor.has(NEXT) && self.pieces.len() < most).then_some(descriptor.next))
    }
}

impl Piece {
    #[cold]
    fn outside(&self) -> Refused {
        Refused::Outside { address: self.address.raw_value(), len: self.len }
    }
}

/// Whether a table of so many descriptors has one with that number, and not as many of it were seen before.
#[inline]
fn step(at: u16, seen: &mut u64, entries: u64) -> Result<(), Refused> {
    if u64::from(at) >= entries {
        return Err(Refused::DescriptorIndex(at));
    }
    if *seen == entries {
        return Err(Refused::Loop(at));
    }
    *seen += 1;
    Ok(())
}

#[cfg(test)]
mod tests;
