//! Memory taken and given back, call by call: each populates pages (MADV_POPULATE_WRITE, madvise(2)) or gives them back (MADV_DONTNEED), in turns.
//!
//! ```text
//!   calls   synchronous calls, one after the other
//!   tasks   the same calls asked of io_uring, a task for each that is on its way
//! ```
//!
//! What a call has done shows in the pages: those that were populated are all zero, although somebody had written to them before they were given
//! back. That populated pages are there and given-back ones are not, is asked of the kernel ([`Memory::proves`]).

pub mod calls;
pub mod tasks;

use std::io;
use std::ops::Range;
use std::sync::atomic::Ordering;

use tollway_channel::linux::kernel::{Advice, Pages};
use tollway_core::{Error, Missing, Result};

use super::ping_pong::{Loss, Outcome};

/// Bytes of a page: x86-64 has no smaller ones (AMD64 Architecture Programmer's Manual volume 2, section 5.1).
pub const PAGE: usize = 4096;

/// Memory of several users, each of whom takes and gives back a part of its own.
#[derive(Clone)]
pub struct Memory {
    pages: Pages,
    bytes: usize,
}

/// What one user does next, and whether it was done rightly.
#[derive(Clone, Copy, Debug)]
pub struct User {
    number: usize,
    turn: u64,
}

impl Memory {
    /// For so many users, each with so many bytes: whole pages.
    ///
    /// # Errors
    /// [`Error::Input`] for other than whole pages, or more than can be mapped; [`Error::System`] if the kernel refuses.
    pub fn new(users: usize, bytes: usize) -> Result<Memory> {
        if bytes == 0 || !bytes.is_multiple_of(PAGE) {
            return Err(Error::Input {
                place: format!("{bytes} bytes of memory of each call"),
                reason: format!("pages of {PAGE} bytes are taken and given back whole"),
                remedy: format!("take a multiple of {PAGE}"),
            });
        }
        Ok(Memory { pages: Pages::new(users.max(1) * bytes)?, bytes })
    }

    /// All of it.
    pub fn pages(&self) -> &Pages {
        &self.pages
    }

    /// The user of that number, who has nothing yet.
    pub fn user(&self, number: usize) -> User {
        User { number, turn: 0 }
    }

    fn part(&self, user: usize) -> Range<usize> {
        user * self.bytes..(user + 1) * self.bytes
    }

    /// Whether both calls do what they are for, by mincore(2): the first user's pages are there after the one, and not after the other.
    ///
    /// # Errors
    /// [`Error::Wrong`] if they do not; [`Error::System`] if the kernel refuses.
    pub fn proves(&self, mut advise: impl FnMut(Range<usize>, Advice) -> io::Result<()>) -> Result<()> {
        for (advice, expected) in [(Advice::PopulateWrite, true), (Advice::DontNeed, false)] {
            advise(self.part(0), advice).map_err(|error| refused(&error))?;
            let there = self.resident(0).map_err(|e| Error::system("asking which pages are in memory", e))?;
            if there.iter().any(|there| *there != expected) {
                return Err(Error::Wrong(format!("after {advice:?} of {} pages: {there:?}", there.len())));
            }
        }
        Ok(())
    }

    /// Which pages of a user are in memory.
    fn resident(&self, user: usize) -> io::Result<Vec<bool>> {
        let part = self.part(user);
        let mut there = vec![0u8; part.len() / PAGE];
        // SAFETY: the pages are mapped for as long as `self` lives, and `there` has a byte for each of them.
        let told = unsafe {
            libc::mincore(self.pages.as_ptr().add(part.start).cast(), part.len(), there.as_mut_ptr())
        };
        if told == 0 {
            Ok(there.iter().map(|byte| byte & 1 == 1).collect())
        } else {
            Err(io::Error::last_os_error())
        }
    }
}

impl User {
    /// What it asks for next.
    #[inline]
    pub fn asks(&self, memory: &Memory) -> (Range<usize>, Advice) {
        let advice = if self.turn.is_multiple_of(2) { Advice::PopulateWrite } else { Advice::DontNeed };
        (memory.part(self.number), advice)
    }

    /// It has what it asked for: whether rightly. What was populated it writes to.
    #[inline]
    pub fn has(&mut self, memory: &Memory) -> bool {
        let is_populated = self.turn.is_multiple_of(2);
        self.turn += 1;
        if !is_populated {
            return true;
        }
        let words = &memory.pages.words()[memory.part(self.number).start / 8..][..memory.bytes / 8];
        words.iter().step_by(PAGE / 8).fold(true, |fresh, word| {
            // Nobody else writes here.
            let was = word.load(Ordering::Relaxed);
            word.store(self.turn, Ordering::Relaxed);
            fresh & (was == 0)
        })
    }
}

/// Nothing, if calls were made until the course said that it was enough.
///
/// # Errors
/// [`Error::Missing`] if the kernel does not know what it was asked for; others if it refused, or its ring ended.
pub fn lasted(outcome: &Outcome) -> Result<()> {
    match outcome.lost {
        None => Ok(()),
        Some(Loss::Kernel(errno)) => Err(refused(&io::Error::from_raw_os_error(errno))),
        Some(lost) => Err(Error::Wrong(lost.to_string())),
    }
}

/// Why the kernel does not do it.
fn refused(error: &io::Error) -> Error {
    match error.raw_os_error() {
        Some(libc::EINVAL) => Error::Missing(Missing::new(
            "MADV_POPULATE_WRITE",
            "this kernel's madvise does not know it",
            "use Linux 5.14 or later",
        )),
        _ => Error::system("taking or giving back memory", error),
    }
}
