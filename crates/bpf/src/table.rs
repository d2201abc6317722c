//! An array of words that programs in the kernel and this process have in their memory at once.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

use crate::{Map, MapKind};

/// The array can be mapped (`BPF_F_MMAPABLE`, linux/bpf.h).
const MAPPABLE: u32 = 1 << 10;

/// An array of rows of words of 64 bits, by number of the row. Programs see it as a map of kind [`Array`](MapKind::Array).
#[derive(Debug)]
pub struct Table {
    map: Map,
    words: NonNull<AtomicU64>,
    rows: usize,
    width: usize,
}

// SAFETY: the words are atomic, and the mapping belongs to no thread.
unsafe impl Send for Table {}
// SAFETY: as above.
unsafe impl Sync for Table {}

impl Table {
    /// With so many rows of so many bytes, rounded up to whole words; all are 0.
    ///
    /// # Errors
    /// The kernel has no such map (it has since Linux 5.5), not so much memory, or this process may not make one.
    pub fn new(bytes: usize, rows: u32) -> io::Result<Table> {
        let width = bytes.div_ceil(8);
        let map = Map::with(MapKind::Array, 4, width * 8, rows, MAPPABLE)?;
        let rows = rows as usize;
        // SAFETY: a new mapping at an address of the kernel's choice.
        let address = unsafe {
            mmap(
                ptr::null_mut(),
                rows * width * 8,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::SHARED,
                map.as_fd(),
                0,
            )?
        };
        let words = NonNull::new(address.cast()).ok_or(io::ErrorKind::InvalidData)?;
        Ok(Table { map, words, rows, width })
    }

    /// A row, as it is at this moment: word by word.
    ///
    /// # Panics
    /// If there is no such row.
    pub fn row(&self, row: u32) -> Vec<u64> {
        (0..self.width).map(|word| self.word(row, word).load(Ordering::Relaxed)).collect()
    }

    /// Sets a word of a row.
    ///
    /// # Panics
    /// If there is none.
    pub fn set(&self, row: u32, word: usize, value: u64) {
        self.word(row, word).store(value, Ordering::Relaxed);
    }

    /// A word of a row.
    ///
    /// # Panics
    /// If there is none.
    pub fn get(&self, row: u32, word: usize) -> u64 {
        self.word(row, word).load(Ordering::Relaxed)
    }

    /// A row in this process' memory: what programs write is there at once.
    ///
    /// # Panics
    /// If there is no such row.
    pub fn words(&self, row: u32) -> &[AtomicU64] {
        assert!((row as usize) < self.rows, "the table has {} rows", self.rows);
        // SAFETY: the row lies within the mapping, which lives as long as this; the kernel's programs write whole aligned words.
        unsafe { std::slice::from_raw_parts(self.words.as_ptr().add(row as usize * self.width), self.width) }
    }

    fn word(&self, row: u32, word: usize) -> &AtomicU64 {
        assert!(
            (row as usize) < self.rows && word < self.width,
            "the table has {} rows of {} words",
            self.rows,
            self.width
        );
        // SAFETY: the word lies within the mapping, which lives as long as this; the kernel's programs write whole aligned words.
        unsafe { self.words.add(row as usize * self.width + word).as_ref() }
    }
}

impl AsFd for Table {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.map.as_fd()
    }
}

impl Drop for Table {
    fn drop(&mut self) {
        // SAFETY: it is what was mapped, and no reference to it outlives this.
        let _ = unsafe { munmap(self.words.as_ptr().cast(), self.rows * self.width * 8) };
    }
}
