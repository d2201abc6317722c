//! Deadline for what nothing tells: the one place where tests ask again and again.
//!
//! What can be waited for (a thread, a process, a message) is waited for instead.

use std::thread;
use std::time::{Duration, Instant};

/// Only a hang takes as long, however busy the machine is.
const HANG_TIMEOUT: Duration = Duration::from_secs(600);

/// How soon it is asked again at the soonest: nothing depends on it.
const INTERVAL: Duration = Duration::from_micros(300);

/// This many times as long as it takes to ask nobody asks, so that what is waited for has the processor.
const REST: u32 = 4;

/// Waits until that is so.
#[track_caller]
pub fn eventually(what: &str, mut is_so: impl FnMut() -> bool) {
    let begun = Instant::now();
    loop {
        let asked = Instant::now();
        if is_so() {
            return;
        }
        assert!(begun.elapsed() < HANG_TIMEOUT, "not within {HANG_TIMEOUT:?}: {what}");
        thread::sleep(INTERVAL.max(asked.elapsed() * REST));
    }
}
