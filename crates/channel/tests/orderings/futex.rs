//! A futex under loom: the kernel compares the word under the lock that a waker takes.

use loom::sync::{Condvar, Mutex};

#[derive(Default)]
pub struct Futex {
    lock: Mutex<()>,
    woken: Condvar,
}

impl Futex {
    /// Sleeps while that is so, as words say that have changed before a waker [wakes](Futex::wakes).
    pub fn sleeps_while(&self, mut is_so: impl FnMut() -> bool) {
        let mut lock = self.lock.lock().unwrap();
        while is_so() {
            lock = self.woken.wait(lock).unwrap();
        }
    }

    pub fn wakes(&self) {
        drop(self.lock.lock().unwrap());
        self.woken.notify_all();
    }
}
