//! Long pcap files through filters into pcap files: byte for byte as if each packet were read, cut and written on its own,
//! whatever the filter says of which packet and wherever the copy stops.

use std::io::Cursor;

use super::harness::{Drip, contents, output};
use super::made::{MICROS, Made, NANOS, NATIVE, OTHER, PCAP, Pcap};
use tollway_capture::engine::file::{Copy, Input, Reader, pcap};
use tollway_capture::engine::{LinkType, Packet};

/// What a filter says of a packet, which knows its number by its length on the wire.
type Verdict = fn(u32) -> u32;

/// All, nothing, single ones, runs, by chance, and cut ones among them.
const VERDICTS: &[Verdict] = &[
    |_| u32::MAX,
    |_| 0,
    |i| if i % 700 == 3 { u32::MAX } else { 0 },
    |i| if i / 600 % 2 == 0 { u32::MAX } else { 0 },
    |i| if chance(i).is_multiple_of(2) { u32::MAX } else { 0 },
    |i| [0, u32::MAX, 0, 40][chance(i) as usize % 4],
    |i| if i % 900 == 5 { 1 } else { u32::MAX },
    |_| 68,
];

/// A number that looks like chance (Knuth's multiplicative hash).
fn chance(i: u32) -> u32 {
    i.wrapping_mul(2_654_435_761) >> 20
}

/// Short packets, empty ones, long ones, and one of more than a buffer's half.
fn packets() -> Vec<Made> {
    let length = |i: u32| match i {
        1500 => 200_000,
        _ if i.is_multiple_of(97) => 0,
        _ if i.is_multiple_of(11) => chance(i) % 3000,
        _ => 60,
    };
    (0..2500).map(|i| (1_700_000_000 + i, i, (0..length(i)).map(|b| (b ^ i) as u8).collect(), i)).collect()
}

/// The bytes of a copy, how many packets were read for it, and how many it has.
type Result = (Vec<u8>, u64, u64);

fn copied(from: &[u8], drip: usize, count: Option<u64>, layout: pcap::Layout, verdict: Verdict) -> Result {
    let source = Drip { source: Cursor::new(from.to_vec()), bytes: drip };
    let mut reader = Reader::new(Input::from_read("made", source)).expect("sound");
    let (to, file) = output();
    let mut writer = pcap::Writer::new(to, layout).expect("memory");
    let copied = Copy { count, ..Copy::default() }.run(&mut reader, &mut writer, |_, wire| verdict(wire));
    copied.ended.expect("sound");
    writer.finish().expect("memory");
    (contents(file), copied.read, copied.written)
}

fn one_by_one(from: &[u8], count: Option<u64>, layout: pcap::Layout, verdict: Verdict) -> Result {
    let mut reader = Reader::new(Input::from_read("made", Cursor::new(from.to_vec()))).expect("sound");
    let (to, file) = output();
    let mut writer = pcap::Writer::new(to, layout).expect("memory");
    let mut written = 0;
    while written < count.unwrap_or(u64::MAX)
        && let Some(captured) = reader.next().expect("sound")
    {
        let packet = captured.packet;
        let keep = verdict(packet.wire_length) as usize;
        if keep > 0 {
            let bytes = &packet.bytes[..packet.bytes.len().min(keep)];
            writer.write(&Packet { bytes, ..packet }).expect("memory");
            written += 1;
        }
    }
    writer.finish().expect("memory");
    (contents(file), reader.packets(), written)
}

#[test]
fn as_if_packet_by_packet() {
    let packets = packets();
    for (magic, order) in [(MICROS, NATIVE), (NANOS, NATIVE), (MICROS, OTHER)] {
        let file = Pcap { magic, order, snapshot: 262_144, ..PCAP };
        let from = file.file(&packets);
        for snapshot in [0, 1000] {
            let layout = pcap::Layout { snapshot, ..pcap::Layout::new(LinkType::ETHERNET) };
            for (number, &verdict) in VERDICTS.iter().enumerate() {
                for count in [None, Some(1), Some(511), Some(512), Some(513), Some(1100)] {
                    let want = one_by_one(&from, count, layout, verdict);
                    for drip in [usize::MAX, 70_001] {
                        let got = copied(&from, drip, count, layout, verdict);
                        let case = format!("verdict {number}, {count:?}, cut at {snapshot}, {file:?}");
                        assert_eq!((got.1, got.2), (want.1, want.2), "{case}");
                        assert!(got.0 == want.0, "{} bytes, not {}: {case}", got.0.len(), want.0.len());
                    }
                }
            }
        }
    }
}
