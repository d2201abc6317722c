//! Notices that the other end of an exchange is gone.
//!
//! An end that sleeps on a futex, or spins on shared memory, does not learn that its partner has died. Time limits
//! on every wait would be part of what is measured. So a thread sleeps in `poll` on the socket that both ends keep
//! open between them, costs nothing meanwhile, and releases its end when that socket is closed.

use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::thread::{Builder, JoinHandle};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use tollway_core::{Error, Result};

use crate::fork::Origin;

/// Makes an end of an exchange return from what it is doing.
pub type Release = Box<dyn FnOnce() + Send>;

/// Watches a socket for as long as it lives.
#[derive(Debug)]
pub struct Watch {
    link: UnixStream,
    thread: Option<JoinHandle<()>>,
    origin: Origin,
}

impl Watch {
    /// Calls `release` once when the other side of `link` is closed. When the watch is dropped first, `release` is
    /// called then, so it must do no harm to an exchange that has ended; nothing more can be read from `link` after.
    pub fn over(link: &UnixStream, release: Release) -> Result<Watch> {
        let failed = |e| Error::system("watching for the end of the other side", e);
        let (link, watched) = (link.try_clone().map_err(failed)?, link.try_clone().map_err(failed)?);
        let thread = Builder::new()
            .name("watch".into())
            .spawn(move || {
                let mut closed = [PollFd::new(&watched, PollFlags::RDHUP)];
                while poll(&mut closed, None) == Err(Errno::INTR) {}
                release();
            })
            .map_err(failed)?;
        Ok(Watch { link, thread: Some(thread), origin: Origin::here() })
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        if !self.origin.is_here() {
            // A copy that fork(2) made: the thread is its parent's, and so is the socket, which would be shut
            // there as well.
            return std::mem::forget(self.thread.take());
        }
        // Wakes the thread; an error means that the socket is closed, which has woken it.
        let _ = self.link.shutdown(Shutdown::Read);
        if let Some(thread) = self.thread.take() {
            // It panics only if `release` does.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_closed_socket_releases_and_a_message_does_not() {
        let (here, there) = UnixStream::pair().unwrap();
        let (tell, deaths) = channel();
        let _watch = Watch::over(&here, Box::new(move || tell.send(()).unwrap())).unwrap();
        std::io::Write::write_all(&mut &there, b"hello").unwrap();
        assert!(deaths.recv_timeout(Duration::from_millis(50)).is_err());
        drop(there);
        assert!(deaths.recv_timeout(Duration::from_secs(60)).is_ok());
    }

    /// The socket is one for parent and child: shut by the child, it ended what the parent watches, and the
    /// child waited for a thread that it has not.
    #[test]
    fn watch_dropped_in_a_forked_child_leaves_its_parent_alone() {
        let (here, there) = UnixStream::pair().unwrap();
        let (tell, deaths) = channel();
        let watch = Watch::over(&here, Box::new(move || tell.send(()).unwrap())).unwrap();
        // SAFETY: the child drops what it has a copy of, which takes no lock that another thread may have
        // held, and ends.
        let child = unsafe { libc::fork() };
        if child == 0 {
            drop(watch);
            // SAFETY: it ends this process.
            unsafe { libc::_exit(0) }
        }
        let mut status = 1;
        // SAFETY: the place for the status is this function's.
        unsafe { libc::waitpid(child, &raw mut status, 0) };
        assert_eq!(status, 0);
        assert!(deaths.recv_timeout(Duration::from_millis(50)).is_err());
        drop(there);
        assert!(deaths.recv_timeout(Duration::from_secs(60)).is_ok());
    }

    #[test]
    fn dropping_a_watch_ends_its_thread() {
        let (here, _there) = UnixStream::pair().unwrap();
        drop(Watch::over(&here, Box::new(|| ())).unwrap());
    }
}
