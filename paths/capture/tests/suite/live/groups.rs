//! Sources that share an interface: every frame comes to exactly one of them.

use std::collections::HashSet;
use std::net::UdpSocket;

use tollway_capture::engine::Accounting;
use tollway_capture::engine::source::{Kind, Settings, Source};
use tollway_wire::{Cable, FanoutMode, Interface, PacketSocket, set_up};

use super::cable::{drain, numbered, on_a_cable, on_a_cable_of, settings};

#[test]
fn two_sources_get_every_frame_once() {
    on_a_cable(|sender| {
        let modes = [
            FanoutMode::RoundRobin,
            FanoutMode::Hash,
            FanoutMode::Cpu,
            FanoutMode::Queue,
            FanoutMode::Random,
        ];
        for kind in [Kind::Recv, Kind::Recvmmsg, Kind::TpacketV2, Kind::TpacketV3] {
            for fanout in modes {
                let settings = Settings { fanout, ..settings(kind) };
                let sources = Source::open_group(Cable::RIGHT, &settings, 2).unwrap();
                sender.numbered(0..1000, 60);
                all_of(sources, 1000, &format!("{kind} {fanout:?}"), |each| {
                    if fanout == FanoutMode::RoundRobin {
                        assert_eq!(each, [500, 500], "{kind}");
                    }
                });
            }
        }
    });
}

/// On the loopback interface every frame is sent, and comes back. A group has to leave out the first as a
/// single source does.
#[test]
fn a_group_on_the_loopback_interface_gets_every_frame_once() {
    on_a_cable(|_| {
        set_up("lo", true).unwrap();
        let to = UdpSocket::bind("127.0.0.1:0").unwrap();
        let from = UdpSocket::bind("127.0.0.1:0").unwrap();
        for kind in [Kind::Recv, Kind::Recvmmsg, Kind::TpacketV2, Kind::TpacketV3] {
            for members in 1..4 {
                let sources = Source::open_group("lo", &settings(kind), members).unwrap();
                for number in 0..10u8 {
                    from.send_to(&[number], to.local_addr().unwrap()).unwrap();
                }
                let mut numbers: Vec<u8> = Vec::new();
                for mut source in sources {
                    numbers.extend(drain(&mut source).0.iter().map(|kept| kept.bytes[42]));
                }
                numbers.sort_unstable();
                assert_eq!(numbers, Vec::from_iter(0..10), "{kind}, {members} members");
            }
        }
    });
}

#[test]
fn a_group_that_ignores_what_is_sent_here_hears_none_of_it() {
    on_a_cable(|sender| {
        let socket = PacketSocket::open().unwrap();
        socket.bind_deaf(&Interface::named(Cable::RIGHT).unwrap()).unwrap();
        for outgoing in [false, true] {
            let settings = Settings { outgoing, ..settings(Kind::TpacketV3) };
            let sources = Source::open_group(Cable::RIGHT, &settings, 2).unwrap();
            sender.numbered(0..10, 60);
            (100..110).for_each(|number| socket.send(&numbered(number, 60)).unwrap());
            let frames: usize = sources.into_iter().map(|mut source| drain(&mut source).0.len()).sum();
            assert_eq!(frames, if outgoing { 20 } else { 10 });
        }
    });
}

#[test]
fn af_xdp_has_a_source_for_each_queue() {
    on_a_cable_of(2, |sender| {
        let sources = Source::open_group(Cable::RIGHT, &settings(Kind::AfXdp), 2).unwrap();
        sender.numbered(0..1000, 60);
        all_of(sources, 1000, "AF_XDP", |_| ());
        let third = Source::open_group(Cable::RIGHT, &settings(Kind::AfXdp), 3).err().unwrap().to_string();
        assert!(third.contains("2 receive queues"), "{third}");
    });
}

fn all_of(sources: Vec<Source>, count: u32, about: &str, judge: impl FnOnce(&[usize])) {
    let (mut seen, mut sum, mut each) = (HashSet::new(), None::<Accounting>, Vec::new());
    for mut source in sources {
        let (kept, books) = drain(&mut source);
        each.push(kept.len());
        for packet in kept {
            let number = u32::from_be_bytes(packet.bytes[14..18].try_into().unwrap());
            assert!(seen.insert(number), "{about}: {number} came twice");
        }
        sum = Some(sum.map_or(books, |mut sum| {
            sum += books;
            sum
        }));
    }
    assert_eq!(seen.len(), count as usize, "{about}: {each:?}");
    let sum = sum.unwrap();
    assert_eq!((sum.offered, sum.balances()), (Some(count.into()), Some(true)), "{about}: {sum:?}");
    judge(&each);
}
