//! The end that asks.

use alloc::boxed::Box;
use alloc::vec::Vec;

use super::bell::Bell;
use super::cursor::{Cursor, Next};
use super::entry::{Entry, UNANSWERED, foreseen};
use super::layout::{End, Geometry};
use super::{Memory, Violation, Watched, message, near, next_number};

/// The end that asks: gives requests away and takes replies in the order in which they come, which may be any.
#[derive(Debug)]
pub struct Client<M> {
    memory: M,
    geometry: Geometry,
    /// Stands in the replies that it gives out.
    number: u32,
    asked: Cursor,
    answered: Cursor,
    /// Slots that are free. The one used last is used next: its lines are still near.
    free: Vec<u16>,
    /// Whether a slot is with the server.
    is_away: Box<[bool]>,
    /// The slot of the last request.
    last: u16,
    violation: Option<Violation>,
}

/// Why a request was not sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// All slots are taken: there is room when a reply has been released.
    Full,
    /// It has more bytes than a message can.
    Long,
    /// The server broke the rules.
    Broken(Violation),
}

impl core::fmt::Display for Refused {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Refused::Full => f.write_str("as many requests as there are slots have no reply yet"),
            Refused::Long => f.write_str("the request is longer than a message can be"),
            Refused::Broken(violation) => violation.fmt(f),
        }
    }
}

impl core::error::Error for Refused {}

/// A reply that has come. It keeps its slot until it is [released](Client::release).
#[must_use = "its slot is not free again before it is released"]
#[derive(Debug, PartialEq, Eq)]
pub struct Reply {
    /// Of its end.
    end: u32,
    slot: u16,
    bytes: u16,
    tag: u16,
    is_unanswered: bool,
}

impl Reply {
    /// The slot, which [`Client::send`] told of the request.
    pub fn slot(&self) -> u16 {
        self.slot
    }

    /// What the server says of it.
    pub fn tag(&self) -> u16 {
        self.tag
    }

    /// How many bytes it has.
    pub fn bytes(&self) -> usize {
        self.bytes.into()
    }

    /// Whether it is none: the server has [given the request up](super::server::Server::give_up).
    #[inline]
    pub fn is_unanswered(&self) -> bool {
        self.is_unanswered
    }
}

impl<M: Memory> Client<M> {
    /// An end in memory that is all zero.
    ///
    /// # Panics
    /// If the memory has fewer words than [`Geometry::words`] says.
    pub fn new(memory: M, geometry: Geometry) -> Client<M> {
        assert!(memory.words().len() >= geometry.words(), "the memory is too small");
        Client {
            memory,
            geometry,
            number: next_number(),
            asked: Cursor::new(geometry.entries(End::Server)),
            answered: Cursor::new(geometry.entries(End::Client)),
            free: (0..geometry.slots() as u16).rev().collect(),
            is_away: (0..geometry.slots()).map(|_| false).collect(),
            last: 0,
            violation: None,
        }
    }

    /// Sends a request: of these bytes, of which `tag` is said. The slot in which its reply will come.
    ///
    /// The server may see it at once, but is not woken: who has sent several [answers its bell](Bell::answer) after the last.
    ///
    /// # Errors
    /// [`Refused`]; nothing was sent then.
    #[inline]
    pub fn send(&mut self, tag: u16, bytes: &[u8]) -> Result<u16, Refused> {
        if bytes.len() > self.geometry.bytes() {
            return Err(Refused::Long);
        }
        if let Some(violation) = self.violation {
            return Err(Refused::Broken(violation));
        }
        if !self.memory.is_own() {
            return self.broken(Violation::Forked).map_err(Refused::Broken);
        }
        let slot = self.free.pop().ok_or(Refused::Full)?;
        self.is_away[usize::from(slot)] = true;
        self.last = slot;
        let words = self.memory.words();
        message::store(&words[self.geometry.slot(slot)], bytes);
        let entry = Entry { slot, bytes: bytes.len() as u16, tag };
        self.asked.write(words, entry);
        Ok(slot)
    }

    /// The slot that the next request will have; none while all are taken.
    #[inline]
    pub fn next_slot(&self) -> Option<u16> {
        self.free.last().copied()
    }

    /// How it is laid out.
    pub fn geometry(&self) -> Geometry {
        self.geometry
    }

    /// The next reply, if there is one.
    ///
    /// # Errors
    /// [`Violation`] if the server breaks the rules, now and ever after.
    #[inline]
    pub fn take(&mut self) -> Result<Option<Reply>, Violation> {
        if let Some(violation) = self.violation {
            return Err(violation);
        }
        if !self.memory.is_own() {
            return self.broken(Violation::Forked);
        }
        let words = self.memory.words();
        let Some(Entry { slot, bytes, tag }) = self.answered.read(words) else { return Ok(None) };
        let slot = foreseen(slot, self.last);
        match self.is_away.get_mut(usize::from(slot)) {
            Some(is_away) if *is_away => *is_away = false,
            _ => return self.broken(Violation::Slot(slot)),
        }
        if usize::from(bytes) > self.geometry.bytes() {
            return self.without_bytes(slot, bytes, tag);
        }
        near::fetch(&words[self.geometry.slot(slot)]);
        Ok(Some(Reply { end: self.number, slot, bytes, tag, is_unanswered: false }))
    }

    #[cold]
    fn without_bytes(&mut self, slot: u16, bytes: u16, tag: u16) -> Result<Option<Reply>, Violation> {
        if bytes != UNANSWERED {
            return self.broken(Violation::Bytes(bytes));
        }
        Ok(Some(Reply { end: self.number, slot, bytes: 0, tag, is_unanswered: true }))
    }

    #[cold]
    fn broken<T>(&mut self, violation: Violation) -> Result<T, Violation> {
        self.violation = Some(violation);
        Err(violation)
    }

    /// Copies the beginning of a reply, as far as there is room; how many bytes that were.
    ///
    /// # Panics
    /// If the reply is another end's.
    #[inline]
    pub fn read(&self, reply: &Reply, into: &mut [u8]) -> usize {
        assert!(reply.end == self.number, "the reply is another end's: read it from the one that gave it");
        let bytes = reply.bytes().min(into.len());
        message::load(&self.memory.words()[self.geometry.slot(reply.slot)], &mut into[..bytes]);
        bytes
    }

    /// A reply is not needed any more: its slot may have the next request.
    ///
    /// # Panics
    /// If the reply is another end's.
    #[inline]
    pub fn release(&mut self, reply: Reply) {
        assert!(reply.end == self.number, "the reply is another end's: release it to the one that gave it");
        self.free.push(reply.slot);
    }

    /// What it shares with the other end.
    pub fn memory(&self) -> &M {
        &self.memory
    }

    /// Where the next reply will be, for a thread that looks for it while others use the end: until a reply is [taken](Client::take).
    pub fn ahead(&self) -> Ahead {
        Ahead { geometry: self.geometry, answered: self.answered.clone() }
    }

    /// How many slots are taken: by requests without a reply, and by replies that are not released.
    pub fn in_flight(&self) -> usize {
        self.geometry.slots() - self.free.len()
    }
}

/// Where the next reply will be ([`Client::ahead`]).
#[derive(Debug)]
pub struct Ahead {
    geometry: Geometry,
    answered: Cursor,
}

impl Ahead {
    /// Whether it is there, in the words of the end's memory.
    pub fn has_some(&self, words: &[super::atomic::AtomicU64]) -> bool {
        self.answered.next(words).is_there()
    }

    /// The word by which the end says that it sleeps.
    pub fn bell(&self) -> usize {
        self.geometry.bell(End::Client)
    }
}

impl<M: Memory> Watched for Client<M> {
    #[inline]
    fn next(&self) -> Option<Next<'_>> {
        (self.violation.is_none() && self.memory.is_own()).then(|| self.answered.next(self.memory.words()))
    }

    #[inline]
    fn written(&self) -> u64 {
        self.asked.place()
    }

    #[inline]
    fn bell(&self) -> Bell<'_> {
        Bell(&self.memory.words()[self.geometry.bell(End::Client)])
    }

    #[inline]
    fn theirs(&self) -> Bell<'_> {
        Bell(&self.memory.words()[self.geometry.bell(End::Server)])
    }
}
