//! Is a key gone when its session is? All memory of this process is looked through for it.

mod doors;
#[path = "../../../../crates/host/testing/eventually.rs"]
mod eventually;
mod search;
mod sessions;
#[path = "../../testing/tenancy.rs"]
#[expect(dead_code, reason = "of a whole card the other tests use more")]
mod tenancy;

use std::sync::{Mutex, MutexGuard, PoisonError};

/// One test at a time: what another's threads do meanwhile might lie where a key was.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}
