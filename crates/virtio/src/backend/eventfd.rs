//! Eventfds of a peer: the only kind of descriptor by which it may be called or call.
//!
//! A write to a pipe, a socket or a file can wait for the peer, or for a file system that the peer is. A write to an
//! eventfd waits only when its counter is full and O_NONBLOCK is cleared, which the peer can do in the instant before the write:
//! the minder ends it then, and with that all that is the peer's.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::io::Errno;

use super::received::{Received, is_eventfd};
use super::{Refused, minder};

/// Whether a peer has held anybody up who called it; and the bell of whoever ends its connection for that.
#[derive(Debug)]
pub(crate) struct Conduct {
    has_held: AtomicBool,
    bell: Arc<OwnedFd>,
}

impl Conduct {
    /// It has not. The bell is an eventfd of this process.
    pub(crate) fn new(bell: Arc<OwnedFd>) -> Conduct {
        Conduct { has_held: AtomicBool::new(false), bell }
    }

    pub(crate) fn has_held(&self) -> bool {
        self.has_held.load(Ordering::Acquire)
    }

    #[cold]
    fn holds(&self) {
        self.has_held.store(true, Ordering::Release);
        // Full: it rings already.
        let _ = rustix::io::write(&*self.bell, &1u64.to_ne_bytes());
    }
}

/// An eventfd of a peer.
#[derive(Debug)]
pub(crate) struct Eventfd {
    descriptor: OwnedFd,
    /// None: it is of this process.
    conduct: Option<Arc<Conduct>>,
}

impl Eventfd {
    /// Takes a descriptor if it is an eventfd. `what`: for the error.
    pub(crate) fn new(
        descriptor: Received,
        what: &'static str,
        conduct: &Arc<Conduct>,
    ) -> Result<Eventfd, Refused> {
        let refused = Refused::Eventfd(what);
        let descriptor = descriptor.into_if(is_eventfd).ok_or(refused.clone())?;
        let flags = fcntl_getfl(&descriptor).map_err(|_| refused.clone())?;
        fcntl_setfl(&descriptor, flags | OFlags::NONBLOCK).map_err(|_| refused)?;
        Ok(Eventfd { descriptor, conduct: Some(conduct.clone()) })
    }

    /// An eventfd of this process.
    pub(crate) fn own(eventfd: OwnedFd) -> Eventfd {
        Eventfd { descriptor: eventfd, conduct: None }
    }

    /// The same eventfd once more.
    pub(crate) fn try_clone(&self) -> Result<Eventfd, Refused> {
        let descriptor = self.descriptor.try_clone().map_err(|e| Refused::Connection(e.to_string()))?;
        Ok(Eventfd { descriptor, conduct: self.conduct.clone() })
    }

    /// Adds one to it. Whether the kernel did: not if it is full, which tells its reader as much. A peer that has the write sleep
    /// is written to no more.
    pub(crate) fn signal(&self) -> bool {
        let Some(conduct) = &self.conduct else {
            loop {
                match self.add_one() {
                    Err(Errno::INTR) => {}
                    done => return done.is_ok(),
                }
            }
        };
        if conduct.has_held() {
            return false;
        }
        let done = minder::minded(|| self.add_one());
        if done.is_none() {
            conduct.holds();
        }
        done.is_some_and(|done| done.is_ok())
    }

    fn add_one(&self) -> Result<(), Errno> {
        // The peer may have cleared the flag, which both share, and filled the counter.
        fcntl_setfl(&self.descriptor, OFlags::RDWR | OFlags::NONBLOCK)?;
        rustix::io::write(&self.descriptor, &1u64.to_ne_bytes()).map(|_| ())
    }
}

impl AsFd for Eventfd {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use std::thread;
    use std::time::{Duration, Instant};

    use rustix::event::{EventfdFlags, eventfd};

    use super::*;

    /// Of a peer that has done nothing, with its bell.
    fn conduct() -> Arc<Conduct> {
        Arc::new(Conduct::new(Arc::new(eventfd(0, EventfdFlags::NONBLOCK).unwrap())))
    }

    #[test]
    fn a_full_one_and_one_that_blocks_hold_nobody_up() {
        let theirs = eventfd(0, EventfdFlags::empty()).unwrap();
        let bell = Eventfd::new(theirs.try_clone().unwrap().into(), "call", &conduct()).unwrap();
        assert!(bell.signal());
        let mut count = [0; 8];
        rustix::io::read(&theirs, &mut count).unwrap();
        assert_eq!(u64::from_ne_bytes(count), 1);
        rustix::io::write(&theirs, &(u64::MAX - 1).to_ne_bytes()).unwrap();
        assert!(!bell.signal(), "it is full");
        fcntl_setfl(&theirs, OFlags::RDWR).unwrap();
        assert!(!bell.signal(), "it is full, and blocks its writers");
    }

    #[test]
    fn pipes_sockets_and_files_are_refused() {
        let (read, write) = rustix::pipe::pipe().unwrap();
        let (socket, _other) = std::os::unix::net::UnixStream::pair().unwrap();
        for descriptor in [read, write, OwnedFd::from(socket), tempfile::tempfile().unwrap().into()] {
            assert_eq!(
                Eventfd::new(descriptor.into(), "call", &conduct()).unwrap_err(),
                Refused::Eventfd("call")
            );
        }
    }

    /// A write that sleeps whatever flag we set, as it does for whom a peer is quicker.
    #[test]
    fn one_that_a_peer_has_sleep_is_ended_and_the_peer_is_called_no_more() {
        minder::start().unwrap();
        let conduct = conduct();
        let theirs = eventfd(0, EventfdFlags::empty()).unwrap();
        let bell = Eventfd::new(theirs.try_clone().unwrap().into(), "call", &conduct).unwrap();
        rustix::io::write(&theirs, &(u64::MAX - 1).to_ne_bytes()).unwrap();
        let is_over = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    fcntl_setfl(&theirs, OFlags::RDWR).unwrap();
                }
            });
            let deadline = Instant::now() + Duration::from_secs(60);
            while !conduct.has_held() && Instant::now() < deadline {
                assert!(!bell.signal(), "it is full");
            }
            is_over.store(true, Ordering::Relaxed);
        });
        assert!(conduct.has_held(), "it was never quicker");
        let mut count = [0; 8];
        rustix::io::read(&*conduct.bell, &mut count).unwrap();
        rustix::io::read(&theirs, &mut count).unwrap();
        assert!(!bell.signal() && !bell.try_clone().unwrap().signal(), "it is called again");
    }
}
