//! The books of a source: what it counts itself, what the socket counts, what the interface counts.

use tollway_wire::{Counters, Watch};

use super::SourceError;
use super::engine::{Counts, Engine};
use crate::engine::Accounting;

/// Who knows how many frames were offered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OfferedBy {
    /// The socket, or the program that feeds it: it saw every frame.
    Socket,
    /// The interface, since the kernel's filter does not count what it refuses. That others were filtered out is
    /// inferred from its counters, which can be off by the frames under way when they were read.
    Interface,
    /// Nobody: the interface's frames are shared by a group behind a filter in the kernel, or its counters are of no
    /// use.
    Nobody,
}

/// Counts of one source.
#[derive(Debug)]
pub struct Books {
    /// Frames that were read, and those of them that were handed on.
    read: u64,
    delivered: u64,
    /// As of the last look.
    socket: Counts,
    received: Option<u64>,
    lost: Option<u64>,
    /// The interface's counters at the beginning.
    first: Counters,
    kernel_filters: bool,
    both_ways: bool,
    counts_own_drops: bool,
    member: Member,
    closed: bool,
}

/// Whether others share the interface's frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Member {
    Alone,
    /// Tells for the group what the interface lost.
    First,
    Other,
}

impl Books {
    /// Of a source that begins when the interface has counted `first`. `both_ways`: what is sent is captured too;
    /// `counts_own_drops`: the interface may count what this source drops.
    pub fn open(first: Counters, kernel_filters: bool, both_ways: bool, counts_own_drops: bool) -> Books {
        Books {
            read: 0,
            delivered: 0,
            socket: Counts::default(),
            received: None,
            lost: None,
            first,
            kernel_filters,
            both_ways,
            counts_own_drops,
            member: Member::Alone,
            closed: false,
        }
    }

    /// It shares the frames, and tells what the interface lost.
    pub fn first_of_group(&mut self) {
        self.member = Member::First;
    }

    /// It shares the frames with one that tells what the interface lost.
    pub fn other_of_group(&mut self) {
        self.member = Member::Other;
    }

    /// So many frames were read, and so many of them handed on.
    #[inline]
    pub fn read(&mut self, read: u64, delivered: u64) {
        self.read += read;
        self.delivered += delivered;
    }

    /// Looks at the counters of others, unless the books are closed.
    pub fn look(&mut self, engine: &mut Engine, watch: &Watch) -> Result<(), SourceError> {
        if self.closed {
            return Ok(());
        }
        self.socket = engine.counts()?;
        // An interface that has gone took its counters along.
        let now = watch.look().ok().map(|facts| facts.counters);
        let first = self.first;
        let risen = |of: fn(&Counters) -> u64| of(&now?).checked_sub(of(&first));
        self.received = risen(|c| c.received)
            .zip(risen(|c| c.sent))
            .map(|(received, sent)| received + if self.both_ways { sent } else { 0 });
        // What the interface counts as dropped says nothing if it is not 0: the kernel mixes frames that it had no room
        // for with frames that came here and that no protocol wanted (tags of unknown VLANs). Of AF_XDP's own drops some
        // drivers count each once more.
        let dropped = risen(|c| c.receive_dropped);
        let is_ours = self.counts_own_drops && dropped == Some(self.socket.dropped);
        self.lost = risen(|c| c.receive_missed).filter(|_| dropped == Some(0) || is_ours);
        Ok(())
    }

    /// From now on counters stand still.
    pub fn close(&mut self) {
        self.closed = true;
    }

    /// Frames that the socket had taken at the last look and that were not read yet.
    pub fn waiting(&self) -> u64 {
        self.socket.passed.saturating_sub(self.socket.dropped).saturating_sub(self.read)
    }

    pub fn offered_by(&self) -> OfferedBy {
        match (self.kernel_filters, self.member) {
            (false, _) => OfferedBy::Socket,
            (true, Member::Alone) if self.received.is_some() && self.lost.is_some() => OfferedBy::Interface,
            (true, _) => OfferedBy::Nobody,
        }
    }

    pub fn accounting(&self) -> Accounting {
        let lost_before = if self.member == Member::Other { Some(0) } else { self.lost };
        let filtered_here = self.read - self.delivered;
        let (offered, filtered_out) = match self.offered_by() {
            OfferedBy::Socket => (lost_before.map(|lost| self.socket.passed + lost), Some(filtered_here)),
            OfferedBy::Interface => {
                let refused = self.received.and_then(|r| r.checked_sub(self.socket.passed));
                (
                    self.received.zip(lost_before).map(|(received, lost)| received + lost),
                    refused.map(|refused| refused + filtered_here),
                )
            }
            OfferedBy::Nobody => (None, None),
        };
        Accounting {
            offered,
            filtered_out,
            delivered: self.delivered,
            dropped: Some(self.socket.dropped),
            lost_before,
        }
    }
}
