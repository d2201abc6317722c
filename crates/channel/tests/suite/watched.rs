//! A test that has hung says so, instead of keeping all others waiting.

use std::io::Write;
use std::panic::Location;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

/// Far longer than any of these tests takes where much else runs.
const DEADLINE: Duration = Duration::from_secs(600);

/// Of a test that runs: dropped at its end.
pub struct Watched(#[expect(dead_code, reason = "dropped, it tells who watches")] Sender<()>);

/// From here on the test has as much time as any needs. Who has hung cannot be stopped alone: all tests of the process end, and it is said which one it was.
#[track_caller]
pub fn watched() -> Watched {
    let (place, test) = (Location::caller(), thread::current().name().unwrap_or_default().to_owned());
    let (ends, ended) = channel();
    thread::spawn(move || {
        if ended.recv_timeout(DEADLINE) == Err(RecvTimeoutError::Timeout) {
            let seconds = DEADLINE.as_secs();
            // By the stream itself: what is printed would be kept for the end of the test.
            let _ = writeln!(std::io::stderr(), "{place}: the test {test} has hung for {seconds} s");
            std::process::exit(101);
        }
    });
    Watched(ends)
}
