//! Pauses of a random length: they stir up the order in which threads meet, and no test depends on how long one takes.

use std::thread;
use std::time::Duration;

/// Pauses for about that long.
pub fn pause(time: Duration) {
    thread::sleep(time);
}
