//! The end that asks, in a process.

use std::os::unix::net::UnixStream;
use std::path::Path;

use tollway_core::Result;

use super::failed::Failed;
use super::line::Line;
use super::meeting::{self, Options};
use super::waiting::Counts;
use crate::linux::greeting;

/// The end that asks: one request at a time.
pub struct Client(Line);

impl core::fmt::Debug for Client {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Client")
            .field("longest", &self.longest())
            .field("counts", &self.counts())
            .finish_non_exhaustive()
    }
}

impl Client {
    /// Connects to the server that listens at that path.
    ///
    /// # Errors
    /// [`Error::Input`](tollway_core::Error::Input) if messages cannot be as long as that, or the server does not agree to it;
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
        meeting::ask(link, options).map(Client)
    }

    /// Sends a request and waits for its reply, of which as much is copied as there is room for: what the server says of it, and how many bytes
    /// were copied. It waits for as long as [`Options::timeout`] says.
    ///
    /// # Errors
    /// [`Failed`]. After [`Failed::TooLong`], when nothing was sent, there may be another request; after the others there may not.
    #[inline]
    pub fn call(
        &mut self,
        tag: u16,
        request: &[u8],
        reply: &mut [u8],
    ) -> std::result::Result<(u16, usize), Failed> {
        self.0.give(tag, request)?;
        self.0.take(reply)
    }

    /// The longest message, in bytes.
    pub fn longest(&self) -> usize {
        self.0.longest()
    }

    /// How it woke the server, and waited for it.
    pub fn counts(&self) -> Counts {
        self.0.counts()
    }
}
