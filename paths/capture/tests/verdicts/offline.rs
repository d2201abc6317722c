//! Filters on files: the same packets as libpcap takes of them, whatever they are of and in whichever byte order.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use pcap::Capture;
use tollway_capture::engine::LinkType;
use tollway_capture::engine::bpf::{Filter, Origin, Uncompiled, compile};
use tollway_capture::engine::file::Reader;

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

/// Why libpcap's programs are not run here, by the instruction: they look before the packet, at what only the kernel knows
/// of it, or read scratch memory that they have not written.
const REFUSED: [&str; 3] =
    ["before the packet's first byte", "only the Linux kernel knows", "was not written on every way"];

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
    let mut capture = Capture::from_file(path).map_err(|e| e.to_string())?;
    capture.filter(expression, true).map_err(|e| e.to_string())?;
    let mut taken = Vec::new();
    while let Ok(packet) = capture.next_packet() {
        taken.push(packet.header.ts.tv_sec);
    }
    Ok(taken)
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
    let (mut link_types, mut compared, mut taken, mut refused) = (0, 0u64, 0u64, BTreeMap::new());
    for link in 0..300 {
        let known = Capture::from_file(written("kind.pcap", &file(link, false, &[])));
        if !known.is_ok_and(|capture| capture.get_datalink().get_name().is_ok()) {
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
                        assert_eq!(theirs.err(), Some(reason), "{place}");
                    }
                    (Err(error), _) => {
                        let error = error.to_string();
                        let reason = REFUSED.iter().find(|reason| error.contains(**reason));
                        let reason = reason.unwrap_or_else(|| panic!("{place}: {error}"));
                        *refused.entry((link, *reason)).or_insert(0) += 1;
                    }
                    (Ok(_), Err(reason)) => panic!("{place}: libpcap says {reason}"),
                }
            }
        }
    }
    println!("{link_types} link types, {compared} verdicts, {taken} taken; refused: {refused:#?}");
    assert!(link_types > 150, "{link_types}");
    assert!(taken > compared / 50 && taken < compared / 2, "{taken} of {compared}");
}

/// Whose headers say it by an address family, and others.
#[test]
fn a_file_of_ipv6_alone_is_all_ip6_and_nothing_else() {
    let packet = [&[0x60, 0, 0, 0, 0, 8, 17, 64][..], &[0x20; 32], &[0, 53, 1, 187, 0, 8, 0, 0]].concat();
    for is_swapped in [false, true] {
        let family =
            |family: u32| if is_swapped { family.swap_bytes() } else { family }.to_ne_bytes().to_vec();
        let headers: Vec<(u32, Vec<u8>)> = vec![
            (0, family(24)),
            (0, family(28)),
            (0, family(30)),
            (108, 30u32.to_be_bytes().to_vec()),
            (109, [family(28), vec![0; 8]].concat()),
            (1, [vec![0; 12], vec![0x86, 0xdd]].concat()),
            (9, vec![0xff, 0x03, 0x00, 0x57]),
            (101, Vec::new()),
            (113, [vec![0; 14], vec![0x86, 0xdd]].concat()),
            (229, Vec::new()),
            (276, [vec![0x86, 0xdd], vec![0; 18]].concat()),
        ];
        for (link, header) in headers {
            let packets = vec![[header, packet.clone()].concat(); 6];
            let path = written("ipv6.pcap", &file(link, is_swapped, &packets));
            for (expression, many) in [("ip6", 6), ("not ip6", 0), ("udp port 443", 6), ("ip", 0)] {
                let taken = by_us(&path, expression).map(|taken| taken.len());
                // Of link types that are always IPv6, libpcap refuses to ask for anything else.
                if let Err(Uncompiled::Libpcap { .. }) = taken {
                    assert!(by_libpcap(&path, expression).is_err(), "{expression} of link type {link}");
                    continue;
                }
                assert_eq!(taken, Ok(many), "{expression} of link type {link}, swapped: {is_swapped}");
            }
        }
    }
}

#[test]
fn what_a_file_keeps_is_what_its_filter_keeps() {
    let origin = Origin::File { is_swapped: true };
    let program = compile("ip", LinkType::ETHERNET, origin, 96, true).unwrap();
    assert!(program.to_text().contains("ret      #96"), "{}", program.to_text());
}
