//! Futexes on which nobody sleeps: what a lock costs that goes to the kernel for nothing.
//!
//! Private ones are those of locks within a process, as C libraries and Rust make them; shared ones have to find out which page
//! is behind the address.

use std::sync::atomic::AtomicU32;

use rustix::io::Errno;
use rustix::thread::futex::{self, Flags};
use tollway_core::Result;

use super::{IN_A_ROW, Row, Single};

/// What the word holds, and never another value.
const HELD: u32 = 1;

pub(super) fn wake(_: usize, row: Row) -> Result<Box<dyn Single>> {
    Ok(Box::new(Wake(Word::new(Flags::PRIVATE, row))))
}

pub(super) fn wake_shared(_: usize, row: Row) -> Result<Box<dyn Single>> {
    Ok(Box::new(Wake(Word::new(Flags::empty(), row))))
}

pub(super) fn wait(_: usize, row: Row) -> Result<Box<dyn Single>> {
    Ok(Box::new(Wait(Word::new(Flags::PRIVATE, row))))
}

pub(super) fn wait_shared(_: usize, row: Row) -> Result<Box<dyn Single>> {
    Ok(Box::new(Wait(Word::new(Flags::empty(), row))))
}

struct Word {
    word: Box<AtomicU32>,
    flags: Flags,
    row: u32,
}

impl Word {
    fn new(flags: Flags, row: Row) -> Word {
        Word { word: Box::new(AtomicU32::new(HELD)), flags, row: row.of(IN_A_ROW) }
    }
}

/// FUTEX_WAKE where nobody waits.
struct Wake(Word);

impl Single for Wake {
    fn count(&self) -> u32 {
        self.0.row
    }

    #[inline]
    fn calls(&mut self) -> u32 {
        (0..self.0.row).map(|_| u32::from(futex::wake(&self.0.word, self.0.flags, 1) == Ok(0))).sum()
    }
}

/// FUTEX_WAIT for a change that has come already: it returns at once with EAGAIN.
struct Wait(Word);

impl Single for Wait {
    fn count(&self) -> u32 {
        self.0.row
    }

    #[inline]
    fn calls(&mut self) -> u32 {
        let Word { word, flags, row } = &self.0;
        (0..*row).map(|_| u32::from(futex::wait(word, *flags, HELD + 1, None) == Err(Errno::AGAIN))).sum()
    }
}
