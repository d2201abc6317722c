//! A lock that one takes again and again, and others now and then.
//!
//! An engine has a tenant's queues for a turn, and then for the next. A lock of the standard library goes to whoever asks when it is
//! free, which is the engine again: whom it wakes meanwhile comes too late, and the thread that answers all tenants' messages would
//! wait for as long as one of them keeps its engine busy. So those who wait are counted, and the engine lets them go first.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};
use std::thread;
use std::time::{Duration, Instant};

/// How long it lets others go first at most: whoever waits may be anything but quick.
const LONGEST: Duration = Duration::from_millis(1);

/// What is between two tries of one who does not wait for ever.
const PAUSE: Duration = Duration::from_micros(200);

/// Such a lock. What a thread that panicked left under it is taken as it is.
#[derive(Debug)]
pub struct Courtesy<T> {
    waiting: AtomicUsize,
    lock: Mutex<T>,
}

impl<T> Courtesy<T> {
    /// Around that.
    pub fn new(value: T) -> Courtesy<T> {
        Courtesy { waiting: AtomicUsize::new(0), lock: Mutex::new(value) }
    }

    /// Takes it.
    pub fn lock(&self) -> MutexGuard<'_, T> {
        self.waiting.fetch_add(1, Ordering::Relaxed);
        let guard = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
        self.waiting.fetch_sub(1, Ordering::Relaxed);
        guard
    }

    /// Takes it if nobody else has it.
    pub fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
        match self.lock.try_lock() {
            Ok(guard) => Some(guard),
            Err(TryLockError::Poisoned(left)) => Some(left.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    /// Takes it if it is had within so long: whoever has it may be held up for ever.
    pub fn lock_within(&self, most: Duration) -> Option<MutexGuard<'_, T>> {
        let begun = Instant::now();
        loop {
            let guard = self.try_lock();
            if guard.is_some() || begun.elapsed() >= most {
                return guard;
            }
            thread::sleep(PAUSE);
        }
    }

    /// Takes it after those who wait for it.
    pub fn lock_last(&self) -> MutexGuard<'_, T> {
        self.lock_after(LONGEST)
    }

    /// The same; they have at most that long.
    fn lock_after(&self, longest: Duration) -> MutexGuard<'_, T> {
        if self.waiting.load(Ordering::Relaxed) > 0 {
            let begun = Instant::now();
            while self.waiting.load(Ordering::Relaxed) > 0 && begun.elapsed() < longest {
                thread::yield_now();
            }
        }
        self.lock()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;
    use crate::asleep::Thread;

    #[test]
    fn who_does_not_wait_for_ever_has_it_in_time_or_not_at_all() {
        let (lock, most) = (Courtesy::new(7), Duration::from_millis(20));
        let held = lock.lock();
        let begun = Instant::now();
        assert!(lock.lock_within(most).is_none() && begun.elapsed() >= most);
        thread::scope(|scope| {
            let other = scope.spawn(|| lock.lock_within(Duration::from_secs(60)).map(|found| *found));
            drop(held);
            assert_eq!(other.join().unwrap(), Some(7));
        });
    }

    /// A thread that takes the lock again at once lets a waiting one have it first, which has to be woken for that. It may be
    /// woken late, where others have its processor.
    #[test]
    fn who_waits_is_next() {
        for round in 0..20 {
            let lock = Courtesy::new(false);
            let held = lock.lock();
            let (sender, waiting) = channel();
            thread::scope(|scope| {
                scope.spawn(|| {
                    sender.send(Thread::here()).unwrap();
                    *lock.lock() = true;
                });
                // A thread that does not sleep yet would be first in any case.
                waiting.recv().unwrap().falls_asleep();
                drop(held);
                assert!(*lock.lock_after(Duration::from_secs(600)), "round {round}");
            });
        }
    }
}
