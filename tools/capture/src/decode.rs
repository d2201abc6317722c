//! A packet as one line: who to whom, by which protocol, and how long.
//!
//! In the manner of tcpdump, for Ethernet, Linux's cooked headers, the loopbacks of BSD systems, VLAN tags,
//! ARP, IPv4, IPv6, TCP, UDP and ICMP. What is not decoded is named by its number; what was cut off is marked
//! `[cut]`.

use std::fmt::{self, Display, Formatter};
use std::net::IpAddr;

use etherparse::{
    ArpPacketSlice, EtherType, Icmpv4Slice, Icmpv4Type, Icmpv6Slice, Icmpv6Type, IpNumber, LaxLinkExtSlice,
    LaxNetSlice, LaxSlicedPacket, LinkSlice, TcpSlice, TransportSlice,
};
use tollway_capture::engine::{LinkType, Packet};

/// A hardware address.
struct Hardware([u8; 6]);

impl Display for Hardware {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, g] = self.0;
        write!(f, "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{g:02x}")
    }
}

/// A packet to be shown in one line.
pub struct Line<'a> {
    /// It.
    pub packet: &'a Packet<'a>,
    /// What it begins with.
    pub link: LinkType,
    /// Whether to show that as well.
    pub link_header: bool,
}

/// Length of the link's header, after which the network's begins.
pub fn link_header_length(link: LinkType) -> usize {
    match link {
        LinkType::NULL | LinkType::LOOP => 4,
        LinkType::ETHERNET => 14,
        LinkType::LINUX_SLL => 16,
        LinkType::LINUX_SLL2 => 20,
        _ => 0,
    }
}

impl Display for Line<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let bytes = self.packet.bytes;
        match self.link {
            LinkType::ETHERNET => match LaxSlicedPacket::from_ethernet(bytes) {
                Ok(sliced) => self.ethernet(f, &sliced),
                Err(_) => write!(f, "[cut] Ethernet, length {}", self.packet.wire_length),
            },
            LinkType::RAW => self.network(f, bytes, None),
            LinkType::IPV4 => self.network(f, bytes, Some(EtherType::IPV4)),
            LinkType::IPV6 => self.network(f, bytes, Some(EtherType::IPV6)),
            LinkType::NULL | LinkType::LOOP => self.loopback(f, bytes),
            LinkType::LINUX_SLL => {
                self.network(f, bytes.get(16..).unwrap_or_default(), ether_type(bytes, 14))
            }
            LinkType::LINUX_SLL2 => {
                self.network(f, bytes.get(20..).unwrap_or_default(), ether_type(bytes, 0))
            }
            other => write!(f, "{}, length {}", crate::link_type::name(other), self.packet.wire_length),
        }
    }
}

fn ether_type(bytes: &[u8], at: usize) -> Option<EtherType> {
    let word = bytes.get(at..at + 2)?;
    Some(EtherType(u16::from_be_bytes([word[0], word[1]])))
}

impl Line<'_> {
    /// What follows a header that is not shown.
    fn network(&self, f: &mut Formatter<'_>, bytes: &[u8], kind: Option<EtherType>) -> fmt::Result {
        let kind = kind.unwrap_or(match bytes.first().map(|first| first >> 4) {
            Some(6) => EtherType::IPV6,
            _ => EtherType::IPV4,
        });
        self.inner(f, &LaxSlicedPacket::from_ether_type(kind, bytes), kind)
    }

    /// An address family, then a packet of it. In which byte order it stands no packet says: families are
    /// small numbers.
    fn loopback(&self, f: &mut Formatter<'_>, bytes: &[u8]) -> fmt::Result {
        let Some((family, bytes)) = bytes.split_first_chunk() else {
            return write!(
                f,
                "[cut] {}, length {}",
                crate::link_type::name(self.link),
                self.packet.wire_length
            );
        };
        let family = u32::from_ne_bytes(*family);
        let family = if family >> 16 == 0 { family } else { family.swap_bytes() };
        let kind = match family {
            2 => Some(EtherType::IPV4),
            // Of NetBSD and OpenBSD, of FreeBSD, of macOS.
            24 | 28 | 30 => Some(EtherType::IPV6),
            _ => None,
        };
        if self.link_header || kind.is_none() {
            let name = match kind {
                Some(EtherType::IPV4) => "IPv4",
                Some(_) => "IPv6",
                None => "Unknown",
            };
            write!(f, "AF {name} ({family}), length {}", self.packet.wire_length)?;
        }
        match kind {
            Some(kind) if self.link_header => {
                f.write_str(": ")?;
                self.network(f, bytes, Some(kind))
            }
            Some(kind) => self.network(f, bytes, Some(kind)),
            None => Ok(()),
        }
    }

    /// Bytes that the packet had on the wire behind a header that begins here.
    fn behind(&self, header: &[u8]) -> usize {
        let begin = header.as_ptr() as usize - self.packet.bytes.as_ptr() as usize;
        (self.packet.wire_length as usize).saturating_sub(begin + header.len())
    }

    fn ethernet(&self, f: &mut Formatter<'_>, sliced: &LaxSlicedPacket<'_>) -> fmt::Result {
        let Some(LinkSlice::Ethernet2(header)) = &sliced.link else { return f.write_str("[cut]") };
        let mut kind = header.ether_type();
        // A length, not a type: IEEE 802.3, 3.2.6.
        let is_length = kind.0 < 1536;
        let undecoded = sliced.net.is_none();
        if self.link_header || undecoded || is_length {
            let (from, to) = (Hardware(header.source()), Hardware(header.destination()));
            write!(f, "{from} > {to}, ")?;
            if is_length {
                return write!(f, "802.3, length {}", kind.0);
            }
            write!(f, "ethertype {}, length {}: ", named(kind), self.packet.wire_length)?;
        }
        for tag in &sliced.link_exts {
            if let LaxLinkExtSlice::Vlan(tag) = tag {
                kind = tag.ether_type();
                write!(
                    f,
                    "vlan {}, p {}, ",
                    tag.vlan_identifier().value(),
                    tag.priority_code_point().value()
                )?;
                if self.link_header {
                    write!(f, "ethertype {}, ", named(kind))?;
                }
            }
        }
        self.inner(f, sliced, kind)
    }

    fn inner(&self, f: &mut Formatter<'_>, sliced: &LaxSlicedPacket<'_>, kind: EtherType) -> fmt::Result {
        match &sliced.net {
            Some(LaxNetSlice::Arp(packet)) => arp(f, packet),
            Some(LaxNetSlice::Ipv4(ip)) => {
                let header = ip.header();
                let (from, to) = (header.source_addr().into(), header.destination_addr().into());
                let payload = match usize::from(header.total_len()) {
                    // The adapter cuts it into segments, and fills in their lengths.
                    0 => self.behind(header.slice()),
                    total => total.saturating_sub(header.slice().len()),
                };
                let offset = header.fragments_offset().value();
                let fragment = header.more_fragments() || offset > 0;
                let flow = Flow { name: "IP", from, to, kind: ip.payload_ip_number(), payload };
                flow.show(f, sliced.transport.as_ref())?;
                if fragment {
                    let more = if header.more_fragments() { "+" } else { "" };
                    write!(f, " (frag at {}{more})", u32::from(offset) * 8)?;
                }
                Ok(())
            }
            Some(LaxNetSlice::Ipv6(ip)) => {
                let header = ip.header();
                let (from, to) = (header.source_addr().into(), header.destination_addr().into());
                let extensions = ip.extensions().slice().len();
                let payload = match usize::from(header.payload_length()) {
                    // BIG TCP, and jumbograms of RFC 2675, whose length is the rest as well; or really
                    // nothing.
                    0 if header.next_header() != IpNumber::IPV6_NO_NEXT_HEADER => self.behind(header.slice()),
                    length => length,
                };
                let payload = payload.saturating_sub(extensions);
                let flow = Flow { name: "IP6", from, to, kind: ip.payload().ip_number, payload };
                flow.show(f, sliced.transport.as_ref())
            }
            None => match sliced.stop_err {
                Some(_) => write!(f, "{} [cut]", named(kind)),
                None => write!(f, "{} not decoded", named(kind)),
            },
        }
    }
}

/// Both ends of an IP packet, and what it carries.
struct Flow {
    name: &'static str,
    from: IpAddr,
    to: IpAddr,
    kind: IpNumber,
    /// Bytes behind the IP headers, as those say.
    payload: usize,
}

impl Flow {
    fn show(&self, f: &mut Formatter<'_>, transport: Option<&TransportSlice<'_>>) -> fmt::Result {
        let Flow { name, from, to, payload, .. } = self;
        match transport {
            Some(TransportSlice::Tcp(tcp)) => {
                let (source, destination) = (tcp.source_port(), tcp.destination_port());
                write!(f, "{name} {from}.{source} > {to}.{destination}: ")?;
                show_tcp(f, tcp, payload.saturating_sub(tcp.header_slice().len()))
            }
            Some(TransportSlice::Udp(udp)) => {
                let (source, destination) = (udp.source_port(), udp.destination_port());
                let length = match usize::from(udp.length()) {
                    // RFC 2675, section 4: more than the field has room for.
                    0 => payload.saturating_sub(8),
                    length => length.saturating_sub(8),
                };
                write!(f, "{name} {from}.{source} > {to}.{destination}: UDP, length {length}")
            }
            Some(TransportSlice::Icmpv4(icmp)) => {
                write!(f, "{name} {from} > {to}: ICMP {}, length {payload}", Icmp4(icmp))
            }
            Some(TransportSlice::Icmpv6(icmp)) => {
                write!(f, "{name} {from} > {to}: ICMP6, {}, length {payload}", Icmp6(icmp))
            }
            _ => {
                write!(f, "{name} {from} > {to}: ")?;
                let decoded = [IpNumber::TCP, IpNumber::UDP, IpNumber::ICMP, IpNumber::IPV6_ICMP];
                let cut = if decoded.contains(&self.kind) { " [cut]" } else { "" };
                match self.kind.keyword_str() {
                    Some(keyword) => write!(f, "{keyword}{cut}, length {payload}"),
                    None => write!(f, "ip-proto-{}{cut}, length {payload}", self.kind.0),
                }
            }
        }
    }
}

fn show_tcp(f: &mut Formatter<'_>, tcp: &TcpSlice<'_>, length: usize) -> fmt::Result {
    f.write_str("Flags [")?;
    let flags = [
        (tcp.fin(), 'F'),
        (tcp.syn(), 'S'),
        (tcp.rst(), 'R'),
        (tcp.psh(), 'P'),
        (tcp.ack(), '.'),
        (tcp.urg(), 'U'),
        (tcp.ece(), 'E'),
        (tcp.cwr(), 'W'),
    ];
    if flags.iter().all(|(set, _)| !set) {
        f.write_str("none")?;
    }
    for (_, letter) in flags.into_iter().filter(|(set, _)| *set) {
        write!(f, "{letter}")?;
    }
    let sequence = tcp.sequence_number();
    match length {
        0 => write!(f, "], seq {sequence}")?,
        _ => write!(f, "], seq {sequence}:{}", sequence.wrapping_add(length as u32))?,
    }
    if tcp.ack() {
        write!(f, ", ack {}", tcp.acknowledgment_number())?;
    }
    write!(f, ", win {}, length {length}", tcp.window_size())
}

struct Icmp4<'a>(&'a Icmpv4Slice<'a>);

impl Display for Icmp4<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.0.icmp_type() {
            Icmpv4Type::EchoRequest(echo) => write!(f, "echo request, id {}, seq {}", echo.id, echo.seq),
            Icmpv4Type::EchoReply(echo) => write!(f, "echo reply, id {}, seq {}", echo.id, echo.seq),
            Icmpv4Type::DestinationUnreachable(_) => write!(f, "unreachable, code {}", self.0.code_u8()),
            Icmpv4Type::TimeExceeded(_) => f.write_str("time exceeded"),
            Icmpv4Type::Redirect(_) => f.write_str("redirect"),
            _ => write!(f, "type {}, code {}", self.0.type_u8(), self.0.code_u8()),
        }
    }
}

struct Icmp6<'a>(&'a Icmpv6Slice<'a>);

impl Display for Icmp6<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.0.icmp_type() {
            Icmpv6Type::EchoRequest(echo) => write!(f, "echo request, id {}, seq {}", echo.id, echo.seq),
            Icmpv6Type::EchoReply(echo) => write!(f, "echo reply, id {}, seq {}", echo.id, echo.seq),
            Icmpv6Type::RouterSolicitation => f.write_str("router solicitation"),
            Icmpv6Type::RouterAdvertisement(_) => f.write_str("router advertisement"),
            Icmpv6Type::NeighborSolicitation => f.write_str("neighbor solicitation"),
            Icmpv6Type::NeighborAdvertisement(_) => f.write_str("neighbor advertisement"),
            Icmpv6Type::DestinationUnreachable(_) => write!(f, "unreachable, code {}", self.0.code_u8()),
            Icmpv6Type::PacketTooBig { mtu } => write!(f, "packet too big, mtu {mtu}"),
            _ => write!(f, "type {}, code {}", self.0.type_u8(), self.0.code_u8()),
        }
    }
}

fn arp(f: &mut Formatter<'_>, packet: &ArpPacketSlice<'_>) -> fmt::Result {
    let whole = packet.to_packet();
    let four = |bytes: &[u8]| <[u8; 4]>::try_from(bytes).ok().map(|b| IpAddr::from(b).to_string());
    let of = |bytes: &[u8]| four(bytes).unwrap_or_else(|| "?".into());
    let (sender, target) = (of(whole.sender_protocol_addr()), of(whole.target_protocol_addr()));
    let length = packet.slice().len();
    match whole.operation.0 {
        1 => write!(f, "ARP, Request who-has {target} tell {sender}, length {length}"),
        2 => {
            let hardware = <[u8; 6]>::try_from(whole.sender_hw_addr()).map(Hardware);
            match hardware {
                Ok(hardware) => write!(f, "ARP, Reply {sender} is-at {hardware}, length {length}"),
                Err(_) => write!(f, "ARP, Reply {sender}, length {length}"),
            }
        }
        other => write!(f, "ARP, operation {other}, length {length}"),
    }
}

fn named(kind: EtherType) -> String {
    match kind {
        EtherType::IPV4 => "IPv4 (0x0800)".into(),
        EtherType::IPV6 => "IPv6 (0x86dd)".into(),
        EtherType::ARP => "ARP (0x0806)".into(),
        EtherType::VLAN_TAGGED_FRAME => "802.1Q (0x8100)".into(),
        EtherType::PROVIDER_BRIDGING => "802.1ad (0x88a8)".into(),
        EtherType(other) => format!("{other:#06x}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tollway_capture::engine::Timestamp;

    fn line(bytes: &[u8], link: LinkType) -> String {
        let packet = Packet { timestamp: Timestamp(0), bytes, wire_length: bytes.len() as u32 };
        Line { packet: &packet, link, link_header: false }.to_string()
    }

    const ADDRESSES: [u8; 12] = [2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2];

    fn frame(rest: &[&[u8]]) -> Vec<u8> {
        [&ADDRESSES[..], &rest.concat()].concat()
    }

    #[test]
    fn protocols_have_a_line() {
        let ip = [0x45, 0, 0, 28, 0, 0, 0, 0, 64, 1, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
        let echo = [8, 0, 0, 0, 0, 7, 0, 3];
        assert_eq!(
            line(&frame(&[&[8, 0], &ip, &echo]), LinkType::ETHERNET),
            "IP 10.0.0.1 > 10.0.0.2: ICMP echo request, id 7, seq 3, length 8"
        );
        assert_eq!(
            line(&frame(&[&[0x81, 0, 0xa0, 5, 8, 0], &ip, &echo]), LinkType::ETHERNET),
            "vlan 5, p 5, IP 10.0.0.1 > 10.0.0.2: ICMP echo request, id 7, seq 3, length 8"
        );
        let request = [0, 1, 8, 0, 6, 4, 0, 1, 2, 0, 0, 0, 0, 2, 10, 0, 0, 1, 0, 0, 0, 0, 0, 0, 10, 0, 0, 2];
        assert_eq!(
            line(&frame(&[&[8, 6], &request]), LinkType::ETHERNET),
            "ARP, Request who-has 10.0.0.2 tell 10.0.0.1, length 28"
        );
        let mut six = vec![0x60, 0, 0, 0, 0, 8, 17, 64];
        six.extend([0x20, 1, 0xd, 0xb8].iter().chain([0; 11].iter()).chain(&[1]));
        six.extend([0x20, 1, 0xd, 0xb8].iter().chain([0; 11].iter()).chain(&[2]));
        six.extend([0, 53, 0x80, 1, 0, 8, 0, 0]);
        assert_eq!(line(&six, LinkType::RAW), "IP6 2001:db8::1.53 > 2001:db8::2.32769: UDP, length 0");
        assert_eq!(
            line(&frame(&[&[0x88, 0xb5, 1]]), LinkType::ETHERNET),
            "02:00:00:00:00:02 > 02:00:00:00:00:01, ethertype 0x88b5, length 15: 0x88b5 not decoded"
        );
        assert_eq!(line(&[1, 2, 3], LinkType(65_000)), "link type 65000, length 3");
        assert_eq!(line(&[1, 2, 3], LinkType(106)), "ATM_CLIP, length 3");
    }

    /// A packet of UDP without data, of IPv4 or IPv6.
    fn datagram(version: u8) -> Vec<u8> {
        let header = match version {
            4 => [&[0x45, 0, 0, 28, 0, 0, 0, 0, 64, 17, 0, 0][..], &[10, 0, 0, 1, 10, 0, 0, 2]].concat(),
            _ => [&[0x60, 0, 0, 0, 0, 8, 17, 64][..], &[0xfd; 16], &[0xfe; 16]].concat(),
        };
        [header, vec![0, 53, 0x80, 1, 0, 8, 0, 0]].concat()
    }

    #[test]
    fn packets_without_a_link_header_or_behind_an_address_family_are_decoded() {
        let (four, six) = (datagram(4), datagram(6));
        let four_line = "IP 10.0.0.1.53 > 10.0.0.2.32769: UDP, length 0";
        let six_line = line(&six, LinkType::RAW);
        assert!(
            six_line.starts_with("IP6 fdfd:") && six_line.ends_with(".32769: UDP, length 0"),
            "{six_line}"
        );
        for (link, packet, text) in [
            (LinkType::RAW, &four, four_line),
            (LinkType::from_file(12), &four, four_line),
            (LinkType::IPV4, &four, four_line),
            (LinkType::IPV6, &six, &six_line),
        ] {
            assert_eq!(line(packet, link), text, "{link:?}");
        }
        for link in [LinkType::NULL, LinkType::LOOP] {
            for (family, packet, text) in [
                (2u32, &four, four_line),
                (24, &six, &six_line),
                (28, &six, &six_line),
                (30, &six, &six_line),
            ] {
                for header in [family.to_be_bytes(), family.to_le_bytes()] {
                    assert_eq!(line(&[&header[..], packet].concat(), link), text, "{link:?} {header:?}");
                }
            }
        }
        assert_eq!(line(&[0, 0, 0, 7, 1], LinkType::LOOP), "AF Unknown (7), length 5");
        assert_eq!(line(&[2, 0, 0], LinkType::NULL), "[cut] NULL, length 3");
        let bytes = [&2u32.to_ne_bytes()[..], &four].concat();
        let packet = Packet { timestamp: Timestamp(0), bytes: &bytes, wire_length: 32 };
        let with_header = Line { packet: &packet, link: LinkType::NULL, link_header: true }.to_string();
        assert_eq!(with_header, format!("AF IPv4 (2), length 32: {four_line}"));
        assert_eq!(link_header_length(LinkType::LOOP), 4);
    }

    /// What is left to the adapter, to cut into segments (TSO) or because it is longer than the field has
    /// room for (BIG TCP).
    #[test]
    fn a_packet_whose_ip_length_is_0_is_as_long_as_it_was_on_the_wire() {
        let tcp = [0x9c, 0x40, 0, 80, 0, 0, 0, 1, 0, 0, 0, 0, 0x50, 2, 0xff, 0xff, 0, 0, 0, 0];
        let four = [0x45, 0, 0, 0, 0, 1, 0, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
        let six = [&[0x60, 0, 0, 0, 0, 0, 6, 64][..], &[0xfd; 16], &[0xfe; 16]].concat();
        // With the option Jumbo Payload: RFC 2675, section 2.
        let jumbo = [&six[..6], &[0], &six[7..], &[6, 0, 0xc2, 4, 0, 0, 0, 128]].concat();
        for (kind, ip) in [([8, 0], &four[..]), ([0x86, 0xdd], &six), ([0x86, 0xdd], &jumbo)] {
            let whole = frame(&[&kind, ip, &tcp, &[0x71; 100]]);
            assert!(
                line(&whole, LinkType::ETHERNET).ends_with(", seq 1:101, win 65535, length 100"),
                "{kind:?}"
            );
            // Cut behind the headers, it is as long as before.
            let cut = &whole[..whole.len() - 100];
            let packet = Packet { timestamp: Timestamp(0), bytes: cut, wire_length: whole.len() as u32 };
            let text = Line { packet: &packet, link: LinkType::ETHERNET, link_header: false }.to_string();
            assert!(text.ends_with(", length 100"), "{text}");
        }
        let udp = [&datagram(4)[..2], &[0, 0], &datagram(4)[4..24], &[0, 0, 0, 0], &[7; 50]].concat();
        assert!(line(&udp, LinkType::IPV4).ends_with(": UDP, length 50"), "{}", line(&udp, LinkType::IPV4));
        let nothing = [&six[..6], &[59], &six[7..]].concat();
        assert!(line(&nothing, LinkType::IPV6).ends_with("length 0"), "{}", line(&nothing, LinkType::IPV6));
    }

    #[test]
    fn whatever_comes_there_is_a_line() {
        // A generator of no merit: enough to have every field be anything.
        let mut state = 1u64;
        let mut next = move || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as u8
        };
        let links = [
            LinkType::ETHERNET,
            LinkType::RAW,
            LinkType::LINUX_SLL,
            LinkType::LINUX_SLL2,
            LinkType::NULL,
            LinkType::LOOP,
            LinkType::IPV4,
            LinkType::IPV6,
        ];
        for round in 0..40_000 {
            let mut bytes: Vec<u8> = (0..usize::from(next() % 120)).map(|_| next()).collect();
            let types = [[8, 0], [0x86, 0xdd], [8, 6], [0x81, 0], [0x88, 0xa8], [0, 9]];
            if let Some(place) = bytes.get_mut(12..14) {
                place.copy_from_slice(&types[round % types.len()]);
            }
            if let Some(first) = bytes.get_mut(14) {
                *first = [0x45, 0x60, 0x4f, 0x00][usize::from(next() % 4)];
            }
            if let Some(protocol) = bytes.get_mut(23) {
                *protocol = [1, 6, 17, 58, 44, 0][usize::from(next() % 6)];
            }
            let text = line(&bytes, links[round / 7 % links.len()]);
            assert!(!text.is_empty() && !text.contains('\n'));
        }
    }
}
