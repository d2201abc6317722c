//! The end that answers, in a process.

use std::os::unix::net::UnixStream;

use tollway_core::Result;

use super::failed::Failed;
use super::line::Line;
use super::meeting::{self, Limits};
use super::waiting::Counts;

/// The end that answers: one client's.
pub struct Server(Line);

impl core::fmt::Debug for Server {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Server")
            .field("longest", &self.longest())
            .field("counts", &self.counts())
            .finish_non_exhaustive()
    }
}

impl Server {
    /// Meets the client at the other end of a socket, which has a second to say what it wants. But descriptors that it sent are closed here, and one of a file
    /// of FUSE for as long as whoever serves that likes: clients that may be hostile are to be met by a thread each.
    ///
    /// # Errors
    /// [`Error::Input`](tollway_core::Error::Input) if it asks for what is not given; [`Error::System`](tollway_core::Error::System) if it says
    /// nothing, or the kernel refuses.
    pub fn over(link: UnixStream, limits: &Limits) -> Result<Server> {
        meeting::answer(link, limits).map(Server)
    }

    /// Waits for the next request, and copies its beginning, as far as there is room: its tag, and how many bytes that were.
    ///
    /// # Errors
    /// [`Failed::NotItsTurn`] if the last one has no [answer](Server::answer); [`Failed::Gone`] if the client is no more; others if it broke
    /// the rules.
    #[inline]
    pub fn next(&mut self, request: &mut [u8]) -> std::result::Result<(u16, usize), Failed> {
        self.0.take(request)
    }

    /// Answers the request: by these bytes, of which `tag` is said.
    ///
    /// # Errors
    /// [`Failed::NotItsTurn`] if there is none; [`Failed::TooLong`], and it has no answer yet; [`Failed::Gone`] if the client is no more; others if
    /// it broke the rules.
    #[inline]
    pub fn answer(&mut self, tag: u16, reply: &[u8]) -> std::result::Result<(), Failed> {
        self.0.give(tag, reply)
    }

    /// Answers every request until the client is gone: `answers` is given a request's tag and bytes and room for a reply, and says the reply's tag
    /// and length.
    ///
    /// # Errors
    /// [`Failed`] if the client breaks the rules, or the kernel refuses.
    ///
    /// # Panics
    /// If `answers` names a length for which there was no room.
    pub fn serve(
        &mut self,
        mut answers: impl FnMut(u16, &[u8], &mut [u8]) -> (u16, usize),
    ) -> std::result::Result<(), Failed> {
        let longest = self.longest();
        let (mut request, mut reply) = (vec![0; longest], vec![0; longest]);
        loop {
            let answered = self.next(&mut request).and_then(|(tag, bytes)| {
                let (tag, bytes) = answers(tag, &request[..bytes], &mut reply);
                self.answer(tag, &reply[..bytes])
            });
            match answered {
                Ok(()) => {}
                Err(Failed::Gone) => return Ok(()),
                Err(failed) => return Err(failed),
            }
        }
    }

    /// The longest message, in bytes.
    pub fn longest(&self) -> usize {
        self.0.longest()
    }

    /// How it woke the client, and waited for it.
    pub fn counts(&self) -> Counts {
        self.0.counts()
    }
}
