//! One word of a ring: all that is told of a message, so that it is read and checked at once.

/// What is told of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Where it lies.
    pub slot: u16,
    /// How many bytes of it there are, or [`UNANSWERED`].
    pub bytes: u16,
    /// What its sender says of it: the ends' own affair.
    pub tag: u16,
}

/// In the place of a reply's bytes: there is none, and there will be none. No message is as long.
pub const UNANSWERED: u16 = u16::MAX;

impl Entry {
    /// As it is written in that lap: slot, bytes, tag, lap, the lowest 16 bits first.
    pub fn word(self, lap: u16) -> u64 {
        u64::from(self.slot) | u64::from(self.bytes) << 16 | u64::from(self.tag) << 32 | u64::from(lap) << 48
    }

    /// What stands in a word, if it was written in that lap.
    pub fn of(word: u64, lap: u16) -> Option<Entry> {
        (word >> 48 == u64::from(lap)).then_some(Entry {
            slot: word as u16,
            bytes: (word >> 16) as u16,
            tag: (word >> 32) as u16,
        })
    }
}

/// The slot that an entry names. Where it is the one that was expected, that number is returned, for which nobody has to wait: a processor that
/// reads the slot in the entry cannot [fetch](super::near::fetch) the message before it has the entry's line.
#[inline(always)]
pub fn foreseen(slot: u16, expected: u16) -> u16 {
    // The compiler is not to know that these are the same: it would take the one that was read, or do without a branch.
    let same = core::hint::black_box(expected);
    if slot == expected { core::hint::black_box(same) } else { slot }
}
