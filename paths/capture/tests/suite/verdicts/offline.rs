//! Filters on files: the same packets as libpcap takes of them, whatever they are of and in whichever byte order.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use tollway_capture::engine::LinkType;
use tollway_capture::engine::bpf::{Filter, Origin, Uncompiled, compile};
use tollway_capture::engine::file::Reader;

use super::libpcap_file::File;
use super::packets;
use super::random::Random;

const SNAPSHOT: u32 = 2000;

/// Of each kind of primitive one or two.
const EXPRESSIONS: [&str; 27] = [
    "ip",
    "ip6",
    "not ip6",
    "arp",
    "tcp",
    "udp",
    "icmp6",
    "udp port 53",
    "tcp port 80 or tcp port 443",
    "host 10.0.0.1",
    "src net 10.0.0.0/28",
    "ip6 net 2001:db8::/32",
    "portrange 20-1000",
    "ip proto 50",
    "ip[8] < 64",
    "ip6[6] = 6",
    "tcp[13] & 2 != 0",
    "ip multicast",
    "link[0] & 1 = 0",
    "greater 60",
    "ether proto 0x86dd",
    "vlan",
    "ip and not tcp",
    "ip or ip6",
    "ip6 protochain 6",
    "ip protochain 17",
    "not ip6 protochain 58 and greater 60",
];

/// Why programs that libpcap makes are not run here: they look before the packet.
const REFUSED: &str = "before the packet's first byte";

/// The link types and expressions of which that is so, each with each: libpcap does not know where behind these headers the
/// next one begins, and takes that for −1. What it makes for all other pairs is run here, and comes to the same.
const REFUSED_LINK_TYPES: [u32; 10] = [132, 136, 165, 183, 194, 200, 232, 233, 234, 238];
const REFUSED_EXPRESSIONS: [&str; 7] = [
    "ip protochain 17",
    "ip6 protochain 6",
    "not ip6 protochain 58 and greater 60",
    "portrange 20-1000",
    "tcp port 80 or tcp port 443",
    "tcp[13] & 2 != 0",
    "udp port 53",
];

/// A file of a link type, in this machine's byte order or the other one, with these packets.
fn file(link: u32, is_swapped: bool, packets: &[Vec<u8>]) -> Vec<u8> {
    let word = |word: u32| if is_swapped { word.swap_bytes() } else { word }.to_ne_bytes();
    let half = |half: u16| if is_swapped { half.swap_bytes() } else { half }.to_ne_bytes();
    let mut file =
        [&word(0xa1b2_c3d4)[..], &half(2), &half(4), &word(0), &word(0), &word(SNAPSHOT), &word(link)]
            .concat();
    for (at, packet) in packets.iter().enumerate() {
        let length = packet.len() as u32;
        file.extend([word(at as u32), word(0), word(length), word(length)].concat());
        file.extend(packet);
    }
    file
}

fn written(name: &str, bytes: &[u8]) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::write(&path, bytes).unwrap();
    path
}

/// Which packets of a file libpcap takes, by their second; or why there is no filter.
fn by_libpcap(path: &Path, expression: &str) -> Result<Vec<i64>, String> {
    let mut file = File::open(path, expression)?;
    Ok(std::iter::from_fn(|| file.next()).map(|packet| packet.seconds).collect())
}

/// The same by us.
fn by_us(path: &Path, expression: &str) -> Result<Vec<i64>, Uncompiled> {
    let mut reader = Reader::open(path).expect("a sound file");
    let link = reader.link_type(0).expect("one interface");
    let origin = Origin::File { is_swapped: reader.is_swapped() };
    let filter = Filter::new(&compile(expression, link, origin, SNAPSHOT, true)?);
    let mut taken = Vec::new();
    while let Some(captured) = reader.next().expect("a sound file") {
        let packet = captured.packet;
        if filter.run(packet.bytes, packet.wire_length) > 0 {
            taken.push((packet.timestamp.0 / 1_000_000_000) as i64);
        }
    }
    Ok(taken)
}

/// Packets with something in front of them that tells many link types what follows.
fn of_many_kinds(random: &mut Random) -> Vec<Vec<u8>> {
    let kinds: [&[u8]; 26] = [
        &[],
        &[2, 0, 0, 0],
        &[0, 0, 0, 2],
        &[10, 0, 0, 0],
        &[24, 0, 0, 0],
        &[0, 0, 0, 24],
        &[28, 0, 0, 0],
        &[0, 0, 0, 28],
        &[30, 0, 0, 0],
        &[0, 0, 0, 30],
        &[0x08, 0x00],
        &[0x86, 0xdd],
        &[0x00, 0x21],
        &[0x00, 0x57],
        &[0xff, 0x03, 0x00, 0x21],
        &[0xff, 0x03, 0x00, 0x57],
        &[0x0f, 0x00, 0x08, 0x00],
        &[0xaa, 0xaa, 0x03, 0, 0, 0, 0x08, 0x00],
        &[0xaa, 0xaa, 0x03, 0, 0, 0, 0x86, 0xdd],
        &[0xfe, 0xfe, 0x03],
        &[0xcc],
        &[0x8e],
        &[0x03, 0xcc],
        &[0x02, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
        &[0x18, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
        &[0x1e, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
    ];
    let mut all = Vec::new();
    for kind in kinds {
        for before in [0, 2, 4, 8, 12, 14, 16, 20, 24, 40, 48] {
            let frame = packets::packet(random);
            let behind = frame.get(14..).unwrap_or_default();
            let front: Vec<u8> =
                (0..before).map(|_| if before % 8 == 0 { 0 } else { random.bits() as u8 }).collect();
            all.push([&front, kind, behind].concat());
        }
    }
    all
}

#[test]
fn filters_take_the_packets_of_files_that_libpcap_takes() {
    let mut random = Random(29);
    let packets = of_many_kinds(&mut random);
    let (mut link_types, mut compared, mut taken) = (0, 0u64, 0u64);
    let mut refused = [BTreeSet::new(), BTreeSet::new()];
    for link in 0..300 {
        let known = File::open(&written("kind.pcap", &file(link, false, &[])), "");
        if !known.is_ok_and(|file| file.link_type().is_some()) {
            continue;
        }
        link_types += 1;
        for is_swapped in [false, true] {
            let path = written("packets.pcap", &file(link, is_swapped, &packets));
            for expression in EXPRESSIONS {
                let place = format!("{expression} of link type {link}, swapped: {is_swapped}");
                let libpcap = by_libpcap(&path, expression);
                match (by_us(&path, expression), libpcap) {
                    (Ok(ours), Ok(theirs)) => {
                        assert_eq!(ours, theirs, "{place}");
                        compared += packets.len() as u64;
                        taken += theirs.len() as u64;
                    }
                    (Err(Uncompiled::Libpcap { reason, .. }), theirs) => {
                        assert_eq!(
                            theirs.err().as_deref(),
                            reason.strip_prefix("libpcap error: "),
                            "{place}"
                        );
                    }
                    (Err(error), _) => {
                        assert!(error.to_string().contains(REFUSED), "{place}: {error}");
                        refused[usize::from(is_swapped)].insert((link, expression));
                    }
                    (Ok(_), Err(reason)) => panic!("{place}: libpcap says {reason}"),
                }
            }
        }
    }
    println!("{link_types} link types, {compared} verdicts, {taken} taken; refused: {refused:?}");
    let of_link = |link| REFUSED_EXPRESSIONS.map(|expression| (link, expression));
    let listed: BTreeSet<(u32, &str)> = REFUSED_LINK_TYPES.into_iter().flat_map(of_link).collect();
    for refused in refused {
        let (more, fewer) = (&refused - &listed, &listed - &refused);
        assert!(more.is_empty(), "refused and not listed: {more:?}");
        assert!(fewer.is_empty(), "listed and not refused: {fewer:?}");
    }
    assert!(link_types > 150, "{link_types}");
    assert!(taken > compared / 50 && taken < compared / 2, "{taken} of {compared}");
}

/// What libpcap finds in a file of IPv6 alone where it is not the truth: link type, expression, packets of six. Behind Frame
/// Relay's header it looks for ports as if that were not there; in a packet-filter log it takes a family for this system's
/// number of it, where the file has that of the BSD that wrote it.
const ASTRAY: [(u32, &str, usize); 4] =
    [(107, "udp port 443", 0), (117, "ip6", 0), (117, "not ip6", 6), (117, "udp port 443", 0)];

/// Headers before IPv6, each as its format is published (<https://www.tcpdump.org/linktypes.html>), by link type.
fn before_ipv6(is_swapped: bool) -> Vec<(u32, Vec<u8>)> {
    let family = |family: u32| if is_swapped { family.swap_bytes() } else { family }.to_ne_bytes().to_vec();
    let ether_type = [0x86, 0xdd];
    // IEEE 802.2 and SNAP (RFC 1042).
    let snap = [&[0xaa, 0xaa, 0x03, 0, 0, 0][..], &ether_type].concat();
    let behind = |zeros: usize, rest: &[u8]| [&vec![0; zeros][..], rest].concat();
    // A data frame from station to station: frame control, duration, three addresses, sequence control.
    let wlan = [&[0x08, 0x00][..], &[0; 22], &snap].concat();
    let before_wlan = |radio: &[u8]| [radio, &wlan].concat();
    let packet_filter_log = |family: u8| [&[61, family][..], &[0; 62]].concat();
    vec![
        (0, family(24)),
        (0, family(28)),
        (0, family(30)),
        (1, behind(12, &ether_type)),
        (6, behind(14, &snap)),
        (7, vec![1, 2, 0xc4, 0, 0, 0]),
        (9, vec![0xff, 0x03, 0x00, 0x57]),
        (10, behind(13, &snap)),
        (12, Vec::new()),
        (50, vec![0xff, 0x03, 0x00, 0x57]),
        // PPP over Ethernet (RFC 2516): version and type, code, session, length; then PPP's protocol.
        (51, vec![0x11, 0, 0, 1, 0, 50, 0x00, 0x57]),
        (100, snap.clone()),
        (101, Vec::new()),
        (104, [&[0x0f, 0x00][..], &ether_type].concat()),
        (105, wlan.clone()),
        (106, snap.clone()),
        // Frame Relay (RFC 2427): address, unnumbered information, the network layer's identifier.
        (107, vec![0x18, 0x41, 0x03, 0x8e]),
        (108, 30u32.to_be_bytes().to_vec()),
        (109, [family(24), vec![0; 8]].concat()),
        (109, [family(28), vec![0; 8]].concat()),
        (113, behind(14, &ether_type)),
        (117, packet_filter_log(24)),
        (117, packet_filter_log(28)),
        (122, behind(16, &snap)),
        // Of AAL5 with LLC; virtual path and channel.
        (123, [&[0x02, 0, 0, 33][..], &snap].concat()),
        (127, before_wlan(&[0, 0, 8, 0, 0, 0, 0, 0])),
        (129, vec![1, 2, 0, 0, 0xc4, 0, 0, 0]),
        (138, behind(16, &ether_type)),
        (163, before_wlan(&[&[0x80, 0x21, 0x10, 0x01, 0, 0, 0, 64][..], &[0; 56]].concat())),
        (192, before_wlan(&[0, 0, 8, 0, 105, 0, 0, 0])),
        // Solaris' number for IPv6.
        (226, [&[1, 26][..], &[0; 22]].concat()),
        (229, Vec::new()),
        (240, behind(16, &ether_type)),
        (276, [&ether_type[..], &[0; 18]].concat()),
    ]
}

/// By an address family, by an EtherType, by PPP's protocol, or because nothing else can be there.
#[test]
fn a_file_of_ipv6_alone_is_all_ip6_and_nothing_else() {
    let packet = [&[0x60, 0, 0, 0, 0, 8, 17, 64][..], &[0x20; 32], &[0, 53, 1, 187, 0, 8, 0, 0]].concat();
    let mut astray = Vec::new();
    for is_swapped in [false, true] {
        for (link, header) in before_ipv6(is_swapped) {
            let packets = vec![[header, packet.clone()].concat(); 6];
            let path = written("ipv6.pcap", &file(link, is_swapped, &packets));
            for (expression, many) in [("ip6", 6), ("not ip6", 0), ("udp port 443", 6), ("ip", 0)] {
                let place = format!("{expression} of link type {link}, swapped: {is_swapped}");
                let taken = match by_us(&path, expression) {
                    Ok(taken) => taken.len(),
                    // Where nothing else can be there, libpcap refuses to look for it.
                    Err(error) if link == 229 && error.is_never_true() => 0,
                    Err(error) => panic!("{place}: {error}"),
                };
                assert_eq!(by_libpcap(&path, expression).map_or(0, |taken| taken.len()), taken, "{place}");
                if taken != many {
                    astray.push((link, expression, taken));
                }
            }
        }
    }
    astray.sort_unstable();
    astray.dedup();
    assert_eq!(astray, ASTRAY);
}

#[test]
fn what_a_file_keeps_is_what_its_filter_keeps() {
    let origin = Origin::File { is_swapped: true };
    let program = compile("ip", LinkType::ETHERNET, origin, 96, true).unwrap();
    assert!(program.to_text().contains("ret      #96"), "{}", program.to_text());
}
