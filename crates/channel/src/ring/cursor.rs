//! How far an end has come in a ring: the place of the next entry, and the lap.

use super::atomic::{AtomicU64, Ordering};
use super::entry::Entry;

/// The place of the next entry, to be written or to be read.
///
/// Memory is zero at first and the first lap is 1. Laps begin at 0 again after 65535, when each entry has that of the lap before; so an entry is
/// never taken for one of another lap.
#[derive(Clone, Debug)]
pub struct Cursor {
    at: usize,
    /// What stands in entries are the low 16 bits of it.
    lap: u64,
}

impl Cursor {
    /// At the beginning.
    pub fn new() -> Cursor {
        Cursor { at: 0, lap: 1 }
    }

    /// Writes the next entry. What was written to its message before is seen by whoever sees it.
    #[inline]
    pub fn write(&mut self, ring: &[AtomicU64], entry: Entry) {
        ring[self.at].store(entry.word(self.lap as u16), Ordering::Release);
        self.advance(ring.len());
    }

    /// The next entry, if it is there.
    #[inline]
    pub fn read(&mut self, ring: &[AtomicU64]) -> Option<Entry> {
        let entry = Entry::of(ring[self.at].load(Ordering::Acquire), self.lap as u16)?;
        self.advance(ring.len());
        Some(entry)
    }

    /// Whether the next entry is there.
    #[inline]
    pub fn is_ahead(&self, ring: &[AtomicU64]) -> bool {
        Entry::of(ring[self.at].load(Ordering::Acquire), self.lap as u16).is_some()
    }

    /// How far it has come in all, in a ring of so many entries: never the same twice.
    #[inline]
    pub fn place(&self, len: usize) -> u64 {
        self.lap * len as u64 + self.at as u64
    }

    #[inline]
    fn advance(&mut self, len: usize) {
        self.at += 1;
        if self.at == len {
            self.at = 0;
            self.lap += 1;
        }
    }
}
