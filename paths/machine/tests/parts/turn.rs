//! Whose turn it is: some tests keep a disk or both ends of a network busy.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// As long as it is kept no other of these begins.
pub fn turn() -> MutexGuard<'static, ()> {
    static ONE: Mutex<()> = Mutex::new(());
    ONE.lock().unwrap_or_else(PoisonError::into_inner)
}
