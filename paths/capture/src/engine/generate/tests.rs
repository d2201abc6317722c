//! Frames against etherparse, an independent reader of packets: layout, lengths, checksums; and against the laws they are
//! drawn by.

use std::collections::HashMap;

use etherparse::{NetSlice, SlicedPacket, TransportSlice};
use proptest::prelude::*;

use super::*;
use crate::engine::Timestamp;

/// A frame as it would be on its way, with everything behind the head zero.
fn frame(frames: &mut Frames, stamp: &Stamp) -> Vec<u8> {
    let mut slot = vec![0; 1514];
    let length = frames.write(&mut slot, stamp);
    slot.truncate(length);
    slot
}

/// Source and destination address's last four bytes, ports (of ICMP: identifier and sequence number), transport.
type Seen = (u32, u32, u16, u16, u8);

/// Reads a frame with etherparse: every length must agree with the frame's and every checksum with etherparse's own.
fn parse(frame: &[u8]) -> Seen {
    let sliced = SlicedPacket::from_ethernet(frame).expect("etherparse reads it");
    let low = |address: &[u8]| u32::from_be_bytes(*address.last_chunk().unwrap());
    let (source, destination, v4, v6) = match sliced.net.expect("an IP header") {
        NetSlice::Ipv4(ip) => {
            let header = ip.header().to_header();
            assert_eq!(usize::from(header.total_len), frame.len() - 14);
            assert_eq!(header.header_checksum, header.calc_header_checksum());
            (low(&header.source), low(&header.destination), Some(header), None)
        }
        NetSlice::Ipv6(ip) => {
            let header = ip.header().to_header();
            assert_eq!(usize::from(header.payload_length), frame.len() - 54);
            (low(&header.source), low(&header.destination), None, Some(header))
        }
        other => panic!("{other:?}"),
    };
    let (ports, kind) = match sliced.transport.expect("a transport header") {
        TransportSlice::Udp(udp) => {
            let header = udp.to_header();
            assert_eq!(usize::from(header.length), udp.slice().len());
            let sum = match (&v4, &v6) {
                (Some(ip), _) => header.calc_checksum_ipv4(ip, udp.payload()).unwrap(),
                (_, Some(ip)) => header.calc_checksum_ipv6(ip, udp.payload()).unwrap(),
                _ => unreachable!(),
            };
            assert_eq!(header.checksum, sum);
            ((header.source_port, header.destination_port), 17)
        }
        TransportSlice::Tcp(tcp) => {
            let header = tcp.to_header();
            let sum = match (&v4, &v6) {
                (Some(ip), _) => header.calc_checksum_ipv4(ip, tcp.payload()).unwrap(),
                (_, Some(ip)) => header.calc_checksum_ipv6(ip, tcp.payload()).unwrap(),
                _ => unreachable!(),
            };
            assert_eq!(header.checksum, sum);
            ((header.source_port, header.destination_port), 6)
        }
        TransportSlice::Icmpv4(icmp) => {
            let header = icmp.header();
            assert_eq!(header.checksum, header.icmp_type.calc_checksum(icmp.payload()));
            let etherparse::Icmpv4Type::EchoRequest(echo) = header.icmp_type else {
                panic!("no echo request")
            };
            ((echo.id, echo.seq), 1)
        }
        TransportSlice::Icmpv6(icmp) => {
            let (header, ip) = (icmp.header(), v6.unwrap());
            let sum = header.icmp_type.calc_checksum(ip.source, ip.destination, icmp.payload()).unwrap();
            assert_eq!(header.checksum, sum);
            let etherparse::Icmpv6Type::EchoRequest(echo) = header.icmp_type else {
                panic!("no echo request")
            };
            ((echo.id, echo.seq), 58)
        }
        other => panic!("{other:?}"),
    };
    (source, destination, ports.0, ports.1, kind)
}

fn transports() -> impl Strategy<Value = Transport> {
    prop_oneof![Just(Transport::Udp), Just(Transport::Tcp), Just(Transport::Icmp)]
}

fn addresses(v6: bool) -> impl Strategy<Value = Addresses> {
    (any::<u128>(), 1u32..5000).prop_map(move |(bits, count)| {
        let low = (bits as u32).min(u32::MAX - count);
        let first = if v6 {
            std::net::Ipv6Addr::from_bits(bits & !0xffff_ffff | u128::from(low)).into()
        } else {
            std::net::Ipv4Addr::from_bits(low).into()
        };
        Addresses { first, count }
    })
}

fn ports() -> impl Strategy<Value = Ports> {
    (any::<u16>(), 1u32..60_000)
        .prop_map(|(first, count)| Ports { first, count: count.min(65_536 - u32::from(first)) })
}

fn groups() -> impl Strategy<Value = Group> {
    any::<bool>().prop_flat_map(|v6| {
        (transports(), addresses(v6), addresses(v6), ports(), ports()).prop_map(
            |(transport, sources, destinations, source_ports, destination_ports)| Group {
                weight: 1.0,
                transport,
                sources,
                destinations,
                source_ports,
                destination_ports,
            },
        )
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn every_frame_is_what_etherparse_reads(
        group in groups(),
        size in 84u16..=1518,
        seed: u64,
        number: u64,
        sent: u64,
    ) {
        let flows = Flows::from(group.clone());
        let sizes = Sizes::Fixed(Size::new(size).unwrap());
        let mut frames = Frames::new(&flows, &sizes, seed).unwrap();
        for number in [number, 0, u64::MAX] {
            let stamp = Stamp::new(number, Timestamp(sent));
            let frame = frame(&mut frames, &stamp);
            prop_assert_eq!(frame.len(), usize::from(size) - 4);
            let (source, destination, from, to, _) = parse(&frame);
            let within = |low: u32, first: u32, count: u32| low >= first && low - first < count;
            prop_assert!(within(source, group.sources.low(), group.sources.count));
            prop_assert!(within(destination, group.destinations.low(), group.destinations.count));
            prop_assert!(within(from.into(), group.source_ports.first.into(), group.source_ports.count));
            prop_assert!(within(to.into(), group.destination_ports.first.into(), group.destination_ports.count));
            prop_assert_eq!(Stamp::read(&frame), Some(stamp));
        }
    }
}

/// A checksum that comes out as 0 is sent as 0xffff by UDP and as 0 by the others: numbers are tried until it happens.
#[test]
fn checksums_of_zero_are_right() {
    for transport in [Transport::Udp, Transport::Tcp, Transport::Icmp] {
        let sizes = Sizes::Fixed(Size::SHORTEST);
        let mut frames = Frames::new(&Group::v4(transport).into(), &sizes, 1).unwrap();
        let at = match transport {
            Transport::Udp => 40,
            Transport::Tcp => 50,
            Transport::Icmp => 36,
        };
        let mut zeros = 0;
        for number in 0..70_000 {
            let frame = frame(&mut frames, &Stamp::new(number, Timestamp(0)));
            if matches!(frame[at..at + 2], [0, 0] | [0xff, 0xff]) {
                assert_eq!(frame[at] == 0, transport != Transport::Udp);
                parse(&frame);
                zeros += 1;
            }
        }
        assert!(zeros > 0, "{transport:?}");
    }
}

#[test]
fn the_shortest_frames_hold_their_stamps() {
    let shortest = |group: Group, size| {
        Frames::new(&group.into(), &Sizes::Fixed(Size::new(size).unwrap()), 1).map(|mut frames| {
            let stamp = Stamp::new(u64::MAX - 7, Timestamp(0x0123_4567_89ab_cdef));
            let frame = frame(&mut frames, &stamp);
            parse(&frame);
            assert_eq!(Stamp::read(&frame), Some(stamp));
        })
    };
    for transport in [Transport::Udp, Transport::Tcp, Transport::Icmp] {
        shortest(Group::v4(transport), 64).unwrap();
        let needed = if transport == Transport::Tcp { 84 } else { 80 };
        shortest(Group::v6(transport), needed).unwrap();
        let said = shortest(Group::v6(transport), needed - 1).unwrap_err().to_string();
        assert!(said.contains(&format!("need {needed}")), "{said}");
    }
}

/// Pearson's statistic of counts against shares.
fn chi_square(counts: &[u64], shares: &[f64]) -> f64 {
    let n = counts.iter().sum::<u64>() as f64;
    counts.iter().zip(shares).map(|(seen, share)| (*seen as f64 - n * share).powi(2) / (n * share)).sum()
}

/// The 0.1 % point of chi-square: Wilson and Hilferty (1931), within 1 % from two degrees of freedom on.
fn limit(degrees: usize) -> f64 {
    let (k, z) = (degrees as f64, 3.0902);
    let a = 2.0 / (9.0 * k);
    k * (1.0 - a + z * a.sqrt()).powi(3)
}

#[test]
fn sizes_come_in_their_shares() {
    for seed in 1..=3 {
        let mut frames = Frames::new(&Group::v4(Transport::Udp).into(), &Sizes::imix(), seed).unwrap();
        let mut counts: HashMap<usize, u64> = HashMap::new();
        for number in 0..120_000 {
            *counts.entry(frame(&mut frames, &Stamp::new(number, Timestamp(0))).len()).or_default() += 1;
        }
        assert_eq!(counts.len(), 3);
        let counts = [60, 590, 1514].map(|size| counts[&size]);
        let statistic = chi_square(&counts, &[7.0 / 12.0, 4.0 / 12.0, 1.0 / 12.0]);
        assert!(statistic < limit(2), "seed {seed}: {counts:?}: {statistic}");

        let uniform = Sizes::Uniform(Size::SHORTEST, Size::LONGEST);
        let mut frames = Frames::new(&Group::v4(Transport::Udp).into(), &uniform, seed).unwrap();
        let mut counts = vec![0; 1455];
        for number in 0..145_500 {
            counts[frame(&mut frames, &Stamp::new(number, Timestamp(0))).len() - 60] += 1;
        }
        let statistic = chi_square(&counts, &[1.0 / 1455.0; 1455]);
        assert!(statistic < limit(1454), "seed {seed}: {statistic}");
    }
}

#[test]
fn flows_come_in_their_shares() {
    let group = Group::v4(Transport::Udp)
        .addresses(5, 4)
        .ports(Ports { first: 1000, count: 3 }, Ports { first: 2000, count: 2 });
    let (n, cells) = (120_000u64, 5 * 4 * 3 * 2);
    let mut frames = Frames::new(&group.into(), &Sizes::Fixed(Size::SHORTEST), 9).unwrap();
    let mut counts: HashMap<Seen, u64> = HashMap::new();
    for number in 0..n {
        *counts.entry(parse(&frame(&mut frames, &Stamp::new(number, Timestamp(0))))).or_default() += 1;
    }
    assert_eq!(counts.len(), cells);
    let counts: Vec<u64> = counts.into_values().collect();
    let statistic = chi_square(&counts, &vec![1.0 / cells as f64; cells]);
    assert!(statistic < limit(cells - 1), "{statistic}");
}

#[test]
fn the_wanted_share_matches() {
    let n = 100_000u64;
    for share in [0.0, 0.1, 0.5, 1.0] {
        let mut frames = Frames::new(&Flows::web(share).unwrap(), &Sizes::Fixed(Size::SHORTEST), 4).unwrap();
        let matching = (0..n)
            .filter(|number| {
                let (_, _, from, to, kind) = parse(&frame(&mut frames, &Stamp::new(*number, Timestamp(0))));
                kind == 6 && [from, to].iter().any(|port| [80, 443].contains(port))
            })
            .count() as f64;
        let deviation = (n as f64 * share * (1.0 - share)).sqrt();
        assert!((matching - n as f64 * share).abs() <= 4.0 * deviation, "{share}: {matching}");
    }
    for share in [-0.1, 1.1, f64::NAN] {
        assert!(Flows::web(share).is_err());
    }
}

#[test]
fn the_same_seed_gives_the_same_frames() {
    let make = |seed| {
        let mut frames = Frames::new(&Flows::web(0.5).unwrap(), &Sizes::imix(), seed).unwrap();
        (0..100).map(|number| frame(&mut frames, &Stamp::new(number, Timestamp(0)))).collect::<Vec<_>>()
    };
    assert_eq!(make(1), make(1));
    assert_ne!(make(1), make(2));
}

#[test]
fn flows_that_cannot_be_are_refused() {
    let udp = Group::v4(Transport::Udp);
    let broadcast = Addresses { first: std::net::Ipv4Addr::BROADCAST.into(), count: 2 };
    for group in [
        Group { weight: -1.0, ..udp.clone() },
        Group { weight: f64::NAN, ..udp.clone() },
        udp.clone().addresses(0, 1),
        udp.clone().ports(Ports { first: 65_535, count: 2 }, Ports::one(1)),
        udp.clone().ports(Ports { first: 0, count: 0 }, Ports::one(1)),
        Group { sources: broadcast, ..udp.clone() },
        Group { sources: Group::v6(Transport::Udp).sources, ..udp.clone() },
    ] {
        let refused = Frames::new(&group.clone().into(), &Sizes::Fixed(Size::SHORTEST), 1);
        assert!(matches!(refused, Err(GenerateError::Input { .. })), "{group:?}");
    }
    assert!(Frames::new(&Flows(Vec::new()), &Sizes::Fixed(Size::SHORTEST), 1).is_err());
}
