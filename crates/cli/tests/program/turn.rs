//! Whose turn it is: some tests want the processors to themselves, or start guests, and there may be two processors.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// As long as it is kept no other such test of this program begins.
pub fn turn() -> MutexGuard<'static, ()> {
    static ONE: Mutex<()> = Mutex::new(());
    ONE.lock().unwrap_or_else(PoisonError::into_inner)
}
