//! A descriptor of a split queue (VIRTIO 1.2, 2.7.5): two little-endian words, for both ends.

/// The next one belongs to the same buffer.
pub(crate) const NEXT: u16 = 1;
/// The device may write there, and not read.
pub(crate) const WRITE: u16 = 2;
/// It is a table of descriptors.
pub(crate) const INDIRECT: u16 = 4;

/// Bytes of a descriptor.
pub(crate) const DESCRIPTOR: usize = 16;

/// A descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Descriptor {
    /// Where the bytes are, as the device sees them.
    pub(crate) address: u64,
    /// How many.
    pub(crate) bytes: u32,
    pub(crate) flags: u16,
    /// The number of the next one.
    pub(crate) next: u16,
}

impl Descriptor {
    #[inline]
    pub(crate) fn from_words([address, rest]: [u64; 2]) -> Descriptor {
        let rest = u64::from_le(rest);
        Descriptor {
            address: u64::from_le(address),
            bytes: rest as u32,
            flags: (rest >> 32) as u16,
            next: (rest >> 48) as u16,
        }
    }

    #[inline]
    pub(crate) fn words(&self) -> [u64; 2] {
        let rest = u64::from(self.next) << 48 | u64::from(self.flags) << 32 | u64::from(self.bytes);
        [self.address.to_le(), rest.to_le()]
    }

    #[inline]
    pub(crate) fn has(&self, flag: u16) -> bool {
        self.flags & flag != 0
    }
}
