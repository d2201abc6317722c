//! How an end sleeps until it is its turn, and is told that the other end is gone.
//!
//! It sleeps by two [words](crate::linux::words) at once: the turn, which the other end changes and wakes by, and one of its own process, by which a thread
//! that watches the socket between the ends tells it that the other is gone.

use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use tollway_core::{Clock, Result};
use tollway_host::clock::RunClock;
use tollway_host::watch::Watch;

use super::waiting::Sleeper;
use crate::atomic::AtomicU64;
use crate::linux::words;
use crate::wait::Gone;

/// Where an end waits for its turn.
pub struct Futex {
    clock: RunClock,
    /// 1 if the other end is gone.
    is_gone: Arc<AtomicU32>,
    /// Whether it sleeps by both words, as the kernel can.
    by_two: bool,
    _watch: Watch,
}

impl Futex {
    /// Over the socket to the other end.
    ///
    /// # Errors
    /// [`Error::System`](tollway_core::Error::System) if there can be no thread that watches it.
    pub fn over(link: &UnixStream) -> Result<Futex> {
        let is_gone = Arc::new(AtomicU32::new(0));
        let release = {
            let is_gone = is_gone.clone();
            move || {
                is_gone.store(1, Ordering::SeqCst);
                words::wake_own(&is_gone);
            }
        };
        let _watch = Watch::over(link, Box::new(release))?;
        Ok(Futex { clock: RunClock::chosen(), is_gone, by_two: words::can_be_two(), _watch })
    }
}

impl Sleeper for Futex {
    #[inline]
    fn now(&self) -> u64 {
        self.clock.now()
    }

    #[inline]
    fn relax(&self) {
        std::hint::spin_loop();
    }

    #[inline]
    fn give_way(&self) {
        rustix::thread::sched_yield();
    }

    #[inline]
    fn cpu(&self) -> u16 {
        (rustix::thread::sched_getcpu() as u16).wrapping_add(1)
    }

    #[inline]
    fn is_gone(&self) -> bool {
        self.is_gone.load(Ordering::Relaxed) != 0
    }

    fn sleep(&self, word: &AtomicU64, value: u64, at_most: Option<Duration>) -> Result<(), Gone> {
        let turn = (word, value as u32);
        if self.by_two {
            words::sleep_by_both(turn, (&self.is_gone, 0), at_most);
        } else if !self.is_gone() {
            words::nap_by_one(turn, at_most);
        }
        if self.is_gone() { Err(Gone) } else { Ok(()) }
    }

    fn wake(&self, word: &AtomicU64) {
        words::wake(word, 1);
    }
}

#[cfg(test)]
mod tests {
    use rustix::thread::futex;

    use super::*;

    /// By both ways of the kernel, whatever stands in the word, and where somebody else moved the sleeper to another word.
    #[test]
    fn who_sleeps_is_told_that_the_other_is_gone() {
        for by_two in [true, false] {
            let (here, there) = UnixStream::pair().unwrap();
            let mut sleeper = Futex::over(&here).unwrap();
            sleeper.by_two &= by_two;
            let (word, elsewhere) = (AtomicU64::new(2), AtomicU32::new(0));
            std::thread::scope(|scope| {
                let sleeping = scope.spawn(|| while sleeper.sleep(&word, 2, None).is_ok() {});
                // As a hostile end can: its sleeper now sleeps by a word that nobody wakes.
                let moved = || futex::requeue(words::half(&word), futex::Flags::empty(), 0, 1, &elsewhere);
                while moved().unwrap() == 0 {
                    std::thread::yield_now();
                }
                drop(there);
                sleeping.join().unwrap();
            });
            assert!(sleeper.is_gone());
            assert_eq!(sleeper.sleep(&word, 2, None), Err(Gone), "it sleeps on");
        }
    }
}
