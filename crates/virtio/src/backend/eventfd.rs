//! Eventfds of a peer: the only kind of descriptor by which it may be called or call.
//!
//! A write to a pipe, a socket or a file can wait for the peer, or for a file system that the peer is. A write to an
//! eventfd waits only when its counter is full, and not even then without O_NONBLOCK being cleared; a full counter says
//! what the write would have said.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::io::Errno;

use super::Refused;
use super::received::{Received, is_eventfd};

/// An eventfd of a peer.
#[derive(Debug)]
pub(crate) struct Eventfd(OwnedFd);

impl Eventfd {
    /// Takes a descriptor if it is an eventfd. `what`: for the error.
    pub(crate) fn new(descriptor: Received, what: &'static str) -> Result<Eventfd, Refused> {
        let refused = Refused::Eventfd(what);
        let descriptor = descriptor.into_if(is_eventfd).ok_or(refused.clone())?;
        let flags = fcntl_getfl(&descriptor).map_err(|_| refused.clone())?;
        fcntl_setfl(&descriptor, flags | OFlags::NONBLOCK).map_err(|_| refused)?;
        Ok(Eventfd(descriptor))
    }

    /// An eventfd of this process.
    pub(crate) fn own(eventfd: OwnedFd) -> Eventfd {
        Eventfd(eventfd)
    }

    /// The same eventfd once more.
    pub(crate) fn try_clone(&self) -> Result<Eventfd, Refused> {
        self.0.try_clone().map(Eventfd).map_err(|e| Refused::Connection(e.to_string()))
    }

    /// Adds one to it. Whether the kernel did: not if it is full, which tells its reader as much.
    pub(crate) fn signal(&self) -> bool {
        // The peer may have cleared the flag, which both share, and filled the counter.
        if fcntl_setfl(&self.0, OFlags::RDWR | OFlags::NONBLOCK).is_err() {
            return false;
        }
        loop {
            match rustix::io::write(&self.0, &1u64.to_ne_bytes()) {
                Err(Errno::INTR) => {}
                done => return done.is_ok(),
            }
        }
    }
}

impl AsFd for Eventfd {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use rustix::event::{EventfdFlags, eventfd};

    use super::*;

    #[test]
    fn a_full_one_and_one_that_blocks_hold_nobody_up() {
        let theirs = eventfd(0, EventfdFlags::empty()).unwrap();
        let bell = Eventfd::new(theirs.try_clone().unwrap().into(), "call").unwrap();
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
            assert_eq!(Eventfd::new(descriptor.into(), "call").unwrap_err(), Refused::Eventfd("call"));
        }
    }
}
