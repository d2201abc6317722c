//! Waiting for frames, and being called off it: by another thread, by a signal, by the time.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};

use crate::WireError;

/// Calls off who waits or reads. Copies call off the same. [`Stop::stop`] may be called from a signal's handler.
#[derive(Clone, Debug)]
pub struct Stop {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    stopped: AtomicBool,
    wake: OwnedFd,
}

/// Why a wait ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Woken {
    /// There is something.
    Ready,
    /// An error waits on the socket: its interface went down or away.
    Trouble,
    /// Nothing came in time.
    TimedOut,
    /// A signal came whose handler returned.
    Interrupted,
    /// [`Stop::stop`] was called.
    Stopped,
}

impl Stop {
    /// One that nobody has called yet.
    ///
    /// # Errors
    /// If no descriptor can be had.
    pub fn new() -> Result<Stop, WireError> {
        let wake = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)
            .map_err(|error| WireError::system("making an eventfd", error))?;
        Ok(Stop { shared: Arc::new(Shared { stopped: AtomicBool::new(false), wake }) })
    }

    /// Calls off, for good.
    pub fn stop(&self) {
        self.shared.stopped.store(true, Ordering::Release);
        // It can fail only when it was called 2^64 - 2 times before.
        let _ = rustix::io::write(&self.shared.wake, &1u64.to_ne_bytes());
    }

    /// Whether it was called off.
    #[inline]
    pub fn is_stopped(&self) -> bool {
        self.shared.stopped.load(Ordering::Relaxed)
    }
}

/// Waits until the socket has something to read, for at most `timeout`, or until it is called off.
///
/// # Errors
/// If the kernel does not let us wait.
pub fn wait(socket: BorrowedFd<'_>, stop: Option<&Stop>, timeout: Duration) -> Result<Woken, WireError> {
    if stop.is_some_and(Stop::is_stopped) {
        return Ok(Woken::Stopped);
    }
    let timeout = Timespec {
        tv_sec: i64::try_from(timeout.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: timeout.subsec_nanos().into(),
    };
    // Without a stop the socket stands in for it, and is not asked twice.
    let wake = stop.map_or(socket, |stop| stop.shared.wake.as_fd());
    let mut both =
        [PollFd::from_borrowed_fd(socket, PollFlags::IN), PollFd::from_borrowed_fd(wake, PollFlags::IN)];
    let polled = &mut both[..if stop.is_some() { 2 } else { 1 }];
    match poll(polled, Some(&timeout)) {
        Ok(0) => return Ok(Woken::TimedOut),
        Ok(_) => {}
        Err(rustix::io::Errno::INTR) => return Ok(Woken::Interrupted),
        Err(error) => return Err(WireError::system("waiting for frames", error)),
    }
    let [socket, wake] = both.map(|fd| fd.revents());
    Ok(if !wake.is_empty() {
        Woken::Stopped
    } else if socket.intersects(PollFlags::ERR | PollFlags::HUP | PollFlags::NVAL) {
        Woken::Trouble
    } else {
        Woken::Ready
    })
}
