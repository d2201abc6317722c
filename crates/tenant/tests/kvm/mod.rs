//! The right to use KVM, for tests of real guests.

use std::sync::{Mutex, MutexGuard, PoisonError};

use tollway_tenant::micro;

/// One at a time: they measure, and there may be two processors.
static ONE: Mutex<()> = Mutex::new(());

/// The right to use KVM, if this machine has one; else says why not.
pub fn kvm() -> Option<MutexGuard<'static, ()>> {
    let guard = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    if let Err(error) = micro::check() {
        tollway_host::requirement::skip_test(&["micro-guest", "kvm"], &error);
        return None;
    }
    Some(guard)
}
