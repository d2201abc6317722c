//! Synchronous calls, one after the other.

use std::io;
use std::ops::Range;

use rustix::mm;
use tollway_channel::linux::kernel::Advice;

use super::Memory;
use crate::engine::ping_pong::{Course, Loss, Outcome};

/// Has the kernel do it (madvise(2)).
///
/// # Errors
/// What the kernel says.
///
/// # Panics
/// If there is no such part.
#[inline]
pub fn advise(memory: &Memory, part: Range<usize>, advice: Advice) -> io::Result<()> {
    let pages = memory.pages();
    assert!(part.start <= part.end && part.end <= pages.len(), "{part:?} is not in {} bytes", pages.len());
    let advice = match advice {
        Advice::PopulateWrite => mm::Advice::LinuxPopulateWrite,
        Advice::DontNeed => mm::Advice::LinuxDontNeed,
    };
    // SAFETY: the part is within pages that are mapped for as long as `memory` lives, and read and written by atomics only, as they may become zero.
    Ok(unsafe { mm::madvise(pages.as_ptr().add(part.start).cast(), part.len(), advice) }?)
}

/// Takes and gives back until the course says that it is enough.
pub fn ask(memory: &Memory, course: &mut impl Course) -> Outcome {
    let mut outcome = Outcome::default();
    let mut user = memory.user(0);
    loop {
        let began = course.begins();
        outcome.asked += 1;
        let (part, advice) = user.asks(memory);
        if let Err(error) = advise(memory, part, advice) {
            return Outcome { lost: Some(Loss::Kernel(error.raw_os_error().unwrap_or_default())), ..outcome };
        }
        outcome.done += 1;
        outcome.wrong += u64::from(!user.has(memory));
        if !course.came(began, || outcome.done) {
            return outcome;
        }
    }
}
