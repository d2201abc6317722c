//! How an end sleeps until it is its turn, and is told that the other end is gone.
//!
//! It sleeps on two words at once (futex_waitv(2), Linux 5.16): the turn, which the other end changes and wakes by, and a word of its own process, by
//! which a thread that watches the socket between the ends tells it that the other is gone. Of that word the other process knows
//! nothing: whatever it does to the turn and to who sleeps by it (FUTEX_REQUEUE would have this end sleep by another word), it is
//! told. A kernel without that call has it sleep on the turn alone, and look every now and then.

use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use rustix::event::Timespec;
use rustix::io::Errno;
use rustix::thread::ClockId;
use rustix::thread::futex::{self, Wait, WaitFlags, WaitPtr, WaitvFlags};
use tollway_core::{Clock, Result};
use tollway_host::clock::RunClock;
use tollway_host::watch::Watch;

use super::waiting::Sleeper;
use crate::atomic::AtomicU64;
use crate::wait::Gone;

/// How long an end sleeps before it looks whether the other is gone, on a kernel without futex_waitv(2).
const A_WHILE: Timespec = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };

/// Where an end waits for its turn.
pub struct Futex {
    clock: RunClock,
    /// 1 if the other end is gone.
    is_gone: Arc<AtomicU32>,
    /// Whether the kernel can wait on two words.
    waits_on_two: AtomicBool,
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
                let _ = futex::wake(&is_gone, futex::Flags::PRIVATE, 1);
            }
        };
        let _watch = Watch::over(link, Box::new(release))?;
        let waits_on_two = AtomicBool::new(true);
        Ok(Futex { clock: RunClock::chosen(), is_gone, waits_on_two, _watch })
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

    fn sleep(&self, word: &AtomicU64, value: u64) -> Result<(), Gone> {
        if self.waits_on_two.load(Ordering::Relaxed) {
            let on = |word: *mut u32, value: u32, flags: WaitFlags| {
                let mut wait = Wait::new();
                wait.val = value.into();
                wait.uaddr = WaitPtr::new(word.cast());
                wait.flags = WaitFlags::SIZE_U32 | flags;
                wait
            };
            let both = [
                on(half(word).as_ptr(), value as u32, WaitFlags::empty()),
                on(self.is_gone.as_ptr(), 0, WaitFlags::PRIVATE),
            ];
            // Woken, interrupted, or changed before: looked at again in each case. A filter of system calls may say EPERM.
            if let Err(Errno::NOSYS | Errno::PERM) =
                futex::waitv(&both, WaitvFlags::empty(), None, ClockId::Monotonic)
            {
                self.waits_on_two.store(false, Ordering::Relaxed);
            }
        } else if !self.is_gone() {
            let _ = futex::wait(half(word), futex::Flags::empty(), value as u32, Some(&A_WHILE));
        }
        if self.is_gone() { Err(Gone) } else { Ok(()) }
    }

    /// Without FUTEX_PRIVATE_FLAG: the sleeper may be another process.
    fn wake(&self, word: &AtomicU64) {
        // That nobody sleeps is no error, and the word is mapped: there is no other.
        let _ = futex::wake(half(word), futex::Flags::empty(), 1);
    }
}

/// The half of a word that the kernel compares; x86-64 has the low half first.
fn half(word: &AtomicU64) -> &AtomicU32 {
    // SAFETY: the word is 8 bytes, aligned to as many, and borrowed for as long as its half is. Of this process nobody accesses the half: its address
    // goes to the kernel.
    unsafe { AtomicU32::from_ptr(word.as_ptr().cast()) }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    /// By both ways of the kernel, whatever stands in the word, and where somebody else moved the sleeper to another word.
    #[test]
    fn who_sleeps_is_told_that_the_other_is_gone() {
        for waits_on_two in [true, false] {
            let (here, there) = UnixStream::pair().unwrap();
            let sleeper = Futex::over(&here).unwrap();
            sleeper.waits_on_two.store(waits_on_two, Ordering::Relaxed);
            let (word, elsewhere) = (AtomicU64::new(2), AtomicU32::new(0));
            std::thread::scope(|scope| {
                let sleeping = scope.spawn(|| while sleeper.sleep(&word, 2).is_ok() {});
                let deadline = Instant::now() + Duration::from_secs(10);
                // As a hostile end can: its sleeper now sleeps by a word that nobody wakes.
                let moved = || futex::requeue(half(&word), futex::Flags::empty(), 0, 1, &elsewhere);
                while moved().unwrap() == 0 && Instant::now() < deadline {
                    std::thread::sleep(Duration::from_millis(1));
                }
                drop(there);
                sleeping.join().unwrap();
            });
            assert!(sleeper.is_gone());
            assert_eq!(sleeper.sleep(&word, 2), Err(Gone), "it sleeps on");
        }
    }
}
