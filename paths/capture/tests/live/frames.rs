//! Frames come whole, in order, with their length and a timestamp.

use tollway_capture::engine::LinkType;
use tollway_capture::engine::source::{Details, Kind, Settings};
use tollway_wire::xdp::Mode;

use crate::cable::{drain, now, numbered, on_a_cable, open, settings, tagged};

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
