//! Two rings of entries and a table of messages in memory that two ends share, neither of which believes the other.
//!
//! ```text
//!   layout     where what stands, reckoned by each end for itself from two numbers
//!   message    bytes in shared words, copied once
//!   near       lines that will be read soon
//!   entry      one word that says which message, how long, and in which lap of the ring it was written
//!   cursor     how far an end has come in a ring
//!   client     asks: has the messages' slots to give
//!   server     answers: in the slot in which it was asked
//!   bell       the word by which an end says that it sleeps
//! ```
//!
//! A request lies in a slot that its client chose, and its reply is laid into the same slot. A client asks for no more at a time than there are slots,
//! and rings have as many entries: so no ring can overflow, and no end needs to tell the other how far it has read. What an
//! end polls is one word, the next entry; that it is a new one it sees by the lap that stands in it.
//!
//! Nothing in the shared memory is a pointer, and all of it is accessed by atomics. Each word of it is loaded once, checked, and used as it was
//! loaded. Who breaks the rules is told from who keeps them by what an end remembers in memory of its own; then that end uses
//! the rings no longer ([`Violation`]).

pub mod bell;
pub mod client;
mod cursor;
mod entry;
pub mod layout;
pub(crate) mod message;
mod near;
pub mod server;

use super::atomic;

use core::sync::atomic::AtomicU32;

use atomic::AtomicU64;
use bell::Bell;
pub use cursor::Next;

/// Memory that both ends see.
pub trait Memory {
    /// Its words: always the same ones, and never fewer than there were.
    fn words(&self) -> &[AtomicU64];

    /// Whether it is this process' to use: not where fork(2) made a copy of the end that has it. Ends ask
    /// before they read or write anything.
    #[inline]
    fn is_own(&self) -> bool {
        true
    }
}

impl<T: core::ops::Deref<Target = [AtomicU64]>> Memory for T {
    fn words(&self) -> &[AtomicU64] {
        self
    }
}

/// An end, as who waits for it sees it.
pub trait Watched {
    /// Where what it takes next will be; nowhere where the other end broke the rules.
    fn next(&self) -> Option<Next<'_>>;

    /// Whether something lies there for it to take, or the other end broke the rules.
    #[inline]
    fn has_some(&self) -> bool {
        self.next().is_none_or(Next::is_there)
    }

    /// Its own bell, to ask to be woken by.
    fn bell(&self) -> Bell<'_>;

    /// How far it has come in writing: where nothing was written since the other was last looked after, nobody is to be woken.
    fn written(&self) -> u64;

    /// The other's bell, to wake it by.
    fn theirs(&self) -> Bell<'_>;
}

/// A number for an end, by which it knows the tickets that it gave: no two of 2^32 ends have the same. Loom
/// has no part in it.
fn next_number() -> u32 {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    NEXT.fetch_add(1, core::sync::atomic::Ordering::Relaxed)
}

/// What the other end did that no end that keeps to the rules does, or what became of this one. Its rings are
/// not used any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Violation {
    /// It named a slot that there is not, or that was not its to name.
    Slot(u16),
    /// It named more bytes than a message has.
    Bytes(u16),
    /// This end is a copy that fork(2) made of another process' end, which has the rings.
    Forked,
}

impl core::fmt::Display for Violation {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Violation::Slot(slot) => write!(f, "the other end named slot {slot}, which was not its to name"),
            Violation::Bytes(bytes) => {
                write!(f, "the other end named {bytes} bytes, more than a message has")
            }
            Violation::Forked => f.write_str(
                "this end is a copy that fork(2) made of another process' end: connect anew in this one",
            ),
        }
    }
}

impl core::error::Error for Violation {}
