//! Numbers in the byte order of the machine that wrote a file.

/// Byte order of a file's numbers, against this machine's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// This machine's.
    Native,
    /// The other.
    Swapped,
}

impl Order {
    /// Two bytes at `at`. The caller has seen that they are there.
    #[inline]
    pub(super) fn u16(self, bytes: &[u8], at: usize) -> u16 {
        let number = u16::from_ne_bytes([bytes[at], bytes[at + 1]]);
        if self == Order::Native { number } else { number.swap_bytes() }
    }

    /// Four bytes at `at`. The caller has seen that they are there.
    #[inline]
    pub(super) fn u32(self, bytes: &[u8], at: usize) -> u32 {
        let number = u32::from_ne_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        if self == Order::Native { number } else { number.swap_bytes() }
    }

    /// Eight bytes, if these are eight.
    pub(super) fn u64(self, bytes: &[u8]) -> Option<u64> {
        let number = u64::from_ne_bytes(bytes.try_into().ok()?);
        Some(if self == Order::Native { number } else { number.swap_bytes() })
    }
}
