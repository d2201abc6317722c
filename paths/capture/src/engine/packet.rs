//! A captured packet, as sources, files, filters and applications hand it on.

/// When a packet was seen: nanoseconds since 1970-01-01 00:00 UTC, without leap seconds. Reaches to the year 2554.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(pub u64);

/// What a packet's first bytes are: a number of the LINKTYPE_ registry
/// (<https://www.tcpdump.org/linktypes.html>).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LinkType(pub u32);

/// Link types that libpcap has another number for than files: systems numbered them differently, and some
/// wrote their own number into files. The number of files (LINKTYPE_), and libpcap's on Linux (DLT_).
/// Source: libpcap, pcap-common.c.
const RENUMBERED: [(u32, u32); 5] = [(100, 11), (101, 12), (102, 15), (103, 16), (106, 19)];

impl LinkType {
    /// What a number in a file means. Of what systems numbered differently it may be either number, as for
    /// libpcap.
    pub fn from_file(number: u32) -> LinkType {
        let renumbered = RENUMBERED.into_iter().find(|(_, data_link)| *data_link == number);
        LinkType(renumbered.map_or(number, |(in_files, _)| in_files))
    }

    /// libpcap's own number for it (DLT_).
    pub fn data_link(self) -> u32 {
        let renumbered = RENUMBERED.into_iter().find(|(in_files, _)| *in_files == self.0);
        renumbered.map_or(self.0, |(_, data_link)| data_link)
    }

    /// An address family in the byte order of the machine that captured, then IPv4 or IPv6: the loopback of
    /// BSD systems.
    pub const NULL: LinkType = LinkType(0);
    /// The same in network byte order: the loopback of OpenBSD.
    pub const LOOP: LinkType = LinkType(108);
    /// IPv4 packets, without a link header.
    pub const IPV4: LinkType = LinkType(228);
    /// IPv6 packets, without a link header.
    pub const IPV6: LinkType = LinkType(229);
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
