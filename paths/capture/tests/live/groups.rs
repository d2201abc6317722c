//! Sources that share an interface: every frame comes to exactly one of them.

use std::collections::HashSet;

use tollway_capture::engine::Accounting;
use tollway_capture::engine::source::{Kind, Settings, Source};
use tollway_wire::{Cable, FanoutMode};

use crate::cable::{drain, on_a_cable, on_a_cable_of, settings};

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
