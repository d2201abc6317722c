//! What is fed.

use std::io;
use std::os::fd::BorrowedFd;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

/// Takes entropy.
pub trait Sink: Send {
    /// Takes `bytes`, and trusts them for so many bits.
    ///
    /// # Errors
    /// It refused.
    fn credit(&mut self, bytes: &[u8], bits: u32) -> io::Result<()>;

    /// Bits that it says it has.
    ///
    /// # Errors
    /// It does not say.
    fn available(&self) -> io::Result<u32>;

    /// Waits until it wants to be fed, for `patience` at most, or until there is something to read in `stop`.
    ///
    /// # Errors
    /// Nobody can wait for that.
    fn wait(&self, patience: Duration, stop: Option<BorrowedFd<'_>>) -> io::Result<Woken>;
}

/// Why a wait was over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Woken {
    /// It wants to be fed.
    Wants,
    /// Time was up.
    TimedOut,
    /// It was told to stop.
    Stopped,
}

/// Waits for either descriptor: `sink` can be written to, or `stop` read from.
pub(super) fn wait_for(
    sink: Option<BorrowedFd<'_>>,
    patience: Duration,
    stop: Option<BorrowedFd<'_>>,
) -> io::Result<Woken> {
    let begun = Instant::now();
    loop {
        let mut watched: Vec<PollFd<'_>> = Vec::with_capacity(2);
        watched.extend(stop.map(|stop| PollFd::from_borrowed_fd(stop, PollFlags::IN)));
        watched.extend(sink.map(|sink| PollFd::from_borrowed_fd(sink, PollFlags::OUT)));
        let left = patience.saturating_sub(begun.elapsed());
        let timeout = Timespec { tv_sec: left.as_secs() as i64, tv_nsec: left.subsec_nanos().into() };
        match poll(&mut watched, Some(&timeout)) {
            Ok(0) => return Ok(Woken::TimedOut),
            Ok(_) if stop.is_some() && !watched[0].revents().is_empty() => return Ok(Woken::Stopped),
            Ok(_) => return Ok(Woken::Wants),
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// Waits that long, or until there is something to read in `stop`.
///
/// # Errors
/// Nobody can wait for that.
pub fn rest(time: Duration, stop: BorrowedFd<'_>) -> io::Result<Woken> {
    wait_for(None, time, Some(stop))
}

/// Remembers what it was fed, in the place of a kernel.
#[derive(Debug, Default)]
pub struct Recording {
    /// Each feeding: bytes and bits.
    pub taken: Vec<(Vec<u8>, u32)>,
    /// It wants to be fed while it has fewer bits than that: a kernel before its generator is initialised.
    pub wants: u32,
}

impl Sink for Recording {
    fn credit(&mut self, bytes: &[u8], bits: u32) -> io::Result<()> {
        self.taken.push((bytes.to_vec(), bits));
        Ok(())
    }

    fn available(&self) -> io::Result<u32> {
        Ok(self.taken.iter().map(|(_, bits)| bits).sum())
    }

    fn wait(&self, patience: Duration, stop: Option<BorrowedFd<'_>>) -> io::Result<Woken> {
        if self.available()? < self.wants {
            return Ok(Woken::Wants);
        }
        wait_for(None, patience, stop)
    }
}
