//! The end that asks, in a process.

use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tollway_core::Result;

use super::Options;
use super::connection::{Connection, Counts};
use super::dispatcher::Dispatcher;
use super::doorbell::Doorbell;
use super::greeting;
use super::meeting::{self, Met};
use super::shared::Shared;
use crate::coroutine::Calls;
use crate::failed::Failed;
use crate::ring::Violation;
use crate::ring::client::{self, Refused, Reply};
use crate::time_limit::TimeLimit;
use crate::wait::Gone;

/// The end that asks.
pub struct Client {
    ring: client::Client<Shared>,
    connection: Connection,
    timeout: Option<Duration>,
}

impl core::fmt::Debug for Client {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Client")
            .field("geometry", &self.ring.geometry())
            .field("in_flight", &self.in_flight())
            .field("counts", &self.counts())
            .finish_non_exhaustive()
    }
}

/// The end that asks, for several threads of a process: each [calls](crate::threads::Caller::call) and waits for its own reply.
pub type Caller = crate::threads::Caller<Shared, Arc<Doorbell>>;

impl Client {
    /// Connects to the server that listens at that path.
    ///
    /// # Errors
    /// [`Error::Input`](tollway_core::Error::Input) if there can be no such channel, or the server does not agree to it;
    /// [`Error::System`](tollway_core::Error::System) if nobody listens, the server says nothing [in time](Options::within), or the kernel refuses.
    pub fn connect(path: impl AsRef<Path>, options: &Options) -> Result<Client> {
        meeting::checked(options)?;
        Client::over(greeting::connected(path.as_ref(), options.within)?, options)
    }

    /// Meets the server at the other end of a socket.
    ///
    /// # Errors
    /// As [`connect`](Client::connect).
    pub fn over(link: UnixStream, options: &Options) -> Result<Client> {
        let Met { memory, geometry, doorbell } = meeting::ask(link, options)?;
        let connection = Connection::new(doorbell, options.patience);
        Ok(Client { ring: client::Client::new(memory, geometry), connection, timeout: options.timeout })
    }

    /// Sends a request ([`send`](client::Client::send)): it goes on its way at once, but a server that sleeps sleeps on until
    /// [`flush`](Client::flush).
    ///
    /// # Errors
    /// [`Refused`]; nothing was sent then.
    #[inline]
    pub fn send(&mut self, tag: u16, bytes: &[u8]) -> std::result::Result<u16, Refused> {
        self.ring.send(tag, bytes)
    }

    /// Wakes the server if it sleeps.
    #[inline]
    pub fn flush(&mut self) {
        self.connection.flush(&self.ring);
    }

    /// The next reply, if one has come.
    ///
    /// # Errors
    /// [`Violation`] if the server breaks the rules, now and ever after.
    #[inline]
    pub fn take(&mut self) -> std::result::Result<Option<Reply>, Violation> {
        self.ring.take()
    }

    /// Copies the beginning of a reply, as far as there is room; how many bytes that were.
    ///
    /// # Panics
    /// If the reply is another end's.
    #[inline]
    pub fn read(&self, reply: &Reply, into: &mut [u8]) -> usize {
        self.ring.read(reply, into)
    }

    /// A reply is not needed any more.
    ///
    /// # Panics
    /// If the reply is another end's.
    #[inline]
    pub fn release(&mut self, reply: Reply) {
        self.ring.release(reply);
    }

    /// Wakes the server if it sleeps, and waits until a reply has come.
    ///
    /// # Errors
    /// [`Gone`] if the server is no more and has left none.
    #[inline]
    pub fn wait(&mut self) -> std::result::Result<(), Gone> {
        self.connection.wait(&self.ring, || false)
    }

    /// The same, up to this time limit; whether a reply has come. It may look for a moment longer than that
    /// before it sleeps.
    ///
    /// # Errors
    /// [`Gone`] if the server is no more and has left none.
    pub fn wait_for(&mut self, at_most: Duration) -> std::result::Result<bool, Gone> {
        self.connection.wait_within(&self.ring, &mut TimeLimit::new(Some(at_most)))
    }

    /// Sends a request and waits for its reply, of which as much is copied as there is room for: what the server says of it, and how many bytes
    /// were copied. For one at a time: of others that come meanwhile nothing is left. It waits for as long as
    /// [`Options::timeout`] says.
    ///
    /// # Errors
    /// [`Failed`].
    pub fn call(
        &mut self,
        tag: u16,
        request: &[u8],
        reply: &mut [u8],
    ) -> std::result::Result<(u16, usize), Failed> {
        let slot = match self.send(tag, request) {
            Err(Refused::Full) => self.sends_after_others(tag, request)?,
            sent => sent?,
        };
        let mut limit = TimeLimit::new(self.timeout);
        loop {
            let waited = self.connection.wait_within(&self.ring, &mut limit);
            if !waited.map_err(|Gone| Failed::Gone)? {
                return Err(Failed::TimedOut);
            }
            while let Some(came) = self.take().map_err(Failed::Broken)? {
                if came.slot() == slot {
                    let answer = if came.is_unanswered() {
                        Err(Failed::Unanswered)
                    } else {
                        Ok((came.tag(), self.read(&came, reply)))
                    };
                    self.release(came);
                    return answer;
                }
                self.release(came);
            }
        }
    }

    /// Sends a request where all slots were taken: those of calls that [timed out](Failed::TimedOut) may be
    /// free by now.
    #[cold]
    fn sends_after_others(&mut self, tag: u16, request: &[u8]) -> std::result::Result<u16, Failed> {
        while let Some(came) = self.take().map_err(Failed::Broken)? {
            self.release(came);
        }
        self.send(tag, request).map_err(|refused| match refused {
            // Slots of requests that a server left unanswered are never free again.
            Refused::Full if self.is_gone() => Failed::Gone,
            refused => refused.into(),
        })
    }

    /// Nudges a server that [waits for that](super::Server::nudged), and sleeps until it nudges this end: what a notice costs there and back, with nothing in
    /// the rings. As with messages, who is nudged before it sleeps is not woken.
    ///
    /// # Errors
    /// [`Gone`] if the server is no more.
    pub fn nudge(&mut self) -> std::result::Result<(), Gone> {
        self.connection.nudges(&self.ring);
        self.connection.is_nudged(&self.ring)
    }

    /// How many slots are taken ([`in_flight`](client::Client::in_flight)).
    pub fn in_flight(&self) -> usize {
        self.ring.in_flight()
    }

    /// Whether the server is known to be no more; it may have left something. For who looks by [`take`](Self::take) alone: a call of the kernel where ends
    /// are woken by eventfds.
    pub fn is_gone(&self) -> bool {
        self.connection.is_gone()
    }

    /// How it waited, and how often it woke the server.
    pub fn counts(&self) -> Counts {
        self.connection.counts()
    }

    /// For several threads. Replies to requests that are on their way are dropped when they come.
    pub fn into_caller(self) -> Caller {
        let (doorbell, patience) = self.connection.into_parts();
        Caller::new(self.ring, Arc::new(doorbell), patience).with_timeout(self.timeout)
    }

    /// For tasks: their requests, and what brings them the replies. Those to requests that are on their way are dropped when they come.
    pub fn into_calls(self) -> (Calls<Shared>, Dispatcher<Calls<Shared>>) {
        let calls = Calls::new(self.ring);
        (calls.clone(), Dispatcher::new(calls, self.connection))
    }
}
