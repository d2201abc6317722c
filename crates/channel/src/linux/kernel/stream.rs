//! One operation with many results: connections as they come, and what arrives at one.

use std::io;
use std::os::fd::OwnedFd;
use std::task::{Context, Poll};

use io_uring::cqueue;

use super::Piece;
use super::deed::Held;
use super::file::File;
use super::flight::Flight;

/// Connections as they come to a listening socket: the kernel is asked once for all (Linux 5.19). Takes one of the ring's operations while it lives. Dropped,
/// it closes those that came and were not taken.
pub struct Accepting<'k> {
    pub(super) flight: Flight<'k>,
    pub(super) file: File,
}

impl core::fmt::Debug for Accepting<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Accepting").field("file", &self.file).finish_non_exhaustive()
    }
}

impl Accepting<'_> {
    /// The next connection.
    ///
    /// # Errors
    /// What accept(2) says; it may be asked again then.
    pub async fn next(&mut self) -> io::Result<OwnedFd> {
        std::future::poll_fn(|context| {
            let (came, held) = std::task::ready!(self.flight.poll(context));
            if held.is_some() {
                let held = Held::file(&self.file, &self.flight.kernel().0);
                self.flight.again(held);
            }
            Poll::Ready(came.descriptor())
        })
        .await
    }
}

/// What arrives at a connection, in pieces of the ring's memory: the kernel is asked once for all (Linux 6.0), and chooses a piece when something
/// has arrived. Takes one of the ring's operations while it lives.
pub struct Receiving<'k> {
    pub(super) flight: Flight<'k>,
    pub(super) file: File,
}

impl core::fmt::Debug for Receiving<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Receiving").field("file", &self.file).finish_non_exhaustive()
    }
}

impl Receiving<'_> {
    pub(super) fn held(&self) -> Held {
        Held { pool: self.flight.pool(), ..Held::file(&self.file, &self.flight.kernel().0) }
    }

    /// What has arrived next; none when the other side has closed. While all pieces are with those who read them, it waits for one.
    ///
    /// # Errors
    /// What recv(2) says; ENOBUFS if the ring was opened without [pieces](super::Options::pieces).
    pub async fn next(&mut self) -> io::Result<Option<Piece>> {
        std::future::poll_fn(|context| self.poll(context)).await
    }

    fn poll(&mut self, context: &Context<'_>) -> Poll<io::Result<Option<Piece>>> {
        let Some(pool) = self.flight.pool() else {
            return Poll::Ready(Err(io::Error::from_raw_os_error(libc::ENOBUFS)));
        };
        loop {
            if self.flight.is_out() && !pool.has_some() && !self.flight.is_stopped() {
                pool.waits(context.waker());
                return Poll::Pending;
            }
            let (came, held) = std::task::ready!(self.flight.poll(context));
            if held.is_some() {
                let held = self.held();
                self.flight.again(held);
            }
            let piece = cqueue::buffer_select(came.flags)
                .map(|index| pool.takes(index, usize::try_from(came.result).unwrap_or(0)));
            match came.count() {
                // All pieces are taken: again when one is back.
                Err(error) if error.raw_os_error() == Some(libc::ENOBUFS) => {}
                Err(error) => return Poll::Ready(Err(error)),
                Ok(0) => return Poll::Ready(Ok(None)),
                Ok(_) => return Poll::Ready(Ok(piece)),
            }
        }
    }
}
