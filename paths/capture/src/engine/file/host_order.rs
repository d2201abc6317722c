//! Numbers within packets that are in the byte order of the machine that wrote the file: turned round as they are read, as libpcap does
//! (1.10 and later), so that filters, texts and copies have them in this machine's.
//!
//! Sources: <https://www.tcpdump.org/linktypes.html>; linux/usbdevice_fs.h and drivers/usb/mon/mon_bin.c; linux/can.h;
//! linux/netfilter/nfnetlink_compat.h; OpenBSD's net/if_pflog.h.

use std::borrow::Cow;

use super::order::Order;
use crate::engine::LinkType;

/// Link types whose packets begin with their family: BSD's loopback device and its IPsec. Filters on files have libpcap look for it in the
/// file's order, so it stays in that up to where it is written.
const LOOPBACK: u32 = 0;
const IPSEC: u32 = 109;
/// Others with such numbers: OpenBSD's packet-filter log, CAN on Linux's cooked sockets, USB on Linux, netfilter's log.
const PFLOG: u32 = 117;
const COOKED: u32 = 113;
const COOKED_2: u32 = 276;
const USB: u32 = 189;
const USB_MAPPED: u32 = 220;
const NETFILTER: u32 = 239;

/// Bytes of the header of a mapped USB packet, and of a descriptor of an isochronous transfer behind it.
const USB_MAPPED_HEADER: usize = 64;
const DESCRIPTOR: usize = 16;
/// Descriptors that the kernel gives out at most (drivers/usb/mon/mon_bin.c, ISODESC_MAX).
const DESCRIPTORS: u32 = 128;

/// Whether packets of a link type, in a file of such an order, are not as this machine would have them.
pub(super) fn differ(link: LinkType, order: Order) -> bool {
    match link.0 {
        // The length of some was miscalculated, in either order.
        USB_MAPPED => true,
        LOOPBACK | IPSEC | PFLOG | COOKED | COOKED_2 | USB | NETFILTER => order == Order::Swapped,
        _ => false,
    }
}

/// Has a packet as this machine would have written it; gives how long it was on the wire.
pub(super) fn put_right(link: LinkType, order: Order, bytes: &mut [u8], wire_length: u32) -> u32 {
    let reach = bytes.len().min(wire_length as usize);
    if order == Order::Swapped {
        match link.0 {
            PFLOG => packet_filter_log(&mut bytes[..reach]),
            COOKED => can(&mut bytes[..reach], 14, 16),
            COOKED_2 => can(&mut bytes[..reach], 0, 20),
            USB => usb(bytes, false),
            USB_MAPPED => usb(bytes, true),
            NETFILTER => netfilter_log(bytes, wire_length as usize),
            _ => {}
        }
    }
    if link.0 == USB_MAPPED { isochronous_length(bytes, wire_length) } else { wire_length }
}

/// What a filter has taken, as it goes into a file of this machine's order.
pub(super) fn taken(link: LinkType, is_swapped: bool, bytes: &[u8]) -> Cow<'_, [u8]> {
    if !is_swapped || !matches!(link.0, LOOPBACK | IPSEC) {
        return Cow::Borrowed(bytes);
    }
    let mut bytes = bytes.to_vec();
    let _ = turn(&mut bytes, 0, 4);
    Cow::Owned(bytes)
}

/// Turns a number round, if it is there.
fn turn(bytes: &mut [u8], at: usize, width: usize) -> Option<()> {
    bytes.get_mut(at..at + width)?.reverse();
    Some(())
}

/// The same of several, each with its width, up to the first that is not there.
fn turn_all(bytes: &mut [u8], all: &[(usize, usize)]) -> Option<()> {
    all.iter().try_for_each(|(at, width)| turn(bytes, *at, *width))
}

/// Users and processes, as far as the header reaches, which says how long it is; its other numbers are in the network's order.
fn packet_filter_log(bytes: &mut [u8]) {
    let Some(length) = bytes.first().map(|length| usize::from(*length)) else { return };
    let reach = length.min(bytes.len());
    let _ = turn_all(&mut bytes[..reach], &[(44, 4), (48, 4), (52, 4), (56, 4)]);
}

/// Identifiers of CAN behind a cooked header of `header` bytes, which has the protocol at `at`: 12 and 13 are CAN and CAN FD, 14 CAN XL
/// (linux/if_ether.h, ETH_P_CAN and those that follow).
fn can(bytes: &mut [u8], at: usize, header: usize) {
    let Some((cooked, frame)) = bytes.split_at_mut_checked(header) else { return };
    let _ = match u16::from_be_bytes([cooked[at], cooked[at + 1]]) {
        12 | 13 => turn(frame, 0, 4),
        14 => turn_all(frame, &[(0, 4), (6, 2), (8, 4)]),
        _ => None,
    };
}

fn is_isochronous(bytes: &[u8]) -> bool {
    bytes[9] == 0
}

/// All numbers of the header, up to the first that is not there, and of the descriptors behind it.
fn usb(bytes: &mut [u8], is_mapped: bool) {
    let before = [(0, 8), (12, 2), (16, 8), (24, 4), (28, 4), (32, 4), (36, 4)];
    if turn_all(bytes, &before).is_none() {
        return;
    }
    // In their place other transfers have the bytes of a request.
    if is_isochronous(bytes) && turn_all(bytes, &[(40, 4), (44, 4)]).is_none() {
        return;
    }
    let behind = [48, 52, 56, 60].map(|at| (at, 4));
    if !is_mapped || turn_all(bytes, &behind).is_none() || !is_isochronous(bytes) {
        return;
    }
    let many = Order::Native.u32(bytes, USB_MAPPED_HEADER - 4) as usize;
    for descriptor in bytes[USB_MAPPED_HEADER..].chunks_mut(DESCRIPTOR).take(many) {
        let _ = turn_all(descriptor, &[(0, 4), (4, 4), (8, 4)]);
    }
}

/// The length and the type of each attribute behind the header of four bytes; what they hold is in the network's order.
fn netfilter_log(bytes: &mut [u8], wire_length: usize) {
    if bytes.len().min(wire_length) < 4 || bytes[1] != 0 {
        return;
    }
    let mut at = 4;
    while turn_all(&mut bytes[at..], &[(0, 2), (2, 2)]).is_some() {
        let length = usize::from(Order::Native.u16(bytes, at)).next_multiple_of(4);
        if length < 4 || at + length > bytes.len().min(wire_length) {
            return;
        }
        at += length;
    }
}

/// How long a mapped packet was on the wire. That of an isochronous transfer that has come in was taken for the length of its buffer by
/// early versions of libpcap; it ends where the last of its pieces does.
fn isochronous_length(bytes: &[u8], wire_length: u32) -> u32 {
    let word = |at: usize| Order::Native.u32(bytes, at);
    if bytes.len() < USB_MAPPED_HEADER || !is_isochronous(bytes) {
        return wire_length;
    }
    let (is_complete, comes_in, has_data) = (bytes[8] == b'C', bytes[10] & 0x80 != 0, bytes[15] == 0);
    let many = word(60);
    let header = USB_MAPPED_HEADER + many.min(DESCRIPTORS) as usize * DESCRIPTOR;
    let of_buffer = (header as u32).wrapping_add(word(32));
    let is_old = many <= DESCRIPTORS && is_complete && comes_in && has_data && wire_length == of_buffer;
    if !is_old || bytes.len() < header {
        return wire_length;
    }
    let ends = (USB_MAPPED_HEADER..header).step_by(DESCRIPTOR).map(|at| (word(at + 4), word(at + 8)));
    let ends = ends.filter(|(_, length)| *length > 0).map(|(at, length)| at.saturating_add(length));
    let length = (header as u32).saturating_add(ends.max().unwrap_or(0));
    let there = bytes.len() as u32;
    if length >= there { length } else { wire_length.max(there) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn swapped(link: u32, bytes: &[u8]) -> Vec<u8> {
        let mut packet = bytes.to_vec();
        put_right(LinkType(link), Order::Swapped, &mut packet, bytes.len() as u32);
        packet
    }

    #[test]
    fn numbers_are_turned_round_where_the_format_has_them() {
        let all: Vec<u8> = (0..80).collect();
        let turned = |places: &[(usize, usize)], of: &[u8]| {
            let mut bytes = of.to_vec();
            places.iter().for_each(|(at, width)| bytes[*at..at + width].reverse());
            bytes
        };
        // The first byte is the header's length; where it is shorter, there are fewer numbers.
        let log = [&[60], &all[1..]].concat();
        assert_eq!(swapped(PFLOG, &log), turned(&[(44, 4), (48, 4), (52, 4), (56, 4)], &log));
        let shorter = [&[50], &all[1..]].concat();
        assert_eq!(swapped(PFLOG, &shorter), turned(&[(44, 4)], &shorter));
        let cooked = |protocol: u8| [&all[..14], &[0, protocol], &all[16..]].concat();
        assert_eq!(swapped(COOKED, &cooked(12)), turned(&[(16, 4)], &cooked(12)));
        assert_eq!(swapped(COOKED, &cooked(14)), turned(&[(16, 4), (22, 2), (24, 4)], &cooked(14)));
        assert_eq!(swapped(COOKED, &cooked(8)), cooked(8));
        let plain = [(0, 8), (12, 2), (16, 8), (24, 4), (28, 4), (32, 4), (36, 4)];
        let mapped = [&plain[..], &[(48, 4), (52, 4), (56, 4), (60, 4)]].concat();
        assert_eq!(swapped(USB, &all), turned(&plain, &all));
        assert_eq!(swapped(USB_MAPPED, &all), turned(&mapped, &all));
        assert_eq!(swapped(USB, &all[..30]), turned(&plain[..4], &all[..30]));
        assert_eq!(swapped(1, &all), all);
    }

    #[test]
    fn attributes_are_followed_by_their_lengths() {
        let attribute =
            |length: u16, kind: u16| [length.swap_bytes().to_ne_bytes(), kind.swap_bytes().to_ne_bytes()];
        let right = |length: u16, kind: u16| [length.to_ne_bytes(), kind.to_ne_bytes()];
        let packet = |of: &dyn Fn(u16, u16) -> [[u8; 2]; 2]| {
            [&[2, 0, 0, 7][..], of(6, 9).as_flattened(), &[1, 2, 0, 0], of(4, 10).as_flattened(), &[1]]
                .concat()
        };
        assert_eq!(swapped(NETFILTER, &packet(&attribute)), packet(&right));
        // Of another version nothing is known.
        let other = [&[2, 1][..], &packet(&attribute)[2..]].concat();
        assert_eq!(swapped(NETFILTER, &other), other);
    }

    /// As long as its pieces reach, where it was taken for as long as its buffer.
    #[test]
    fn a_transfer_in_pieces_is_as_long_as_they_reach() {
        let mut packet = vec![0; 64 + 2 * 16 + 8];
        (packet[8], packet[10]) = (b'C', 0x81);
        let mut put = |at: usize, word: u32| packet[at..at + 4].copy_from_slice(&word.to_ne_bytes());
        put(32, 3000);
        put(60, 2);
        for (at, word) in [(64 + 4, 0), (64 + 8, 8), (80 + 4, 1000), (80 + 8, 500)] {
            put(at, word);
        }
        let length = |bytes: &[u8], wire: u32| {
            put_right(LinkType(USB_MAPPED), Order::Native, &mut bytes.to_vec(), wire)
        };
        assert_eq!(length(&packet, 96 + 3000), 96 + 1500);
        assert_eq!(length(&packet, 5000), 5000, "that was no such length");
        assert_eq!(length(&packet[..90], 96 + 3000), 96 + 3000, "not all of its pieces are there");
        packet[10] = 1;
        assert_eq!(length(&packet, 96 + 3000), 96 + 3000, "it went out");
    }

    #[test]
    fn packets_that_end_anywhere_are_taken() {
        for link in [PFLOG, COOKED, COOKED_2, USB, USB_MAPPED, NETFILTER] {
            for length in 0..200 {
                for fill in [0, 12, 0xff] {
                    let mut packet = vec![fill; length];
                    put_right(LinkType(link), Order::Swapped, &mut packet, 60);
                }
            }
        }
    }
}
