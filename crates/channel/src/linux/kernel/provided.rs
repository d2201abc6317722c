//! Pieces of memory from which the kernel chooses one for what has arrived, so that a connection that is silent has none.
//!
//! Pieces are given by a ring of entries that both share (io_uring_register(2), IORING_REGISTER_PBUF_RING; Linux 5.19): 16 bytes each, and in the first one's
//! last 16 bits how many were ever given.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::io;
use std::ops::Deref;
use std::rc::Rc;
use std::sync::atomic::{AtomicU16, Ordering};
use std::task::Waker;

use io_uring::IoUring;
use io_uring::types::BufRingEntry;
use tollway_core::Result;

use super::memory::Mapping;

/// The pieces of a ring.
pub(super) struct Pool {
    entries: Mapping,
    memory: Mapping,
    /// A power of two.
    count: u16,
    bytes: u32,
    /// How many were ever given, modulo 2^16.
    given: Cell<u16>,
    /// How many the kernel has.
    there: Cell<u32>,
    /// Who waits for any of them to be given back.
    waiting: RefCell<VecDeque<Waker>>,
}

impl Pool {
    /// The kernel's name of it: there is one.
    pub const GROUP: u16 = 0;

    /// The most pieces (io_uring_register(2): 32768 entries).
    pub const MOST: usize = 1 << 15;

    /// So many, a power of two, of so many bytes each; the kernel has none of them yet.
    pub fn new(count: usize, bytes: usize) -> Result<Pool> {
        Ok(Pool {
            entries: Mapping::new(count * size_of::<BufRingEntry>())?,
            memory: Mapping::new(count * bytes)?,
            count: count as u16,
            bytes: bytes as u32,
            given: 0.into(),
            there: 0.into(),
            waiting: RefCell::default(),
        })
    }

    /// Tells the kernel of it and gives it all.
    pub fn register(&self, ring: &IoUring) -> io::Result<()> {
        let start = self.entries.start().as_ptr() as u64;
        // SAFETY: mapped pages of `count` entries, which live as long as this, and this as long as the ring has operations.
        unsafe { ring.submitter().register_buf_ring_with_flags(start, self.count, Pool::GROUP, 0) }?;
        (0..self.count).for_each(|piece| self.gives(piece));
        Ok(())
    }

    /// The kernel may have that piece, which nobody reads any more.
    pub fn gives(&self, piece: u16) {
        let given = self.given.get();
        let first = self.entries.start().as_ptr().cast::<BufRingEntry>();
        let at = usize::from(given & (self.count - 1));
        // SAFETY: within the mapping. The kernel reads entries up to the count that is stored below only, and this one is not among them.
        // Of the first entry the setters leave the last 16 bits alone, where that count stands.
        let entry = unsafe { &mut *first.add(at) };
        entry.set_addr(self.start(piece) as u64);
        entry.set_len(self.bytes);
        entry.set_bid(piece);
        self.given.set(given.wrapping_add(1));
        self.there.set(self.there.get() + 1);
        // SAFETY: the first entry begins at a page; the kernel reads the count at any time, so it is an atomic here.
        let count = unsafe { AtomicU16::from_ptr(BufRingEntry::tail(first).cast_mut()) };
        count.store(given.wrapping_add(1), Ordering::Release);
        // Each of those that wait now; who joins meanwhile waits for the next.
        let waiting = self.waiting.borrow().len();
        for _ in 0..waiting {
            let waker = self.waiting.borrow_mut().pop_front();
            waker.into_iter().for_each(Waker::wake);
        }
    }

    /// The kernel says that it has filled one.
    pub fn filled(&self) {
        self.there.set(self.there.get() - 1);
    }

    /// One that the kernel has filled, as far as that.
    pub fn takes(self: &Rc<Pool>, index: u16, len: usize) -> Piece {
        Piece { pool: self.clone(), index, len: len.min(self.bytes as usize) }
    }

    /// Whether the kernel has any.
    pub fn has_some(&self) -> bool {
        self.there.get() > 0
    }

    /// Is woken when one is given back: once, however often it has asked.
    pub fn waits(&self, waker: &Waker) {
        if !self.waiting.borrow().iter().any(|waiting| waiting.will_wake(waker)) {
            let waker = waker.clone();
            self.waiting.borrow_mut().push_back(waker);
        }
    }

    /// Who waits for one to be given back, and does not any more.
    pub fn waiting(&self) -> VecDeque<Waker> {
        self.waiting.take()
    }

    fn start(&self, piece: u16) -> *mut u8 {
        self.memory.start().as_ptr().wrapping_add(usize::from(piece) * self.bytes as usize)
    }
}

/// What has arrived, in a piece of the ring's memory that goes back to the kernel when this is dropped.
pub struct Piece {
    pool: Rc<Pool>,
    index: u16,
    len: usize,
}

impl core::fmt::Debug for Piece {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Piece").field("index", &self.index).field("len", &self.len).finish_non_exhaustive()
    }
}

impl Deref for Piece {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: within the mapping, which `self` keeps; the kernel does not write it before it is given back, and others have other pieces.
        unsafe { std::slice::from_raw_parts(self.pool.start(self.index), self.len) }
    }
}

impl Drop for Piece {
    fn drop(&mut self) {
        self.pool.gives(self.index);
    }
}
