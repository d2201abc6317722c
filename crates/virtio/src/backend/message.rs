//! Messages as they stand on the wire: a header of 12 bytes, a body, descriptors beside ("Message Specification" of
//! the protocol).
//!
//! All numbers are in the machine's own byte order. The numbers of requests and feature bits are those of the `vhost`
//! crate. Its handler of requests is not used: it waits within a message for a peer that sends half of one, and it has
//! no door for messages that only a device knows.

use super::Refused;
use super::received::Received;
use crate::wiped::Wiped;

/// The longest body that is taken, in bytes; the longest known one is that of a crypto session (1072).
pub const LONGEST: usize = 4096;

/// The most descriptors that come with a message: one for each region of a memory table ("Memory regions
/// description").
pub(crate) const MOST_DESCRIPTORS: usize = 8;

/// Bytes of a header.
pub(crate) const HEADER: usize = 12;

const VERSION_MASK: u32 = 0x3;
const VERSION: u32 = 0x1;
const REPLY: u32 = 0x4;
const NEED_REPLY: u32 = 0x8;

/// A header that was checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) request: u32,
    /// Whether the sender waits for an acknowledgement, where that was negotiated.
    pub(crate) need_reply: bool,
    /// Bytes of the body.
    pub(crate) size: usize,
}

impl Header {
    pub(crate) fn parse(bytes: &[u8; HEADER]) -> Result<Header, Refused> {
        let word = |at: usize| u32::from_ne_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        let (request, flags, size) = (word(0), word(4), word(8));
        let fits = size as usize <= LONGEST;
        if flags & VERSION_MASK != VERSION || flags & REPLY != 0 || !fits {
            return Err(Refused::Header { request, flags, size });
        }
        Ok(Header { request, need_reply: flags & NEED_REPLY != 0, size: size as usize })
    }

    /// The whole reply to this message.
    pub(crate) fn reply(&self, body: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(HEADER + body.len());
        bytes.extend_from_slice(&self.request.to_ne_bytes());
        bytes.extend_from_slice(&(VERSION | REPLY).to_ne_bytes());
        bytes.extend_from_slice(&(body.len() as u32).to_ne_bytes());
        bytes.extend_from_slice(body);
        bytes
    }
}

/// A whole message.
#[derive(Debug)]
pub(crate) struct Message {
    pub(crate) header: Header,
    /// There may be a key in it.
    pub(crate) body: Wiped,
    pub(crate) descriptors: Vec<Received>,
}

impl Message {
    /// An error about this message.
    pub(crate) fn wrong(&self, reason: impl Into<String>) -> Refused {
        Refused::Message { request: self.header.request, reason: reason.into() }
    }

    /// The body as exactly one number of 64 bits.
    pub(crate) fn u64(&self) -> Result<u64, Refused> {
        self.words::<1>().map(|[word]| word)
    }

    /// The body as exactly `N` numbers of 64 bits.
    pub(crate) fn words<const N: usize>(&self) -> Result<[u64; N], Refused> {
        if self.body.len() != N * 8 {
            return Err(self.wrong(format!("{} bytes where {} belong", self.body.len(), N * 8)));
        }
        let mut words = [0; N];
        for (word, bytes) in words.iter_mut().zip(self.body.as_chunks::<8>().0) {
            *word = u64::from_ne_bytes(*bytes);
        }
        Ok(words)
    }

    /// The body as the number of a queue and another number ("Vring state description").
    pub(crate) fn state(&self) -> Result<(u32, u32), Refused> {
        self.words::<1>().map(|[word]| halves(word))
    }

    /// The queue and the descriptor of a message that hands over an eventfd: bits 0 to 7 are the queue's number, bit 8
    /// says that there is no descriptor.
    pub(crate) fn eventfd(&mut self) -> Result<(usize, Option<Received>), Refused> {
        let word = self.u64()?;
        let absent = word & 0x100 != 0;
        if self.descriptors.len() != usize::from(!absent) || word & !0x1ff != 0 {
            return Err(self.wrong(format!("{word:#x} with {} descriptors", self.descriptors.len())));
        }
        Ok(((word & 0xff) as usize, self.descriptors.pop()))
    }
}

/// A word as the two numbers of 32 bits that stand there, in their order.
pub(crate) fn halves(word: u64) -> (u32, u32) {
    let bytes = word.to_ne_bytes();
    let half = |at: usize| u32::from_ne_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
    (half(0), half(4))
}

/// Two numbers of 32 bits as they stand in a body.
pub(crate) fn state_bytes(first: u32, second: u32) -> [u8; 8] {
    let mut bytes = [0; 8];
    bytes[..4].copy_from_slice(&first.to_ne_bytes());
    bytes[4..].copy_from_slice(&second.to_ne_bytes());
    bytes
}
