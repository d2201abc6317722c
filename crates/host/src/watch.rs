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
    use std::sync::mpsc::{Receiver, channel};
    use std::sync::{Mutex, MutexGuard};

    use super::*;
    use crate::asleep::threads_of;
    use crate::eventually::eventually;

    /// Of this process one watches at a time: its thread is known by its name.
    static ALONE: Mutex<()> = Mutex::new(());

    /// A watch over the first of two sockets, both, and what hears of the release; others wait meanwhile.
    fn watched() -> (MutexGuard<'static, ()>, Watch, [UnixStream; 2], Receiver<()>) {
        // The others are none the worse for a test that failed.
        let alone = ALONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let (here, there) = UnixStream::pair().unwrap();
        let (tell, deaths) = channel();
        let watch = Watch::over(&here, Box::new(move || tell.send(()).unwrap())).unwrap();
        is_not_released(&deaths);
        (alone, watch, [here, there], deaths)
    }

    /// What came at the socket has woken the thread by now, if it does: that sleeps again or has released.
    fn is_not_released(deaths: &Receiver<()>) {
        let sleeps = || {
            threads_of(std::process::id()).iter().any(|thread| thread.name() == "watch" && thread.is_asleep())
        };
        let mut is_released = false;
        eventually("its thread sleeps", || {
            is_released = deaths.try_recv().is_ok();
            is_released || sleeps()
        });
        assert!(!is_released);
    }

    #[test]
    fn a_closed_socket_releases_and_a_message_does_not() {
        let (_alone, _watch, [_here, there], deaths) = watched();
        std::io::Write::write_all(&mut &there, b"hello").unwrap();
        is_not_released(&deaths);
        drop(there);
        deaths.recv().unwrap();
    }

    /// The socket is one for parent and child: shut by the child, it ended what the parent watches, and the
    /// child waited for a thread that it has not.
    #[test]
    fn watch_dropped_in_a_forked_child_leaves_its_parent_alone() {
        let (_alone, watch, [_here, there], deaths) = watched();
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
        is_not_released(&deaths);
        drop(there);
        deaths.recv().unwrap();
    }

    #[test]
    fn dropping_a_watch_ends_its_thread() {
        let (_alone, watch, _sockets, _deaths) = watched();
        drop(watch);
    }
}
