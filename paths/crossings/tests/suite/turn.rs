//! Whose turn it is: what spins on two cores, or times things, runs alone among these tests.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Until that is dropped no other of them runs.
pub fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}
