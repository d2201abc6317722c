//! A captured packet, as sources, files, filters and applications hand it on.

/// When a packet was seen: nanoseconds since 1970-01-01 00:00 UTC, without leap seconds. Reaches to the year 2554.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(pub u64);

/// What a packet's first bytes are: a number of the LINKTYPE_ registry
/// (<https://www.tcpdump.org/linktypes.html>).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LinkType(pub u32);

impl LinkType {
    /// Ethernet frames, without the frame check sequence.
    pub const ETHERNET: LinkType = LinkType(1);
    /// IPv4 or IPv6 packets, without a link header.
    pub const RAW: LinkType = LinkType(101);
    /// The header that Linux makes up for "any" interface.
    pub const LINUX_SLL: LinkType = LinkType(113);
    /// Its second version, with the interface's number.
    pub const LINUX_SLL2: LinkType = LinkType(276);
}

/// A packet, or as much of it as the snapshot length kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet<'a> {
    /// When it was seen.
    pub timestamp: Timestamp,
    /// What was kept of it.
    pub bytes: &'a [u8],
    /// How long it was on the wire, in bytes. At least as many as were kept, unless a file or a guest lies.
    pub wire_length: u32,
}
