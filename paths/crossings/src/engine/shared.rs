//! The page of memory that two ends share: a few words, each on cache lines of its own.
//!
//! Whoever is at the other end may write anything there at any time. So the page holds nothing but atomics, and no
//! value found in it is ever used as an address, an index or a length.

use std::ops::Deref;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicU32, AtomicU64};

use tollway_core::{Error, Result};
use tollway_host::shared::SharedPage;

/// The smallest page there is.
const PAGE: usize = 4096;

/// A word that shares its cache line with no other. Two lines wide: processors fetch lines in pairs.
#[derive(Debug, Default)]
#[repr(C, align(128))]
pub struct Line<T>(pub T);

impl<T> Deref for Line<T> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        &self.0
    }
}

/// The words of the page; all of them begin as zero.
#[derive(Debug, Default)]
#[repr(C)]
pub struct Board {
    /// What the caller asks.
    pub request: Line<AtomicU32>,
    /// What the server answers.
    pub reply: Line<AtomicU32>,
    /// Not zero once the exchange is over: for ends that spin on a word which the other end, or they themselves, could
    /// overwrite.
    pub over: Line<AtomicU32>,
    /// What both add to.
    pub sum: Line<AtomicU64>,
}

const _: () = assert!(size_of::<Board>() <= PAGE && align_of::<Board>() <= PAGE);

/// A [`Board`] mapped into this process.
#[derive(Debug)]
pub struct Shared(SharedPage);

impl Shared {
    /// A new board, and the descriptor by which another process maps it.
    pub fn create() -> Result<(Shared, OwnedFd)> {
        let page = SharedPage::new()?;
        let memory = page.as_fd().try_clone_to_owned();
        Ok((Shared(page), memory.map_err(|e| Error::system("sharing memory", e))?))
    }

    /// The board behind a descriptor that another process sent.
    pub fn adopt(memory: OwnedFd) -> Result<Shared> {
        SharedPage::from_fd(memory).map(Shared)
    }
}

impl Deref for Shared {
    type Target = Board;

    #[inline(always)]
    fn deref(&self) -> &Board {
        // SAFETY: the page is mapped readable and writable for as long as `self` lives, cannot be cut short, is aligned
        // to its size and not smaller than a board (asserted above). Every bit pattern is a board, and nobody accesses
        // its words but atomically.
        unsafe { &*self.0.as_ptr().cast::<Board>() }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering;

    use super::*;

    #[test]
    fn what_one_mapping_writes_the_other_reads() {
        let (here, memory) = Shared::create().unwrap();
        let there = Shared::adopt(memory).unwrap();
        here.request.store(7, Ordering::Release);
        there.sum.fetch_add(9, Ordering::Relaxed);
        assert_eq!(there.request.load(Ordering::Acquire), 7);
        assert_eq!(here.sum.load(Ordering::Relaxed), 9);
    }

    #[test]
    fn words_do_not_share_a_line() {
        let board = Board::default();
        let at = |word: *const AtomicU32| word as usize / 128;
        assert_ne!(at(&raw const *board.request), at(&raw const *board.reply));
        assert_ne!(at(&raw const *board.reply), at(&raw const *board.over));
    }
}
