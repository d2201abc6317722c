//! Writes the blocks that passed.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;

use super::signals::Signals;

/// Whether this process was started without a standard output. Before `main` Rust puts /dev/null in its place, which would
/// swallow everything.
static WAS_CLOSED: AtomicBool = AtomicBool::new(false);

extern "C" fn look() {
    // SAFETY: a system call that takes no pointer.
    let flags = unsafe { libc::fcntl(libc::STDOUT_FILENO, libc::F_GETFD) };
    WAS_CLOSED.store(flags < 0, Ordering::Relaxed);
}

// SAFETY: the section holds functions that are called before `main`; this one needs nothing that `main` prepares.
#[used]
#[unsafe(link_section = ".init_array")]
static LOOK: extern "C" fn() = look;

/// Fails where this process was started without a standard output.
///
/// # Errors
/// As of a write to it.
pub fn is_open() -> io::Result<()> {
    if WAS_CLOSED.load(Ordering::Relaxed) { Err(Errno::BADF.into()) } else { Ok(()) }
}

/// Standard output without a buffer: a block that passed is not held back.
pub struct Output(OwnedFd);

/// How a write went.
pub enum Written {
    /// All of it is written.
    All,
    /// Nobody reads any more.
    Closed,
    /// A signal came to stop.
    CalledOff,
}

impl Output {
    /// Standard output.
    ///
    /// # Errors
    /// If it is closed.
    pub fn open() -> io::Result<Output> {
        Ok(Output(io::stdout().as_fd().try_clone_to_owned()?))
    }

    /// Writes all of it, and counts what was written in `sent`.
    ///
    /// # Errors
    /// If the system does not take it.
    pub fn write(&self, mut bytes: &[u8], sent: &mut u64, signals: &Signals) -> io::Result<Written> {
        is_open()?;
        while !bytes.is_empty() {
            match rustix::io::write(&self.0, bytes) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(taken) => {
                    *sent += taken as u64;
                    bytes = &bytes[taken..];
                }
                Err(Errno::PIPE) => return Ok(Written::Closed),
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => match poll(&mut [PollFd::new(&self.0, PollFlags::OUT)], None) {
                    Ok(_) | Err(Errno::INTR) => {}
                    Err(error) => return Err(error.into()),
                },
                Err(error) => return Err(error.into()),
            }
            if signals.stop() {
                return Ok(Written::CalledOff);
            }
        }
        Ok(Written::All)
    }
}
