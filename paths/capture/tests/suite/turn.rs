//! Whose turn it is: trials and generators that follow a schedule run one at a time, or they would take each other's processors.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Until that is dropped no other of them runs.
pub fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}
