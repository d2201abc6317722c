//! Where what stands in the shared memory.

/// Words of a pair of cache lines: processors fetch lines in pairs, so what two ends write is as far apart.
const PAIR: usize = 16;

/// Words of a cache line.
const LINE: usize = 8;

/// How many messages there are and how long each can be: what both ends agree on before they share memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Geometry {
    slots: u16,
    bytes: u16,
    /// Words of a ring, to whole pairs of lines; and of a message.
    ring: u16,
    message: u16,
}

impl Geometry {
    /// The most messages at a time.
    pub const MOST_SLOTS: u16 = 1 << 15;

    /// The longest message, in bytes.
    pub const MOST_BYTES: u16 = u16::MAX - 63;

    /// The most memory, in bytes: all of it is mapped and kept in memory by both ends.
    pub const MOST_MEMORY: usize = 64 << 20;

    /// So many messages at a time, rounded up to a power of two, of so many bytes at most, rounded up to whole cache lines of 64. Neither
    /// may be 0, or more than [`MOST_SLOTS`](Self::MOST_SLOTS) and [`MOST_BYTES`](Self::MOST_BYTES), nor all of it more than
    /// [`MOST_MEMORY`](Self::MOST_MEMORY): then there is none.
    pub fn new(slots: usize, bytes: usize) -> Option<Geometry> {
        let is_within = |n: usize, most: u16| (1..=usize::from(most)).contains(&n);
        if !is_within(slots, Self::MOST_SLOTS) || !is_within(bytes, Self::MOST_BYTES) {
            return None;
        }
        let (slots, bytes) = (slots.next_power_of_two() as u16, bytes.next_multiple_of(LINE * 8) as u16);
        let geometry =
            Geometry { slots, bytes, ring: slots.next_multiple_of(PAIR as u16), message: bytes / 8 };
        (geometry.words() * 8 <= Self::MOST_MEMORY).then_some(geometry)
    }

    /// How many messages there are at a time.
    #[inline]
    pub fn slots(self) -> usize {
        self.slots.into()
    }

    /// How many bytes the longest message has.
    #[inline]
    pub fn bytes(self) -> usize {
        self.bytes.into()
    }

    /// How many words of 64 bits the shared memory has.
    pub fn words(self) -> usize {
        self.messages() + self.slots() * self.message()
    }

    #[inline]
    fn message(self) -> usize {
        self.message.into()
    }

    #[inline]
    fn ring(self) -> usize {
        self.ring.into()
    }

    /// Where the first message begins.
    #[inline]
    fn messages(self) -> usize {
        2 * PAIR + 2 * self.ring()
    }

    /// The word in which that end says that it sleeps.
    #[inline]
    pub(crate) fn bell(self, of: End) -> usize {
        of as usize * PAIR
    }

    /// The entries that are written for that end to read.
    pub(super) fn entries(self, to: End) -> core::ops::Range<usize> {
        let begins = 2 * PAIR + to as usize * self.ring();
        begins..begins + self.slots()
    }

    /// The words of the message in a slot.
    #[inline]
    pub(super) fn slot(self, slot: u16) -> core::ops::Range<usize> {
        let begins = self.messages() + usize::from(slot) * self.message();
        begins..begins + self.message()
    }
}

/// One of two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The one that answers.
    Server,
    /// The one that asks.
    Client,
}
