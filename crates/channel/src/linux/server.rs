//! The end that answers, in a process.

use std::os::unix::net::UnixStream;

use tollway_core::Result;

use super::Limits;
use super::connection::{Connection, Counts};
use super::dispatcher::Dispatcher;
use super::meeting::{self, Met};
use super::shared::Shared;
use crate::coroutine::Incoming;
use crate::ring::Violation;
use crate::ring::server::{self, Request};
use crate::wait::Gone;

/// The end that answers: one client's.
pub struct Server {
    ring: server::Server<Shared>,
    connection: Connection,
}

impl core::fmt::Debug for Server {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Server")
            .field("geometry", &self.ring.geometry())
            .field("counts", &self.counts())
            .finish_non_exhaustive()
    }
}

impl Server {
    /// Meets the client at the other end of a socket, within a second or two. But descriptors that it should not have sent are closed here, and one of a file
    /// of FUSE for as long as whoever serves that likes: clients that may be hostile are to be met by a thread each.
    ///
    /// # Errors
    /// [`Error::Input`](tollway_core::Error::Input) if it asks for what is not given; [`Error::System`](tollway_core::Error::System) if it says
    /// nothing, or the kernel refuses.
    pub fn over(link: UnixStream, limits: &Limits) -> Result<Server> {
        let Met { memory, geometry, doorbell } = meeting::answer(link, limits)?;
        let connection = Connection::new(doorbell, limits.patience);
        Ok(Server { ring: server::Server::new(memory, geometry), connection })
    }

    /// The next request, if one has come.
    ///
    /// # Errors
    /// [`Violation`] if the client breaks the rules, now and ever after.
    #[inline]
    pub fn take(&mut self) -> std::result::Result<Option<Request>, Violation> {
        self.ring.take()
    }

    /// Copies the beginning of a request, as far as there is room; how many bytes that were.
    ///
    /// # Panics
    /// If the request is another end's.
    #[inline]
    pub fn read(&self, request: &Request, into: &mut [u8]) -> usize {
        self.ring.read(request, into)
    }

    /// Answers a request ([`answer`](server::Server::answer)): it is seen at once, but a client that sleeps sleeps on until
    /// [`flush`](Server::flush). In a child that fork(2) made nothing is answered, and 0 returned.
    ///
    /// # Panics
    /// If the request is another end's.
    #[inline]
    pub fn answer(&mut self, request: Request, tag: u16, bytes: &[u8]) -> usize {
        self.ring.answer(request, tag, bytes)
    }

    /// Ends a request without an answer: its client is told, as by an answer.
    ///
    /// # Panics
    /// If the request is another end's.
    pub fn give_up(&mut self, request: Request) {
        self.ring.give_up(request);
    }

    /// Wakes the client if it sleeps.
    #[inline]
    pub fn flush(&mut self) {
        self.connection.flush(&self.ring);
    }

    /// Wakes the client if it sleeps, and waits until a request has come.
    ///
    /// # Errors
    /// [`Gone`] if the client is no more and has left none.
    #[inline]
    pub fn wait(&mut self) -> std::result::Result<(), Gone> {
        self.connection.wait(&self.ring, || false)
    }

    /// Answers every request until the client is gone: `answers` is given a request's tag and bytes and room for a reply, and says the reply's tag
    /// and length.
    ///
    /// # Errors
    /// [`Violation`] if the client breaks the rules.
    ///
    /// # Panics
    /// If `answers` names a length for which there was no room, or panics itself: the request is [given
    /// up](Server::give_up) then.
    pub fn serve(
        &mut self,
        mut answers: impl FnMut(u16, &[u8], &mut [u8]) -> (u16, usize),
    ) -> std::result::Result<(), Violation> {
        let longest = self.ring.geometry().bytes();
        let (mut request, mut reply) = (vec![0; longest], vec![0; longest]);
        while let Ok(()) = self.wait() {
            while let Some(came) = self.take()? {
                let bytes = self.read(&came, &mut request);
                let due = Due { server: self, request: Some(came) };
                let (tag, bytes) = answers(due.tag(), &request[..bytes], &mut reply);
                due.answer(tag, &reply[..bytes]);
                self.connection.hint(&self.ring);
            }
        }
        Ok(())
    }

    /// Sleeps until it is nudged, and nudges the client, until that is gone: the other end of [`Client::nudge`](super::Client::nudge). How often that was.
    pub fn nudged(&mut self) -> u64 {
        let mut times = 0;
        while self.connection.is_nudged(&self.ring).is_ok() {
            self.connection.nudges(&self.ring);
            times += 1;
        }
        times
    }

    /// Whether the client is known to be no more; it may have left something. For who looks by [`take`](Self::take) alone: a call of the kernel where ends
    /// are woken by eventfds.
    pub fn is_gone(&self) -> bool {
        self.connection.is_gone()
    }

    /// How it waited, and how often it woke the client.
    pub fn counts(&self) -> Counts {
        self.connection.counts()
    }

    /// For tasks: the requests that come, and what brings them.
    pub fn into_incoming(self) -> (Incoming<Shared>, Dispatcher<Incoming<Shared>>) {
        let incoming = Incoming::new(self.ring);
        (incoming.clone(), Dispatcher::new(incoming, self.connection))
    }
}

/// A request that is to be answered. If that comes to nothing, as who answers panics, its client is told at
/// once: this end may live on.
struct Due<'s> {
    server: &'s mut Server,
    request: Option<Request>,
}

impl Due<'_> {
    fn tag(&self) -> u16 {
        self.request.as_ref().map_or(0, Request::tag)
    }

    fn answer(mut self, tag: u16, bytes: &[u8]) {
        if let Some(request) = self.request.take() {
            self.server.answer(request, tag, bytes);
        }
    }
}

impl Drop for Due<'_> {
    fn drop(&mut self) {
        if let Some(request) = self.request.take() {
            self.server.give_up(request);
            self.server.flush();
        }
    }
}
