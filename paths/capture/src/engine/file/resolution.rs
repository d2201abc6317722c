//! The unit in which files write parts of a second.

/// The unit of the fraction of a second in a pcap file, and of the clock of the pcapng files that we write.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Resolution {
    /// 10⁻⁶ s: what tcpdump writes unless it is told otherwise.
    #[default]
    Micros,
    /// 10⁻⁹ s.
    Nanos,
}

impl Resolution {
    /// How many nanoseconds the unit has.
    #[inline]
    pub(super) fn nanos(self) -> u32 {
        match self {
            Resolution::Micros => 1000,
            Resolution::Nanos => 1,
        }
    }
}
