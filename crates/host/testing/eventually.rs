//! Deadline for what nothing tells: the one place where tests ask again and again.
//!
//! What can be waited for (a thread, a process, a message) is waited for instead.

use std::thread;
use std::time::{Duration, Instant};

/// Only a hang takes as long, however busy the machine is.
const HANG_TIMEOUT: Duration = Duration::from_secs(120);

/// How soon it is asked again: nothing depends on it.
const INTERVAL: Duration = Duration::from_micros(300);

/// Waits until that is so.
#[track_caller]
pub fn eventually(what: &str, mut is_so: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < HANG_TIMEOUT, "not within {HANG_TIMEOUT:?}: {what}");
        thread::sleep(INTERVAL);
    }
}
