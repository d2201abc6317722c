//! A queue with what its two sides call each other by.

use std::ops::{Deref, DerefMut};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use tollway_core::{Error, Result};
use vmm_sys_util::eventfd::{EFD_NONBLOCK, EventFd};

use super::{Completion, Queue};

/// A queue of a [`Link`](super::Link). It is as usable in another thread as the link's other queues are in theirs. As a
/// descriptor it is the eventfd by which the device calls, which is readable from then on until [`hear`](Lane::hear).
#[derive(Debug)]
pub struct Lane {
    queue: Queue,
    pub(super) kick: EventFd,
    pub(super) call: EventFd,
    pub(super) peer: Peer,
}

/// What tells that the device has ended.
#[derive(Clone, Debug, Default)]
pub(super) enum Peer {
    /// Nobody is there yet.
    #[default]
    Nobody,
    /// A socket that is hung up.
    Socket(Arc<UnixStream>),
    /// A device of this process: it says so, and calls.
    Inside(Arc<AtomicBool>),
}

/// What a wait brought.
struct Events {
    called: bool,
    gone: bool,
}

pub(super) fn eventfd() -> Result<EventFd> {
    EventFd::new(EFD_NONBLOCK).map_err(|e| Error::system("making an eventfd", e))
}

impl Lane {
    pub(super) fn new(queue: Queue) -> Result<Lane> {
        Ok(Lane { queue, kick: eventfd()?, call: eventfd()?, peer: Peer::Nobody })
    }

    /// Its kick and its call once more, for a device of this process.
    pub(crate) fn eventfds(&self) -> Result<[OwnedFd; 2], Errno> {
        let again = |eventfd| rustix::io::fcntl_dupfd_cloexec(borrow(eventfd), 0);
        Ok([again(&self.kick)?, again(&self.call)?])
    }

    /// Has the device see what was submitted, and kicks it if it wants to be told. Whether it was.
    pub fn kick(&mut self) -> bool {
        self.queue.wants_kick() && self.kick.write(1).is_ok()
    }

    /// Has the device see what was submitted, and kicks it whether it wants to be told or not.
    pub fn kick_anyway(&mut self) {
        self.queue.show();
        let _ = self.kick.write(1);
    }

    /// Whether the device has called since the last time that this was asked.
    pub fn hear(&self) -> bool {
        self.call.read().is_ok()
    }

    /// Takes a buffer that comes back; sleeps until the device calls, at most that long.
    ///
    /// # Errors
    /// As [`Queue::take`]; and [`Error::System`] if the connection is gone, once no buffer is left that came back.
    pub fn wait(&mut self, most: Duration) -> Result<Option<Completion>> {
        let until = Instant::now() + most;
        loop {
            if let Some(found) = self.queue.take()? {
                return Ok(Some(found));
            }
            if self.queue.want_call(true) {
                continue;
            }
            let left = until.saturating_duration_since(Instant::now());
            let called = self.sleep(left);
            self.queue.want_call(false);
            if !called? && left.is_zero() {
                return self.queue.take();
            }
        }
    }

    /// Sleeps until the device calls, or the time is over; whether it called. It must have been asked to
    /// ([`Queue::want_call`]).
    ///
    /// # Errors
    /// [`Error::System`] if the connection is gone, and no buffer is left that came back.
    pub fn sleep(&mut self, most: Duration) -> Result<bool> {
        let events = self.poll(most)?;
        if events.called {
            self.hear();
        } else if events.gone && !self.queue.has_some() {
            return Err(Error::system("waiting for a device", "the device is gone"));
        }
        Ok(events.called)
    }

    /// Whether the device is still there.
    pub fn is_connected(&self) -> bool {
        self.poll(Duration::ZERO).is_ok_and(|found| !found.gone)
    }

    /// What is hung up when the device is gone, if it is a socket that tells so.
    pub fn connection(&self) -> Option<BorrowedFd<'_>> {
        match &self.peer {
            Peer::Socket(peer) => Some(peer.as_fd()),
            Peer::Nobody | Peer::Inside(_) => None,
        }
    }

    fn has_ended(&self) -> bool {
        matches!(&self.peer, Peer::Inside(ended) if ended.load(Ordering::Acquire))
    }

    fn poll(&self, most: Duration) -> Result<Events> {
        let most = Timespec {
            tv_sec: i64::try_from(most.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: i64::from(most.subsec_nanos()),
        };
        let call = PollFd::from_borrowed_fd(self.as_fd(), PollFlags::IN);
        let mut gone = self.has_ended();
        let most = if gone { Timespec::default() } else { most };
        let look = |watched: &mut [PollFd<'_>]| match poll(watched, Some(&most)) {
            Ok(_) | Err(Errno::INTR) => Ok(!watched[0].revents().is_empty()),
            Err(e) => Err(Error::system("waiting for a device", e)),
        };
        let called = match &self.peer {
            Peer::Nobody | Peer::Inside(_) => look(&mut [call])?,
            Peer::Socket(peer) => {
                let mut both = [call, PollFd::new(peer, PollFlags::RDHUP)];
                let called = look(&mut both)?;
                gone = !both[1].revents().is_empty();
                called
            }
        };
        gone |= self.has_ended();
        Ok(Events { called, gone })
    }
}

impl AsFd for Lane {
    fn as_fd(&self) -> BorrowedFd<'_> {
        borrow(&self.call)
    }
}

fn borrow(eventfd: &EventFd) -> BorrowedFd<'_> {
    // SAFETY: it is open for as long as it is borrowed.
    unsafe { BorrowedFd::borrow_raw(eventfd.as_raw_fd()) }
}

impl Deref for Lane {
    type Target = Queue;

    fn deref(&self) -> &Queue {
        &self.queue
    }
}

impl DerefMut for Lane {
    fn deref_mut(&mut self) -> &mut Queue {
        &mut self.queue
    }
}
