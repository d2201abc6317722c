//! Frames come whole, in order, with their length and a timestamp.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream, UdpSocket};

use tollway_capture::engine::LinkType;
use tollway_capture::engine::source::{Details, Kind, Settings, Source};
use tollway_wire::xdp::Mode;
use tollway_wire::{Cable, set_mtu};

use super::cable::{drain, now, numbered, on_a_cable, open, settings, tagged};

#[test]
fn all_frames_come_in_order_with_their_bytes_and_a_timestamp() {
    on_a_cable(|sender| {
        for kind in Kind::ALL {
            for length in [60, 61, 590, 1514] {
                let mut source = open(&settings(kind));
                assert_eq!(source.link_type(), LinkType::ETHERNET);
                let before = now();
                sender.numbered(0..1000, length);
                let (kept, books) = drain(&mut source);
                let after = now();
                assert_eq!(kept.len(), 1000, "{kind} {length}");
                for (number, packet) in kept.iter().enumerate() {
                    assert_eq!(packet.bytes, numbered(number as u32, length), "{kind} {length}");
                    assert_eq!(packet.wire_length as usize, length, "{kind}");
                    let sane = before <= packet.timestamp && packet.timestamp <= after;
                    assert!(sane, "{kind}: {before:?} {packet:?} {after:?}");
                }
                assert!(kept.is_sorted_by_key(|packet| packet.timestamp), "{kind}");
                assert_eq!((books.offered, books.balances()), (Some(1000), Some(true)), "{kind} {books:?}");
            }
        }
    });
}

#[test]
fn the_snapshot_cuts_what_is_kept_and_not_what_is_told() {
    on_a_cable(|sender| {
        for kind in Kind::ALL {
            for (snapshot, length) in [(1, 60), (16, 300), (96, 1514), (1514, 1514), (2000, 60)] {
                let mut source = open(&Settings { snapshot, ..settings(kind) });
                sender.numbered(0..10, length);
                let (kept, _) = drain(&mut source);
                assert_eq!(kept.len(), 10, "{kind}");
                for (number, packet) in kept.iter().enumerate() {
                    let whole = numbered(number as u32, length);
                    assert_eq!(packet.bytes, whole[..length.min(snapshot as usize)], "{kind} {snapshot}");
                    assert_eq!(packet.wire_length as usize, length, "{kind} {snapshot}");
                }
            }
        }
    });
}

#[test]
fn frames_with_vlan_tags_come_with_them() {
    on_a_cable(|sender| {
        let plain = numbered(7, 100);
        let once = tagged(&plain, 0x8100, 0x6123);
        let twice = tagged(&once, 0x88a8, 0x0456);
        for kind in Kind::ALL {
            for snapshot in [Settings::WHOLE, 60, 14] {
                let mut source = open(&Settings { snapshot, ..settings(kind) });
                for frame in [&plain, &once, &twice, &plain] {
                    sender.send(frame);
                }
                let (kept, _) = drain(&mut source);
                assert_eq!(kept.len(), 4, "{kind}");
                for (packet, frame) in kept.iter().zip([&plain, &once, &twice, &plain]) {
                    assert_eq!(
                        packet.bytes,
                        frame[..frame.len().min(snapshot as usize)],
                        "{kind} {snapshot}"
                    );
                    assert_eq!(packet.wire_length as usize, frame.len(), "{kind}");
                }
            }
        }
    });
}

#[test]
fn a_limit_stops_in_the_middle_and_nothing_is_lost_by_it() {
    on_a_cable(|sender| {
        for kind in Kind::ALL {
            let mut source = open(&settings(kind));
            sender.numbered(0..100, 60);
            let mut numbers = Vec::new();
            while numbers.len() < 100 {
                let before = numbers.len();
                let limit = 1 + before as u64 % 7;
                let stamp = |_: Option<_>| now();
                let sink = |packet: tollway_capture::engine::Packet<'_>| {
                    numbers.push(u32::from_be_bytes(packet.bytes[14..18].try_into().unwrap()));
                };
                source.read(limit, std::time::Duration::from_secs(1), stamp, sink).unwrap();
                assert!(numbers.len() > before && numbers.len() - before <= limit as usize, "{kind}");
            }
            assert!(numbers.iter().copied().eq(0..100), "{kind}");
        }
    });
}

#[test]
fn af_xdp_says_where_its_program_runs_and_both_places_do() {
    on_a_cable(|sender| {
        for mode in [Mode::Native, Mode::Generic] {
            let mut source = open(&Settings { xdp_mode: Some(mode), ..settings(Kind::AfXdp) });
            sender.numbered(0..100, 60);
            let (kept, books) = drain(&mut source);
            assert_eq!((kept.len(), books.balances()), (100, Some(true)), "{mode:?} {books:?}");
            // A veth end has no memory of its own to be written to by a driver.
            let Details::Port { mode: told, zero_copy, .. } = source.details().unwrap() else { panic!() };
            assert_eq!((told, zero_copy), (mode, false));
        }
    });
}

#[test]
fn what_this_machine_sends_is_captured_if_that_is_wanted() {
    on_a_cable(|sender| {
        for kind in [Kind::Recv, Kind::Recvmmsg, Kind::TpacketV2, Kind::TpacketV3] {
            for outgoing in [true, false] {
                let mut source = Source::open(Cable::LEFT, &Settings { outgoing, ..settings(kind) }).unwrap();
                sender.numbered(0..100, 60);
                let (kept, books) = drain(&mut source);
                assert_eq!(kept.len(), if outgoing { 100 } else { 0 }, "{kind} {outgoing}");
                assert_eq!(books.balances(), Some(true), "{kind} {outgoing}: {books:?}");
            }
        }
    });
}

#[test]
fn on_the_loopback_interface_a_frame_comes_once() {
    on_a_cable(|_| {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let to = socket.local_addr().unwrap();
        for kind in [Kind::Recv, Kind::Recvmmsg, Kind::TpacketV2, Kind::TpacketV3] {
            let mut source = Source::open("lo", &settings(kind)).unwrap();
            assert_eq!(source.link_type(), LinkType::ETHERNET);
            (0..10u8).for_each(|i| assert_eq!(socket.send_to(&[i; 33], to).unwrap(), 33));
            let (kept, books) = drain(&mut source);
            let payloads: Vec<u8> = kept.iter().map(|packet| *packet.bytes.last().unwrap()).collect();
            assert!(payloads.iter().copied().eq(0..10), "{kind}: {payloads:?}");
            // Ethernet, IPv4 and UDP have 42 bytes of headers.
            assert!(kept.iter().all(|packet| packet.bytes.len() == 75), "{kind}");
            assert_eq!(books.balances(), Some(true), "{kind}: {books:?}");
        }
    });
}

#[test]
fn segments_that_are_cut_later_come_whole() {
    on_a_cable(|_| {
        // Over loopback TCP hands over up to 64 KiB at once, whatever fits into a frame.
        set_mtu("lo", 1500).unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut out = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut into, _) = listener.accept().unwrap();
        for kind in [Kind::Recv, Kind::Recvmmsg, Kind::TpacketV2, Kind::TpacketV3] {
            let mut source = Source::open("lo", &settings(kind)).unwrap();
            std::thread::scope(|scope| {
                scope.spawn(|| out.write_all(&[7; 200_000]).unwrap());
                into.read_exact(&mut [0; 200_000]).unwrap();
            });
            let (kept, books) = drain(&mut source);
            let longest = kept.iter().map(|packet| packet.bytes.len()).max().unwrap();
            assert!(longest > 10_000, "{kind}: {longest}");
            assert!(kept.iter().all(|p| p.bytes.len() == p.wire_length as usize), "{kind}");
            assert_eq!(books.balances(), Some(true), "{kind}: {books:?}");
        }
    });
}
