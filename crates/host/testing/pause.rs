//! Time that is itself what a test is about: the moment of a kill, the pace of a load, a stretch in which nothing may happen.
//! A pause is as long as it says or longer: no test counts on more.

use std::thread;
use std::time::Duration;

/// Pauses for at least that long.
pub fn pause(time: Duration) {
    thread::sleep(time);
}
