//! Pauses that change the order in which threads meet. Callers draw the length; no test depends on how long one takes.

use std::thread;
use std::time::Duration;

/// Pauses for about that long.
pub fn pause(time: Duration) {
    thread::sleep(time);
}
