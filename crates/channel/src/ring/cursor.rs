//! How far an end has come in a ring: the place of the next entry, and the lap.

use core::ops::Range;

use super::atomic::{AtomicU64, Ordering};
use super::entry::Entry;

/// The place of the next entry of a ring, to be written or to be read.
///
/// Memory is zero at first and the first lap is 1. Laps begin at 0 again after 65535, when each entry has that of the lap before; so an entry is
/// never taken for one of another lap.
#[derive(Clone, Debug)]
pub struct Cursor {
    /// The ring's words.
    ring: Range<usize>,
    at: usize,
    /// What stands in entries are the low 16 bits of it.
    lap: u64,
}

impl Cursor {
    /// At the beginning of the ring that these words are.
    pub fn new(ring: Range<usize>) -> Cursor {
        Cursor { at: ring.start, ring, lap: 1 }
    }

    /// Writes the next entry. What was written to its message before is seen by whoever sees it.
    #[inline]
    pub fn write(&mut self, words: &[AtomicU64], entry: Entry) {
        words[self.at].store(entry.word(self.lap as u16), Ordering::Release);
        self.advance();
    }

    /// The next entry, if it is there.
    #[inline]
    pub fn read(&mut self, words: &[AtomicU64]) -> Option<Entry> {
        let entry = Entry::of(words[self.at].load(Ordering::Acquire), self.lap as u16)?;
        self.advance();
        Some(entry)
    }

    /// Where the next entry will be.
    #[inline]
    pub fn next<'a>(&self, words: &'a [AtomicU64]) -> Next<'a> {
        Next { word: &words[self.at], lap: self.lap as u16 }
    }

    /// How far it has come in all: never the same twice.
    #[inline]
    pub fn place(&self) -> u64 {
        self.lap * self.ring.len() as u64 + (self.at - self.ring.start) as u64
    }

    #[inline]
    fn advance(&mut self) {
        self.at += 1;
        if self.at == self.ring.end {
            self.at = self.ring.start;
            self.lap += 1;
        }
    }
}

/// Where the next entry will be, for who looks again and again: until that is read.
#[derive(Clone, Copy, Debug)]
pub struct Next<'a> {
    word: &'a AtomicU64,
    lap: u16,
}

impl Next<'_> {
    /// Whether it is there.
    #[inline]
    pub fn is_there(self) -> bool {
        Entry::of(self.word.load(Ordering::Acquire), self.lap).is_some()
    }
}
