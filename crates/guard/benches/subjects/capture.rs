//! Instructions of what runs for every packet, counted under callgrind. A limit fails `make guard`; it is a few per cent
//! above what was measured, so that no stored baseline is needed.

use std::hint::black_box;
use std::io::Cursor;
use std::path::Path;

use gungraun::prelude::*;
use tollway_capture::engine::bpf::{Filter, Program};
use tollway_capture::engine::file::{Copied, Copy, Input, Output, Reader, pcap};
use tollway_capture::engine::generate::{Flows, Frames, Group, Sizes, Stamp, Transport};
use tollway_capture::engine::{LinkType, Timestamp};

use crate::at_most;

/// Frames of one flow and one size.
fn one_flow() -> (Frames, Vec<u8>) {
    frames(Group::v4(Transport::Udp).into(), "64")
}

/// Frames of four groups of flows, 256 by 16 addresses, 1000 by 1 or 1000 ports, and three sizes.
fn many_flows() -> (Frames, Vec<u8>) {
    frames(Flows::web(0.5).expect("half is a share"), "imix")
}

fn frames(flows: Flows, sizes: &str) -> (Frames, Vec<u8>) {
    let sizes: Sizes = sizes.parse().expect("sizes as they are written");
    (Frames::new(&flows, &sizes, 1).expect("flows and sizes that can be"), vec![0; 2016])
}

#[library_benchmark]
// Random draws, the head's copy, what varies and two checksums; measured 220_244.
#[bench::thousand_frames_of_one_flow(setup = one_flow, config = at_most(227_000))]
// The same, and which group and size by their weights; measured 270_788.
#[bench::thousand_frames_of_a_mix(setup = many_flows, config = at_most(279_000))]
fn generate((mut frames, mut slot): (Frames, Vec<u8>)) -> (Vec<u8>, usize) {
    let mut bytes = 0;
    for number in 0..1000 {
        bytes += frames.write(black_box(&mut slot), &Stamp::new(number, Timestamp(black_box(1 << 60))));
    }
    (slot, bytes)
}

/// A file of a thousand packets of 60 bytes, and where they go.
fn thousand_packets() -> (Reader, pcap::Writer) {
    let mut file = Vec::new();
    for word in [0xa1b2_c3d4, u32::from_ne_bytes([2, 0, 4, 0]), 0, 0, 262_144, 1] {
        file.extend(u32::to_ne_bytes(word));
    }
    for i in 0..1000u32 {
        [1_700_000_000, i, 60, 60].iter().for_each(|word| file.extend(word.to_ne_bytes()));
        file.extend([i as u8; 60]);
    }
    let reader = Reader::new(Input::from_read("made", Cursor::new(file))).expect("a capture file");
    let to = Output::create(Path::new("/dev/null")).expect("every Linux has it");
    let writer = pcap::Writer::new(to, pcap::Layout::new(LinkType::ETHERNET)).expect("in the buffer");
    (reader, writer)
}

fn copy_packets(
    (mut reader, mut writer): (Reader, pcap::Writer),
    filter: impl Fn(&[u8], u32) -> u32,
) -> (Reader, pcap::Writer, Copied) {
    let copied = Copy::default().run(black_box(&mut reader), &mut writer, filter);
    (reader, writer, copied)
}

// One run of all records, each noted on its own in case the next is not wanted: measured 32_123.
#[library_benchmark(config = at_most(33_200))]
#[bench::thousand_packets(setup = thousand_packets)]
fn copy_all(of: (Reader, pcap::Writer)) -> (Reader, pcap::Writer, Copied) {
    copy_packets(of, |_, _| u32::MAX)
}

// As many pieces as packets that are wanted: measured 79_780.
#[library_benchmark(config = at_most(82_300))]
#[bench::thousand_packets(setup = thousand_packets)]
fn copy_every_other(of: (Reader, pcap::Writer)) -> (Reader, pcap::Writer, Copied) {
    copy_packets(of, |bytes, _| if bytes[0] & 1 == 0 { u32::MAX } else { 0 })
}

// What tcpdump -ddd prints for `ip`, for `tcp port 22 or 25 or 80 or 443 or 8080`, and for ten hosts 10.0.0.1 to
// 10.0.0.10 with ten ports. Of the packets below they execute 3, 21 and 51 instructions.
const IP: &str = include_str!("../filters/3.txt");
const FIVE_PORTS: &str = include_str!("../filters/21.txt");
const HOSTS_AND_PORTS: &str = include_str!("../filters/51.txt");

/// A frame of 60 bytes with a TCP segment from 192.168.1.2, port 40000.
fn segment(to: [u8; 4], port: u16) -> [u8; 60] {
    let mut frame = [0; 60];
    frame[12..16].copy_from_slice(&[0x08, 0x00, 0x45, 0]);
    frame[23] = 6;
    frame[26..30].copy_from_slice(&[192, 168, 1, 2]);
    frame[30..34].copy_from_slice(&to);
    frame[34..36].copy_from_slice(&40000u16.to_be_bytes());
    frame[36..38].copy_from_slice(&port.to_be_bytes());
    frame
}

fn program(text: &str) -> Program {
    Program::read(text).expect("tcpdump printed it")
}

fn machine(text: &str, to: [u8; 4], port: u16) -> (Filter, [u8; 60]) {
    (Filter::new(&program(text)), segment(to, port))
}

fn interpreter(text: &str, to: [u8; 4], port: u16) -> (Filter, [u8; 60]) {
    (Filter::interpreted(&program(text)), segment(to, port))
}

#[library_benchmark]
// A thousand times the same packet.
// Measured 17_063, 41_063 and 51_063.
#[bench::machine_3(args = (IP, [10, 9, 9, 9], 9999), setup = machine, config = at_most(17_600))]
#[bench::machine_21(args = (FIVE_PORTS, [10, 9, 9, 9], 9999), setup = machine, config = at_most(42_500))]
#[bench::machine_51(args = (HOSTS_AND_PORTS, [10, 0, 0, 10], 993), setup = machine, config = at_most(52_700))]
// Measured 63_063, 270_063 and 516_063.
#[bench::interpreter_3(args = (IP, [10, 9, 9, 9], 9999), setup = interpreter, config = at_most(64_000))]
#[bench::interpreter_21(args = (FIVE_PORTS, [10, 9, 9, 9], 9999), setup = interpreter, config = at_most(278_000))]
#[bench::interpreter_51(args = (HOSTS_AND_PORTS, [10, 0, 0, 10], 993), setup = interpreter, config = at_most(531_000))]
fn filter((filter, packet): (Filter, [u8; 60])) -> (Filter, u64) {
    let sum = (0..1000).map(|_| u64::from(filter.run(black_box(&packet), 60))).sum();
    (filter, sum)
}

// Read, checked and translated: measured 278_572.
#[library_benchmark(config = at_most(284_000))]
#[bench::hosts_and_ports(args = (HOSTS_AND_PORTS))]
fn translate(text: &'static str) -> Filter {
    Filter::new(&program(text))
}

library_benchmark_group!(
    name = capture,
    benchmarks = [generate, copy_all, copy_every_other, filter, translate]
);
