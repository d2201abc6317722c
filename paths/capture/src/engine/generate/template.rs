//! A frame made once, of which sending changes a few bytes: addresses, ports, lengths, stamp, and the two checksums by what
//! changed (RFC 1624, equation 3: the new sum is that of the old one's complement, the old words' complements and the new
//! words; so all but the new words is added up beforehand).

use std::net::IpAddr;

use etherparse::PacketBuilder;

use super::flow::{Group, Transport};
use super::stamp::MARK;
use super::{GenerateError, Stamp};

/// Bytes at a frame's start that a template writes: all headers and the stamp. What follows is zeros, or, of shorter
/// frames, is not sent.
pub const HEAD: usize = 80;

/// Where the IP header begins.
const IP: usize = 14;
/// The last bytes of the link's addresses.
const SOURCE: u8 = 1;
const DESTINATION: u8 = 2;

/// What of a frame differs from the next of its group.
#[derive(Clone, Copy, Debug)]
pub(super) struct Varying {
    /// Bytes that the kernel is handed.
    pub(super) handed: u16,
    /// Lower 32 bits of the addresses.
    pub(super) source: u32,
    pub(super) destination: u32,
    pub(super) source_port: u16,
    pub(super) destination_port: u16,
}

/// The bytes of a group's frames that stay, and what they add to the checksums.
#[derive(Clone, Debug)]
pub(super) struct Template {
    head: [u8; HEAD],
    kind: (bool, Transport),
    /// The IP header's sum without what varies (IPv4).
    ip_sum: u64,
    /// That of what is above IP, with its pseudo-header.
    sum: u64,
}

/// Where things stand in a frame. `v6`: IPv6, else IPv4 without options.
struct Layout {
    above: usize,
    /// What to take off the bytes handed over to have the IP header's length field, and where that stands.
    length_less: u16,
    length: usize,
    source: usize,
    destination: usize,
    ports: usize,
    sum: usize,
    number: usize,
    time: usize,
}

/// Offsets: RFC 791 (3.1), RFC 8200 (3), RFC 768, RFC 9293 (3.1), RFC 792, RFC 4443 (4.1).
const fn layout(v6: bool, transport: Transport) -> Layout {
    let above = if v6 { IP + 40 } else { IP + 20 };
    let (ports, sum, number, time) = match transport {
        Transport::Udp => (above, above + 6, above + 8, above + 16),
        Transport::Tcp => (above, above + 16, above + 4, above + 20),
        Transport::Icmp => (above + 4, above + 2, above + 8, above + 16),
    };
    // Of IPv6 addresses the last four bytes.
    let (length, source, destination) =
        if v6 { (IP + 4, IP + 20, IP + 36) } else { (IP + 2, IP + 12, IP + 16) };
    let length_less = if v6 { above as u16 } else { IP as u16 };
    Layout { above, length_less, length, source, destination, ports, sum, number, time }
}

/// Whether addresses and length are in the checksum above IP, by the pseudo-header: not for ICMP over IPv4.
const fn has_pseudo_header(v6: bool, transport: Transport) -> bool {
    v6 || !matches!(transport, Transport::Icmp)
}

impl Template {
    pub(super) fn of(group: &Group) -> Result<Template, GenerateError> {
        let kind @ (v6, transport) = (group.is_v6(), group.transport);
        let at = layout(v6, transport);
        let frame = built(group, at.time + 6)?;
        let mut head = [0; HEAD];
        head[..frame.len()].copy_from_slice(&frame);
        let mut template = Template { head, kind, ip_sum: 0, sum: 0 };
        // The frame as built is one of those that are made: what it adds to the sums is taken off again.
        let word = |at: usize| u64::from(u16::from_be_bytes([frame[at], frame[at + 1]]));
        let varying = Varying {
            handed: frame.len() as u16,
            source: group.sources.low(),
            destination: group.destinations.low(),
            source_port: group.source_ports.first,
            destination_port: group.destination_ports.first,
        };
        let (ip, above) = varied(kind, &varying, &Stamp { number: 0, time: 0 });
        let without = |checksum: u64, varied: u64| u64::from(!(checksum as u16)) + u64::from(!folded(varied));
        template.ip_sum = if v6 { 0 } else { without(word(IP + 10), ip) };
        template.sum = without(word(at.sum), above);
        Ok(template)
    }

    /// The fewest bytes to hand over that hold the stamp.
    pub(super) fn shortest(&self) -> usize {
        layout(self.kind.0, self.kind.1).time + 6
    }

    /// Writes a frame's first [`HEAD`] bytes.
    #[inline]
    pub(super) fn write(&self, head: &mut [u8; HEAD], varying: &Varying, stamp: &Stamp) {
        use Transport::{Icmp, Tcp, Udp};
        // Each with its offsets known to the compiler.
        match self.kind {
            (false, Udp) => self.write_as::<0, false>(head, varying, stamp),
            (false, Tcp) => self.write_as::<1, false>(head, varying, stamp),
            (false, Icmp) => self.write_as::<2, false>(head, varying, stamp),
            (true, Udp) => self.write_as::<0, true>(head, varying, stamp),
            (true, Tcp) => self.write_as::<1, true>(head, varying, stamp),
            (true, Icmp) => self.write_as::<2, true>(head, varying, stamp),
        }
    }

    #[inline(always)]
    fn write_as<const TRANSPORT: u8, const V6: bool>(
        &self,
        head: &mut [u8; HEAD],
        varying: &Varying,
        stamp: &Stamp,
    ) {
        let transport = const { [Transport::Udp, Transport::Tcp, Transport::Icmp][TRANSPORT as usize] };
        let at = const { layout(V6, [Transport::Udp, Transport::Tcp, Transport::Icmp][TRANSPORT as usize]) };
        *head = self.head;
        let mut put = |at: usize, bytes: &[u8]| head[at..at + bytes.len()].copy_from_slice(bytes);
        put(at.length, &(varying.handed - at.length_less).to_be_bytes());
        put(at.source, &varying.source.to_be_bytes());
        put(at.destination, &varying.destination.to_be_bytes());
        put(at.ports, &varying.source_port.to_be_bytes());
        put(at.ports + 2, &varying.destination_port.to_be_bytes());
        put(at.number, &stamp.number.to_be_bytes());
        put(at.time, &stamp.time.to_be_bytes()[2..]);
        let (ip, above) = varied((V6, transport), varying, stamp);
        if !V6 {
            put(IP + 10, &(!folded(self.ip_sum + ip)).to_be_bytes());
        }
        let mut sum = !folded(self.sum + above);
        if matches!(transport, Transport::Udp) {
            put(at.above + 4, &(varying.handed - at.above as u16).to_be_bytes());
            // No sum at all would be 0 (RFC 768).
            sum = if sum == 0 { 0xffff } else { sum };
        }
        put(at.sum, &sum.to_be_bytes());
    }
}

/// What the varying words add to the sum of the IPv4 header, and to that above IP. Below 2^40.
#[inline(always)]
fn varied((v6, transport): (bool, Transport), varying: &Varying, stamp: &Stamp) -> (u64, u64) {
    let addresses = u64::from(varying.source) + u64::from(varying.destination);
    let at = layout(v6, transport);
    let ip = addresses + u64::from(varying.handed - at.length_less);
    let mut above = u64::from(varying.source_port) + u64::from(varying.destination_port);
    // Any split into words of 16 bits has the same sum: 2^16 is 1 modulo 2^16 - 1.
    above += (stamp.number >> 32) + (stamp.number & 0xffff_ffff);
    above += (stamp.time >> 32) + (stamp.time & 0xffff_ffff);
    let length = u64::from(varying.handed) - at.above as u64;
    if has_pseudo_header(v6, transport) {
        above += addresses + length;
    }
    if matches!(transport, Transport::Udp) {
        above += length;
    }
    (ip, above)
}

/// The one's complement sum of 16 bits (RFC 1071).
#[inline(always)]
fn folded(sum: u64) -> u16 {
    let sum = (sum >> 32) + (sum & 0xffff_ffff);
    let sum = (sum >> 16) + (sum & 0xffff);
    let sum = (sum >> 16) + (sum & 0xffff);
    ((sum >> 16) + (sum & 0xffff)) as u16
}

/// The group's first frame, of so many bytes, with a stamp of zeros.
fn built(group: &Group, handed: usize) -> Result<Vec<u8>, GenerateError> {
    /// Hops that a frame may take: the recommended default (IANA, "IP Option Numbers", from RFC 1700).
    const HOPS: u8 = 64;
    let link = |last| {
        let [a, b, c, d, e] = MARK;
        [a, b, c, d, e, last]
    };
    let builder = PacketBuilder::ethernet2(link(SOURCE), link(DESTINATION));
    let builder = match (group.sources.first, group.destinations.first) {
        (IpAddr::V4(from), IpAddr::V4(to)) => builder.ipv4(from.octets(), to.octets(), HOPS),
        (IpAddr::V6(from), IpAddr::V6(to)) => builder.ipv6(from.octets(), to.octets(), HOPS),
        _ => {
            let reason = "one end is IPv4 and the other IPv6";
            return Err(GenerateError::input("a group of flows", reason, "give both ends the same version"));
        }
    };
    let (from, to) = (group.source_ports.first, group.destination_ports.first);
    let mut frame = Vec::with_capacity(handed);
    let written = match group.transport {
        Transport::Udp => {
            let builder = builder.udp(from, to);
            let payload = vec![0; handed - builder.size(0)];
            builder.write(&mut frame, &payload)
        }
        Transport::Tcp => {
            let builder = builder.tcp(from, to, 0, u16::MAX).ack(0).psh();
            let payload = vec![0; handed - builder.size(0)];
            builder.write(&mut frame, &payload)
        }
        Transport::Icmp if group.is_v6() => {
            let builder = builder.icmpv6_echo_request(from, to);
            let payload = vec![0; handed - builder.size(0)];
            builder.write(&mut frame, &payload)
        }
        Transport::Icmp => {
            let builder = builder.icmpv4_echo_request(from, to);
            let payload = vec![0; handed - builder.size(0)];
            builder.write(&mut frame, &payload)
        }
    };
    written.map_err(|e| GenerateError::input("a group of flows", e.to_string(), "give other addresses"))?;
    Ok(frame)
}
