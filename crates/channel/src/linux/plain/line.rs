//! What both ends of both ways do: give a message away, and take one.

use super::failed::Failed;
use super::futex::Futex;
use super::seqpacket::Socket;
use super::waiting::{Counts, Waiting};
use crate::linux::Shared;

/// One end.
pub(super) struct Line {
    way: Way,
    /// Why it is used no more.
    ended: Option<Failed>,
}

pub(super) enum Way {
    Seqpacket(Socket),
    Handoff(Waiting<Shared, Futex>),
}

impl Line {
    pub(super) fn new(way: Way) -> Line {
        Line { way, ended: None }
    }

    /// Gives a message away.
    #[inline]
    pub(super) fn give(&mut self, tag: u16, bytes: &[u8]) -> Result<(), Failed> {
        self.lasts()?;
        let given = match &mut self.way {
            Way::Seqpacket(socket) => socket.give(tag, bytes),
            Way::Handoff(waiting) => waiting.give(tag, bytes),
        };
        given.map_err(|failed| self.ends(failed))
    }

    /// Waits for a message, and copies its beginning, as far as there is room: its tag, and how many bytes that were.
    #[inline]
    pub(super) fn take(&mut self, into: &mut [u8]) -> Result<(u16, usize), Failed> {
        self.lasts()?;
        let taken = match &mut self.way {
            Way::Seqpacket(socket) => socket.take(into),
            Way::Handoff(waiting) => waiting.take(into),
        };
        taken.map_err(|failed| self.ends(failed))
    }

    #[inline]
    fn lasts(&self) -> Result<(), Failed> {
        self.ended.map_or(Ok(()), Err)
    }

    /// What is this end's own mistake ends nothing.
    #[cold]
    fn ends(&mut self, failed: Failed) -> Failed {
        if !matches!(failed, Failed::TooLong | Failed::NotItsTurn) {
            self.ended = Some(failed);
        }
        failed
    }

    /// The longest message, in bytes.
    pub(super) fn longest(&self) -> usize {
        match &self.way {
            Way::Seqpacket(socket) => socket.longest(),
            Way::Handoff(waiting) => waiting.longest(),
        }
    }

    pub(super) fn counts(&self) -> Counts {
        match &self.way {
            Way::Seqpacket(socket) => socket.counts(),
            Way::Handoff(waiting) => waiting.counts(),
        }
    }
}
