//! One word says whose turn it is, what lies in the message, and whether the other end sleeps.
//!
//! An end that hands the turn over swaps the whole word, and by what stood there it knows whether it has to wake the other. An end that is about to sleep
//! says so by a compare-and-swap of the same word, which fails if the turn has come meanwhile. As both are changes of one word, one of them
//! is the first, and no wake-up can be lost: there are no two words to be seen in different orders, and no fence is needed.
//!
//! ```text
//!   bit 0       whose turn: 0 the client's, 1 the server's
//!   bit 1       the end whose turn it is not sleeps
//!   bits 2-15   0
//!   bits 16-31  the processor on which the turn was handed over, plus 1; 0 if that is not known
//!   bits 32-47  what the sender says of the message: its tag
//!   bits 48-63  how many bytes the message has
//! ```
//!
//! The message lies in the words from [`BODY`] on, the request and then the reply in the same ones. What an end does not know by itself it
//! loads once, checks, and remembers; a word that is not what the rules allow is a [`Violation`].

use super::atomic::{AtomicU64, Ordering};
use super::failed::Violation;
use super::ring::layout::End;
use super::ring::{Memory, message};

/// The first word of the message: the turn has a cache line of its own.
pub const BODY: usize = 8;

/// Bit 0: the server's turn.
const SERVERS: u64 = 1;

/// Bit 1: the end that waits sleeps.
const ASLEEP: u64 = 1 << 1;

/// Bits 2 to 15, which are 0.
const RESERVED: u64 = 0xfffc;

/// What is told of a message with the turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Told {
    /// What its sender says of it: the ends' own affair.
    pub tag: u16,
    /// How many bytes it has.
    pub bytes: u16,
    /// On which processor its sender was, plus 1, of which the lowest 16 bits are kept; 0 if that is not known. A hint.
    pub cpu: u16,
}

impl Told {
    fn word(self, to: End) -> u64 {
        bit(to) | u64::from(self.cpu) << 16 | u64::from(self.tag) << 32 | u64::from(self.bytes) << 48
    }

    fn of(word: u64) -> Told {
        Told { tag: (word >> 32) as u16, bytes: (word >> 48) as u16, cpu: (word >> 16) as u16 }
    }
}

fn bit(of: End) -> u64 {
    match of {
        End::Client => 0,
        End::Server => SERVERS,
    }
}

/// One end's view of the turns.
#[derive(Debug)]
pub struct Turn<M> {
    memory: M,
    own: End,
    /// The longest message, in bytes.
    longest: usize,
    /// The word as this end wrote it or saw it at last, without [`ASLEEP`].
    last: u64,
    is_own: bool,
}

impl<M: Memory> Turn<M> {
    /// An end in memory that is all zero, which means that it is the client's turn; the longest message has that many bytes.
    ///
    /// # Panics
    /// If the memory has no room for that.
    pub fn new(memory: M, own: End, longest: usize) -> Turn<M> {
        assert!(memory.words().len() >= words(longest), "the memory is too small");
        Turn { memory, own, longest, last: 0, is_own: own == End::Client }
    }

    /// Whether it is this end's turn, as far as it has seen.
    #[inline]
    pub fn is_own(&self) -> bool {
        self.is_own
    }

    /// The longest message, in bytes.
    pub fn longest(&self) -> usize {
        self.longest
    }

    /// Lays a message down and hands the turn over with it; whether the other end sleeps and is to be woken. The bytes are no more than the longest
    /// message has, and it is this end's turn.
    ///
    /// # Errors
    /// [`Violation`] if the other end changed the word meanwhile.
    #[inline]
    pub fn pass(&mut self, tag: u16, bytes: &[u8], cpu: u16) -> Result<bool, Violation> {
        debug_assert!(self.is_own && bytes.len() <= self.longest);
        let words = self.memory.words();
        message::store(&words[BODY..], bytes);
        let other = if self.own == End::Client { End::Server } else { End::Client };
        let next = Told { tag, bytes: bytes.len() as u16, cpu }.word(other);
        let before = words[0].swap(next, Ordering::AcqRel);
        if before & !ASLEEP != self.last {
            return Err(Violation::Turn(before as u32));
        }
        (self.last, self.is_own) = (next, false);
        Ok(before & ASLEEP != 0)
    }

    /// Takes the turn if it has come: what is told of the message.
    ///
    /// # Errors
    /// [`Violation`] if the word is neither as it was nor as the other end may hand it over.
    #[inline]
    pub fn take(&mut self) -> Result<Option<Told>, Violation> {
        let word = self.memory.words()[0].load(Ordering::Acquire);
        if word & !ASLEEP == self.last {
            return Ok(None);
        }
        if word & SERVERS != bit(self.own) || word & RESERVED != 0 {
            return Err(Violation::Turn(word as u32));
        }
        let told = Told::of(word);
        if usize::from(told.bytes) > self.longest {
            return Err(Violation::Bytes(told.bytes.into()));
        }
        (self.last, self.is_own) = (word & !ASLEEP, true);
        Ok(Some(told))
    }

    /// Copies the beginning of the message, as far as there is room; how many bytes that were.
    #[inline]
    pub fn read(&self, told: Told, into: &mut [u8]) -> usize {
        let bytes = usize::from(told.bytes).min(into.len());
        message::load(&self.memory.words()[BODY..], &mut into[..bytes]);
        bytes
    }

    /// Says that this end sleeps until it is its turn. The word, and while it is this value to sleep; none if the turn has come.
    pub fn says_that_it_sleeps(&self) -> Option<(&AtomicU64, u64)> {
        let word = &self.memory.words()[0];
        let asleep = self.last | ASLEEP;
        match word.compare_exchange(self.last, asleep, Ordering::Relaxed, Ordering::Relaxed) {
            Ok(_) => Some((word, asleep)),
            Err(now) => (now == asleep).then_some((word, asleep)),
        }
    }

    /// The word by which the other end sleeps.
    pub fn word(&self) -> &AtomicU64 {
        &self.memory.words()[0]
    }
}

/// How many words of 64 bits there are for messages of that many bytes.
pub fn words(longest: usize) -> usize {
    BODY + longest.div_ceil(8)
}
