//! Work that mostly ends at once and now and then does not: who waits is told so.

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use crate::output;

/// Nobody is told sooner, nor more often.
const PATIENCE: Duration = Duration::from_secs(5);

/// Does the work; while it lasts, standard error is told every few seconds what is being done and for how long.
pub fn telling<T>(what: &str, work: impl FnOnce() -> T) -> T {
    let begun = Instant::now();
    let (done, ends) = channel::<()>();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            while ends.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout) {
                output::tell(&format!("{what}: {} s; Ctrl-C ends it", begun.elapsed().as_secs()));
            }
        });
        let outcome = work();
        drop(done);
        outcome
    })
}
