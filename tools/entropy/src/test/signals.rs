//! SIGINT and SIGTERM end a test with what it has; SIGUSR1 asks for the statistics so far.
//!
//! They interrupt a read or a write that waits: whoever waits for a slow generator must not wait to stop.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use signal_hook::consts::{SIGINT, SIGTERM, SIGUSR1};
use signal_hook::flag;

/// What signals have asked for.
#[derive(Clone, Debug)]
pub struct Signals {
    stop: Arc<AtomicBool>,
    statistics: Arc<AtomicBool>,
}

impl Signals {
    /// Takes notice from now on.
    ///
    /// # Errors
    /// If the system takes no handler.
    pub fn watch() -> io::Result<Signals> {
        let signals = Signals { stop: Arc::default(), statistics: Arc::default() };
        for (signal, flag) in
            [(SIGINT, &signals.stop), (SIGTERM, &signals.stop), (SIGUSR1, &signals.statistics)]
        {
            flag::register(signal, Arc::clone(flag))?;
            interrupts(signal)?;
        }
        Ok(signals)
    }

    /// Whether to stop.
    pub fn stop(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Whether statistics were asked for since this was asked last.
    pub fn take_statistics(&self) -> bool {
        self.statistics.load(Ordering::Relaxed) && self.statistics.swap(false, Ordering::Relaxed)
    }
}

/// Has a signal that is handled end a system call that waits, instead of going on with it.
fn interrupts(signal: i32) -> io::Result<()> {
    // SAFETY: all-zero bytes are a valid sigaction, which is filled in by the first call and handed back by the second with
    // the same handler.
    let done = unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        if libc::sigaction(signal, std::ptr::null(), &raw mut action) == 0 {
            action.sa_flags &= !libc::SA_RESTART;
            libc::sigaction(signal, &raw const action, std::ptr::null_mut())
        } else {
            -1
        }
    };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
