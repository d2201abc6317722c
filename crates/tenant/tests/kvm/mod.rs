//! The right to use KVM, for tests of real guests.

use std::sync::{Mutex, MutexGuard, PoisonError};

use tollway_tenant::micro;

/// One at a time: they measure, and there may be two processors.
static ONE: Mutex<()> = Mutex::new(());

/// The right to use KVM, if this machine has one; else says why not.
pub fn kvm() -> Option<MutexGuard<'static, ()>> {
    let guard = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    if let Err(error) = micro::check() {
        let required = std::env::var("TOLLWAY_REQUIRE").unwrap_or_default();
        let demanded = required.split(',').any(|word| matches!(word.trim(), "micro-guest" | "kvm"));
        assert!(!demanded, "required by TOLLWAY_REQUIRE: {error}");
        println!("skipped: {error}");
        return None;
    }
    Some(guard)
}
