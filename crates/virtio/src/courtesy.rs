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
        if self.waiting.load(Ordering::Relaxed) > 0 {
            let begun = Instant::now();
            while self.waiting.load(Ordering::Relaxed) > 0 && begun.elapsed() < LONGEST {
                thread::yield_now();
            }
        }
        self.lock()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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

    /// Who takes it again at once lets one that waits have it first, and not by chance: that one has to be woken meanwhile, while
    /// who takes it again has only to ask. It is woken too late where others have its processor: so the best of several rounds.
    #[test]
    fn who_waits_is_next() {
        let is_first = |_: &usize| {
            let lock = Courtesy::new(false);
            let held = lock.lock();
            thread::scope(|scope| {
                scope.spawn(|| *lock.lock() = true);
                while lock.waiting.load(Ordering::Relaxed) == 0 {
                    thread::yield_now();
                }
                // Until it sleeps: one that still looks would be the first anyhow.
                thread::sleep(Duration::from_millis(2));
                drop(held);
                *lock.lock_last()
            })
        };
        let (mut most, mut rounds) = (0, 0);
        while most < 10 {
            let firsts = (0..20).filter(is_first).count();
            most = most.max(firsts);
            println!("{firsts} of 20 that waited were the first");
            rounds += 1;
            assert!(rounds < 50, "at best {most} of 20 that waited were the first");
        }
    }
}
