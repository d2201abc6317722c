//! Any bytes as a capture file, and any packets there and back: what `make soak fuzz TARGET=packet-file` tries for longer.

use std::fs;
use std::path::Path;

use super::harness::{check, contents, output, read};
use super::made::{self, KUZNETZOV, MICROS, NANOS, NATIVE, OTHER, PCAP, Pcap};
use proptest::prelude::*;
use std::io::Cursor;
use tollway_capture::engine::file::pcapng::Described;
use tollway_capture::engine::file::{Resolution, pcap, pcapng};
use tollway_capture::engine::{LinkType, Packet, Timestamp};

fn seeds() -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds/packet-file");
    let entries = fs::read_dir(&folder).expect("the seeds are in the repository");
    entries.map(|entry| fs::read(entry.expect("a file").path()).expect("readable")).collect()
}

#[test]
fn seeds_are_read_or_refused() {
    let seeds = seeds();
    let sound = seeds.iter().filter(|seed| check(seed)).count();
    assert!(sound > 0 && sound < seeds.len(), "{sound} of {} seeds are sound", seeds.len());
}

fn packets() -> impl Strategy<Value = Vec<made::Made>> {
    let bytes = proptest::collection::vec(any::<u8>(), 0..200);
    proptest::collection::vec((any::<u32>(), 0..1_000_000u32, bytes, any::<u32>()), 0..20)
}

fn files() -> impl Strategy<Value = Vec<u8>> {
    let pcap = (
        packets(),
        0..2usize,
        0..3usize,
        0..4usize,
        prop_oneof![Just(1u32), Just(12), Just(231), any::<u32>()],
    )
        .prop_map(|(packets, order, magic, version, link)| {
            let order = [NATIVE, OTHER][order];
            let magic = [MICROS, NANOS, KUZNETZOV][magic];
            let version = [(2, 4), (2, 2), (2, 3), (543, 0)][version];
            Pcap { order, magic, version, link, ..PCAP }.file(&packets)
        });
    let pcapng =
        (packets(), 0..2usize, any::<u16>(), any::<u8>()).prop_map(|(packets, order, link, resolution)| {
            let o = [NATIVE, OTHER][order];
            let mut file =
                [made::section(o), made::interface(o, 1, 0, &made::option(o, 9, &[resolution]))].concat();
            for (i, (seconds, fraction, bytes, wire)) in packets.iter().enumerate() {
                let ticks = u64::from(*seconds) << 32 | u64::from(*fraction);
                file.extend(match i % 6 {
                    0 => made::interface(o, link, *wire, &[]),
                    1 => made::old_packet(o, 0, ticks, bytes, *wire),
                    2 => made::simple_packet(o, bytes, bytes.len() as u32),
                    3 => made::statistics(o, 0, &[(4, ticks), (5, 1), (6, 2), (7, u64::from(*wire)), (8, 3)]),
                    4 => made::block(o, *wire | 0x8000_0000, bytes),
                    _ => made::packet(o, 0, u64::from(*fraction), bytes, *wire, &made::option(o, 1, b"why")),
                });
            }
            file
        });
    prop_oneof![pcap, pcapng]
}

proptest! {
    #[test]
    fn files_are_read_or_refused(file in files()) {
        check(&file);
    }

    #[test]
    fn bent_files_are_read_or_refused(
        mut file in files(),
        bends in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        cut in any::<prop::sample::Index>(),
        cuts in any::<bool>(),
    ) {
        for (at, with) in bends {
            let at = at.index(file.len());
            file[at] ^= with;
        }
        if cuts {
            file.truncate(cut.index(file.len()));
        }
        check(&file);
    }

    #[test]
    fn any_bytes_are_read_or_refused(
        start in 0..4usize,
        bytes in proptest::collection::vec(any::<u8>(), 0..300),
    ) {
        let starts = [vec![], PCAP.header(), made::section(NATIVE), made::section(OTHER)];
        check(&[starts[start].clone(), bytes].concat());
    }

    #[test]
    fn any_packets_there_and_back(packets in packets(), snapshot in 0..300u32, ng in any::<bool>(), nanos in any::<bool>()) {
        let (to, file) = output();
        let resolution = if nanos { Resolution::Nanos } else { Resolution::Micros };
        let made = packets.iter().map(|(seconds, fraction, bytes, wire)| {
            let timestamp = Timestamp(u64::from(*seconds) * 1_000_000_000 + u64::from(*fraction) * 1000);
            Packet { timestamp, bytes, wire_length: *wire }
        });
        if ng {
            let mut writer = pcapng::Writer::new(to, "test").expect("memory");
            let interface = Described { snapshot, resolution, ..Described::new(LinkType::RAW) };
            writer.add_interface(&interface).expect("memory");
            made.clone().for_each(|packet| writer.write(0, &packet).expect("memory"));
            writer.finish().expect("memory");
        } else {
            let layout = pcap::Layout { snapshot, resolution, ..pcap::Layout::new(LinkType::RAW) };
            let mut writer = pcap::Writer::new(to, layout).expect("memory");
            made.clone().for_each(|packet| writer.write(&packet).expect("memory"));
            writer.finish().expect("memory");
        }
        let (got, ended) = read(Cursor::new(contents(file)));
        ended.expect("what we write is sound");
        let keep = if snapshot == 0 { usize::MAX } else { snapshot as usize };
        prop_assert_eq!(got.len(), packets.len());
        for (got, made) in got.iter().zip(made) {
            prop_assert_eq!(got.nanos, made.timestamp.0);
            prop_assert_eq!(&got.bytes[..], &made.bytes[..made.bytes.len().min(keep)]);
            prop_assert_eq!((got.wire, got.link), (made.wire_length, LinkType::RAW));
        }
    }
}
