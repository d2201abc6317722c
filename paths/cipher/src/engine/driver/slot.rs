//! The parts of requests that are not their caller's: the fixed part, the IV, the status.

use tollway_virtio::{Area, Span};

use crate::engine::protocol::FIXED;

/// The longest IV.
pub(super) const LONGEST_IV: usize = 16;

/// Bytes of a cache line.
const LINE: usize = 64;

/// Bytes of a slot: two cache lines. What the device writes is in the one that its driver writes anew each time anyway.
pub(super) const SLOT: usize = 2 * LINE;

/// Where the status is in a slot.
const STATUS: usize = FIXED + LONGEST_IV;

/// No device writes this: what is there before it has written.
const UNWRITTEN: u8 = 0xff;

/// The slots of a queue.
#[derive(Debug)]
pub(super) struct Slots {
    area: Area,
    at: usize,
    /// Those that are free, and what is in each of the others.
    free: Vec<u16>,
    tokens: Vec<u64>,
}

impl Slots {
    /// So many, from a byte of the area on.
    pub(super) fn new(area: Area, at: usize, count: u16) -> Slots {
        Slots { area, at, free: (0..count).rev().collect(), tokens: vec![0; usize::from(count)] }
    }

    /// How many are free.
    pub(super) fn free(&self) -> usize {
        self.free.len()
    }

    fn place(&self, slot: u16) -> usize {
        self.at + SLOT * usize::from(slot)
    }

    /// Takes one for a request; None if there is none.
    #[inline]
    pub(super) fn fill(&mut self, token: u64, fixed: &[u8; FIXED], iv: &[u8]) -> Option<u16> {
        let slot = self.free.pop()?;
        self.tokens[usize::from(slot)] = token;
        let (first, rest) = fixed.split_at(LINE);
        let mut second = [0; STATUS + 1 - LINE];
        second[..rest.len()].copy_from_slice(rest);
        second[rest.len()..][..iv.len()].copy_from_slice(iv);
        second[STATUS - LINE] = UNWRITTEN;
        let place = self.place(slot);
        // From request to request most of the fixed part stays.
        let first: &[u8; LINE] = first.first_chunk()?;
        self.area.update(place, first);
        self.area.write(place + LINE, &second);
        Some(slot)
    }

    /// Where its parts are: fixed part, IV (which may be empty), status.
    #[inline]
    pub(super) fn parts(&self, slot: u16, iv: usize) -> [Span; 3] {
        let at = self.place(slot);
        let part = |from: usize, bytes: usize| Span { at: at + from, bytes: bytes as u32 };
        [part(0, FIXED), part(FIXED, iv), part(STATUS, 1)]
    }

    /// Frees one; its token, and the number that stands as its status.
    #[inline]
    pub(super) fn empty(&mut self, slot: u16) -> (u64, u8) {
        let mut status = [0];
        self.area.read(self.place(slot) + STATUS, &mut status);
        self.free.push(slot);
        (self.tokens[usize::from(slot)], status[0])
    }
}
