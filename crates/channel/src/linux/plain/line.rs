//! What both ends of both ways do: give a message away, and take one.

use std::time::Duration;

use tollway_host::fork::Origin;

use super::failed::Failed;
use super::futex::Futex;
use super::seqpacket::Socket;
use super::waiting::{Counts, Waiting};
use crate::linux::Shared;
use crate::time_limit::TimeLimit;

/// One end.
pub(super) struct Line {
    way: Way,
    /// How long it waits for a message.
    timeout: Option<Duration>,
    /// A child that fork(2) makes would take what is meant for this process.
    origin: Origin,
    /// Why it is used no more.
    ended: Option<Failed>,
}

pub(super) enum Way {
    Seqpacket(Socket),
    Handoff(Waiting<Shared, Futex>),
}

impl Line {
    pub(super) fn new(way: Way, timeout: Option<Duration>) -> Line {
        Line { way, timeout, origin: Origin::here(), ended: None }
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
        let mut limit = TimeLimit::new(self.timeout);
        let taken = match &mut self.way {
            Way::Seqpacket(socket) => socket.take(into, || limit.left()),
            Way::Handoff(waiting) => waiting.take(into, || limit.left()),
        };
        taken.map_err(|failed| self.ends(failed))
    }

    #[inline]
    fn lasts(&self) -> Result<(), Failed> {
        match self.ended {
            None if self.origin.is_here() => Ok(()),
            None => Err(Failed::Forked),
            Some(failed) => Err(failed),
        }
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
