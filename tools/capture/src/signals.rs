//! Ctrl-C and SIGTERM: the first ends the capture well, the second ends the program at once.

use std::io::{self, Read};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Context, Result};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::{flag, low_level};
use tollway_wire::{Stop, Woken, wait};

/// Has signals call off what `stops` are of. To be called before anything is captured, and once.
///
/// # Errors
/// If the system takes no handler.
pub fn call_off(stops: Vec<Stop>) -> Result<Arc<AtomicBool>> {
    let called = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        let stops = stops.clone();
        let set = Arc::clone(&called);
        // In this order: the second signal finds the flag set and ends the process.
        flag::register_conditional_shutdown(signal, 130, Arc::clone(&called))
            .and_then(|_| {
                // SAFETY: what it does is allowed in a handler: it sets flags and writes to eventfds.
                unsafe {
                    low_level::register(signal, move || {
                        set.store(true, Ordering::Relaxed);
                        stops.iter().for_each(Stop::stop);
                    })
                }
            })
            .context("taking notice of interruptions")?;
    }
    Ok(called)
}

/// Something to read that can be called off.
pub struct Stoppable<R> {
    source: R,
    stop: Stop,
}

impl<R: Read + AsFd> Stoppable<R> {
    /// Reads from `source` until it is called off.
    pub fn new(source: R, stop: Stop) -> Self {
        Stoppable { source, stop }
    }
}

impl<R: Read + AsFd> Read for Stoppable<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        /// So long, and then again.
        const LONG: Duration = Duration::from_secs(3600);
        loop {
            match wait(self.source.as_fd(), Some(&self.stop), LONG).map_err(io::Error::other)? {
                Woken::Stopped => return Err(io::Error::other("called off")),
                Woken::TimedOut | Woken::Interrupted => {}
                // What has gone wrong is told by reading.
                Woken::Ready | Woken::Trouble => return self.source.read(buffer),
            }
        }
    }
}
