//! The end that answers.

use alloc::boxed::Box;

use super::bell::Bell;
use super::cursor::{Cursor, Next};
use super::entry::{Entry, UNANSWERED, foreseen};
use super::layout::{End, Geometry};
use super::{Memory, Violation, Watched, message, near, next_number};

/// The end that answers: takes requests in the order in which they were sent, and replies to each once, in whatever order.
#[derive(Debug)]
pub struct Server<M> {
    memory: M,
    geometry: Geometry,
    /// Stands in the requests that it gives out.
    number: u32,
    asked: Cursor,
    answered: Cursor,
    /// Whether a slot has a request that is not answered.
    is_here: Box<[bool]>,
    /// The slot of the last request.
    last: u16,
    violation: Option<Violation>,
}

/// A request, to be [answered](Server::answer) or [given up](Server::give_up): if it is dropped, its client
/// waits for as long as this end lives, and its slot is not free again. Those that tasks have
/// ([`coroutine::Request`](crate::coroutine::Request)) are given up when they are dropped.
#[must_use = "its client waits for an answer: answer it, or give it up"]
#[derive(Debug, PartialEq, Eq)]
pub struct Request {
    /// Of its end.
    end: u32,
    slot: u16,
    bytes: u16,
    tag: u16,
}

impl Request {
    /// Its slot: no two that are not answered have the same.
    pub fn slot(&self) -> u16 {
        self.slot
    }

    /// What the client says of it.
    pub fn tag(&self) -> u16 {
        self.tag
    }

    /// How many bytes it has.
    pub fn bytes(&self) -> usize {
        self.bytes.into()
    }
}

impl<M: Memory> Server<M> {
    /// An end in memory that is all zero but for what the client may have written already.
    ///
    /// # Panics
    /// If the memory has fewer words than [`Geometry::words`] says.
    pub fn new(memory: M, geometry: Geometry) -> Server<M> {
        assert!(memory.words().len() >= geometry.words(), "the memory is too small");
        Server {
            memory,
            geometry,
            number: next_number(),
            asked: Cursor::new(geometry.entries(End::Server)),
            answered: Cursor::new(geometry.entries(End::Client)),
            is_here: (0..geometry.slots()).map(|_| false).collect(),
            last: 0,
            violation: None,
        }
    }

    /// How it is laid out.
    pub fn geometry(&self) -> Geometry {
        self.geometry
    }

    /// The next request, if there is one.
    ///
    /// # Errors
    /// [`Violation`] if the client breaks the rules, now and ever after.
    #[inline]
    pub fn take(&mut self) -> Result<Option<Request>, Violation> {
        if let Some(violation) = self.violation {
            return Err(violation);
        }
        if !self.memory.is_own() {
            return self.broken(Violation::Forked);
        }
        let words = self.memory.words();
        let Some(Entry { slot, bytes, tag }) = self.asked.read(words) else { return Ok(None) };
        let slot = foreseen(slot, self.last);
        self.last = slot;
        match self.is_here.get_mut(usize::from(slot)) {
            Some(is_here) if !*is_here => *is_here = true,
            _ => return self.broken(Violation::Slot(slot)),
        }
        if usize::from(bytes) > self.geometry.bytes() {
            return self.broken(Violation::Bytes(bytes));
        }
        near::fetch(&words[self.geometry.slot(slot)]);
        Ok(Some(Request { end: self.number, slot, bytes, tag }))
    }

    #[cold]
    fn broken<T>(&mut self, violation: Violation) -> Result<T, Violation> {
        self.violation = Some(violation);
        Err(violation)
    }

    /// Copies the beginning of a request, as far as there is room; how many bytes that were.
    ///
    /// # Panics
    /// If the request is another end's.
    #[inline]
    pub fn read(&self, request: &Request, into: &mut [u8]) -> usize {
        assert!(self.is_of(request), "the request is another end's: read it from the one that gave it");
        let bytes = request.bytes().min(into.len());
        message::load(&self.memory.words()[self.geometry.slot(request.slot)], &mut into[..bytes]);
        bytes
    }

    /// Answers a request by the beginning of these bytes, as far as a message has room, of which `tag` is said; how many bytes that were.
    ///
    /// The client may see it at once, but is not woken: who has answered several [answers its
    /// bell](Bell::answer) after the last. In a child that fork(2) made nothing is answered, and 0 returned:
    /// [`take`](Server::take) says why.
    ///
    /// # Panics
    /// If the request is another end's.
    #[inline]
    pub fn answer(&mut self, request: Request, tag: u16, bytes: &[u8]) -> usize {
        assert!(self.is_of(&request), "the request is another end's: answer it by the one that gave it");
        if !self.memory.is_own() {
            return 0;
        }
        let bytes = &bytes[..bytes.len().min(self.geometry.bytes())];
        let words = self.memory.words();
        self.is_here[usize::from(request.slot)] = false;
        message::store(&words[self.geometry.slot(request.slot)], bytes);
        let entry = Entry { slot: request.slot, bytes: bytes.len() as u16, tag };
        self.answered.write(words, entry);
        bytes.len()
    }

    /// Ends a request without an answer: its client is told that there will be none, and has its slot back.
    /// As with an answer, it is not woken.
    ///
    /// # Panics
    /// If the request is another end's.
    pub fn give_up(&mut self, request: Request) {
        assert!(self.is_of(&request), "the request is another end's: give it up by the one that gave it");
        if self.memory.is_own() {
            self.is_here[usize::from(request.slot)] = false;
            let entry = Entry { slot: request.slot, bytes: UNANSWERED, tag: 0 };
            self.answered.write(self.memory.words(), entry);
        }
    }

    /// Whether this end gave that request out.
    #[inline]
    pub fn is_of(&self, request: &Request) -> bool {
        request.end == self.number
    }
}

impl<M: Memory> Watched for Server<M> {
    #[inline]
    fn next(&self) -> Option<Next<'_>> {
        (self.violation.is_none() && self.memory.is_own()).then(|| self.asked.next(self.memory.words()))
    }

    #[inline]
    fn written(&self) -> u64 {
        self.answered.place()
    }

    #[inline]
    fn bell(&self) -> Bell<'_> {
        Bell(&self.memory.words()[self.geometry.bell(End::Server)])
    }

    #[inline]
    fn theirs(&self) -> Bell<'_> {
        Bell(&self.memory.words()[self.geometry.bell(End::Client)])
    }
}
