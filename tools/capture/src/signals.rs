//! Ctrl-C, SIGTERM and SIGHUP (the terminal is closed): the first ends the capture well, another one a second later ends the program at once. Those that
//! come together are one: timeout(1) sends two, to the process and to its group.

use std::io::{self, Read};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use anyhow::{Context, Result};
use rustix::fs::{FileType, Stat, fstat};
use rustix::time::{ClockId, clock_gettime};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::low_level;
use tollway_wire::{Stop, Woken, wait};

/// How much later another signal means that somebody is out of patience.
const PATIENCE: Duration = Duration::from_secs(1);

/// Has signals call off what `stops` are of. To be called before anything is captured, and once.
///
/// # Errors
/// If the system takes no handler.
pub fn call_off(stops: Vec<Stop>) -> Result<Arc<AtomicBool>> {
    let called = Arc::new(AtomicBool::new(false));
    // When the first came, in nanoseconds; 0 before that.
    let first = Arc::new(AtomicU64::new(0));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        if signal == SIGHUP && is_ignored(signal) {
            continue;
        }
        let (stops, called, first) = (stops.clone(), Arc::clone(&called), Arc::clone(&first));
        let handler = move || {
            let now = clock_gettime(ClockId::Monotonic);
            let now = now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64;
            match first.compare_exchange(0, now, Ordering::Relaxed, Ordering::Relaxed) {
                Err(first) if now.saturating_sub(first) > PATIENCE.as_nanos() as u64 => low_level::exit(130),
                Err(_) => {}
                Ok(_) => {
                    called.store(true, Ordering::Relaxed);
                    stops.iter().for_each(Stop::stop);
                }
            }
        };
        // SAFETY: what it does is allowed in a handler: it reads a clock, sets flags, writes to eventfds, or ends the
        // process without running anything.
        unsafe { low_level::register(signal, handler) }.context("taking notice of interruptions")?;
    }
    Ok(called)
}

/// Whether whoever started this program had the signal ignored, as nohup(1) does.
fn is_ignored(signal: i32) -> bool {
    // SAFETY: all-zero bytes are a valid sigaction, which is filled in; without a new action nothing is changed.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        libc::sigaction(signal, std::ptr::null(), &raw mut action) == 0
            && action.sa_sigaction == libc::SIG_IGN
    }
}

/// Something to read that can be called off.
pub struct Stoppable<R> {
    source: R,
    stop: Stop,
    /// It may have nothing to read for long. A regular file always has, or has ended.
    waits: bool,
}

impl<R: Read + AsFd> Stoppable<R> {
    /// Reads from `source` until it is called off.
    pub fn new(source: R, stop: Stop) -> Self {
        let regular = |status: Stat| FileType::from_raw_mode(status.st_mode) == FileType::RegularFile;
        let waits = !fstat(&source).is_ok_and(regular);
        Stoppable { source, stop, waits }
    }

    /// Until there is something to read. What has gone wrong is told by reading.
    fn wait(&self) -> io::Result<()> {
        /// So long, and then again.
        const LONG: Duration = Duration::from_secs(3600);
        let waits = || wait(self.source.as_fd(), Some(&self.stop), LONG).map_err(io::Error::other);
        while let Woken::TimedOut | Woken::Interrupted = waits()? {}
        Ok(())
    }
}

impl<R: Read + AsFd> Read for Stoppable<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.waits {
            self.wait()?;
        }
        if self.stop.is_stopped() {
            return Err(io::Error::other("called off"));
        }
        self.source.read(buffer)
    }
}
