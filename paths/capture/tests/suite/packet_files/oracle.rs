//! Capture files by other people's programs: tcpdump byte for byte, and the crate pcap-file in both directions.

use std::borrow::Cow;
use std::fs;
use std::io::Cursor;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use super::harness::{Got, contents, output, read};
use super::made::{self, KUZNETZOV, MICROS, NANOS, NATIVE, OTHER, Order, PCAP, Pcap, packets};
use pcap_file::pcap::{PcapHeader, PcapPacket, PcapReader, PcapWriter};
use pcap_file::pcapng::blocks::enhanced_packet::EnhancedPacketBlock;
use pcap_file::pcapng::blocks::interface_description::{
    InterfaceDescriptionBlock, InterfaceDescriptionOption,
};
use pcap_file::pcapng::{Block, PcapNgReader, PcapNgWriter};
use pcap_file::{DataLink, Endianness, TsResolution};
use tollway_capture::engine::LinkType;
use tollway_capture::engine::file::{
    Copy, Format, Input, Reader, Resolution, Rotating, Rotation, pcap, pcapng,
};
use tollway_core::Missing;
use tollway_host::requirement::skip_test;

/// Whether tcpdump is here.
fn tcpdump() -> bool {
    let there = Command::new("tcpdump").arg("--version").output().is_ok_and(|o| o.status.success());
    if !there {
        let missing = Missing::new("tcpdump", "there is no program of that name", "apt-get install tcpdump");
        skip_test(&["tcpdump"], &missing);
    }
    there
}

/// What tcpdump makes of a file, and whether it liked it.
fn by_tcpdump(folder: &Path, file: &[u8], nanos: bool) -> (Vec<u8>, bool) {
    let (from, to) = (folder.join("from"), folder.join("to"));
    fs::write(&from, file).expect("written");
    let mut command = Command::new("tcpdump");
    // As root it would become another user, who may not write here.
    command.args(["-Z", "root", "-n", "-r"]).arg(&from).arg("-w").arg(&to);
    if nanos {
        command.arg("--nano");
    }
    let output = command.output().expect("it was there");
    let written = fs::read(&to).unwrap_or_default();
    let _ = fs::remove_file(&to);
    (written, output.status.success())
}

/// What we make of it.
fn by_us(file: &[u8], nanos: bool) -> (Vec<u8>, bool) {
    let Ok(mut reader) = Reader::new(Input::from_read("made", Cursor::new(file.to_vec()))) else {
        return (Vec::new(), false);
    };
    let mut layout = match reader.format() {
        Format::Pcap(header) => header.into(),
        Format::PcapNg(interfaces) => match interfaces.first() {
            Some(first) => pcap::Layout { snapshot: first.snapshot, ..pcap::Layout::new(first.link_type) },
            None => return (Vec::new(), false),
        },
    };
    layout.resolution = if nanos { Resolution::Nanos } else { Resolution::Micros };
    let (to, file) = output();
    let mut writer = pcap::Writer::new(to, layout).expect("memory");
    let copied = Copy::default().run(&mut reader, &mut writer, |_, _| u32::MAX);
    writer.finish().expect("memory");
    (contents(file), copied.ended.is_ok())
}

/// pcapng with all kinds of packets; its clock makes so many ticks in a second.
fn pcapng(o: Order, options: &[u8], rate: u64) -> Vec<u8> {
    let mut file = [made::section(o), made::interface(o, 1, 1514, options)].concat();
    for (i, (seconds, fraction, bytes, wire)) in packets().iter().enumerate() {
        // A clock that is too fast to count since 1970 begins with the capture.
        let fraction = u64::from(*fraction);
        let ticks =
            if rate > 1 << 31 { fraction << 40 } else { u64::from(*seconds) * rate + fraction % rate };
        file.extend(match i {
            1 => made::old_packet(o, 0, ticks, bytes, *wire),
            2 => made::simple_packet(o, bytes, *wire),
            _ => made::packet(o, 0, ticks, bytes, *wire, &made::option(o, 1, b"a comment")),
        });
        file.extend(made::block(o, 0xbad + i as u32, &[7; 1001]));
    }
    file
}

fn files() -> Vec<(String, Vec<u8>)> {
    let mut files = Vec::new();
    let mut pcap = |file: Pcap| {
        files.push((format!("{file:?}"), file.file(&packets())));
    };
    for order in [NATIVE, OTHER] {
        for magic in [MICROS, NANOS, KUZNETZOV] {
            for version in [(2, 4), (2, 2), (2, 0), (543, 0), (2, 5), (1, 1)] {
                pcap(Pcap { order, magic, version, ..PCAP });
            }
            for snapshot in [0, 40, 262_144, 500_000, i32::MAX as u32, u32::MAX] {
                pcap(Pcap { order, magic, snapshot, ..PCAP });
            }
            // In the other order tcpdump 4.99.3 leaves the families of link type 0 as they are, and finds none of them in its copy.
            if order == NATIVE {
                pcap(Pcap { order, magic, link: 0, snapshot: 0, ..PCAP });
            }
            for link in [12, 19, 101, 105, 106, 113, 276, 0x2400_0001, 0x0800_0001, 0x0001_0001] {
                pcap(Pcap { order, magic, link, snapshot: 0, ..PCAP });
            }
        }
    }
    for order in [NATIVE, OTHER] {
        let options = |code, value: &[u8]| [made::option(order, code, value), vec![0; 4]].concat();
        files.push((format!("{order:?} pcapng"), pcapng(order, &[], 1_000_000)));
        for (resolution, rate) in [
            (0, 1),
            (3, 1000),
            (9, 1_000_000_000),
            (12, u64::MAX),
            (19, u64::MAX),
            (20, u64::MAX),
            (0x80, 1),
            (0x8a, 1 << 10),
            (0x9f, 1 << 31),
            // Nothing finer: libpcap multiplies 64 bits beyond their end.
            (0xa0, 1 << 32),
            (0xc0, u64::MAX),
        ] {
            let name = format!("{order:?} pcapng of {resolution:#x}");
            files.push((name, pcapng(order, &options(9, &[resolution]), rate)));
        }
        files.push((
            format!("{order:?} pcapng with offset"),
            pcapng(order, &options(14, &order.u64(7)), 1000),
        ));
    }
    files
}

#[test]
fn copies_are_those_of_tcpdump_byte_for_byte() {
    if !tcpdump() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    for (name, file) in files() {
        for nanos in [false, true] {
            let (theirs, they_liked) = by_tcpdump(folder.path(), &file, nanos);
            let (ours, we_liked) = by_us(&file, nanos);
            assert_eq!(we_liked, they_liked, "{name}, nanoseconds: {nanos}");
            assert!(
                ours == theirs,
                "{name}, nanoseconds: {nanos}: {} and {} bytes",
                ours.len(),
                theirs.len()
            );
        }
    }
}

#[test]
fn damaged_files_are_copied_as_far_as_by_tcpdump() {
    if !tcpdump() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let o = NATIVE;
    let pcap = PCAP.file(&packets()[..3]);
    let ng = pcapng(o, &[], 1_000_000);
    let start = [made::section(o), made::interface(o, 1, 65535, &[]), made::packet(o, 0, 9, &[1; 9], 9, &[])]
        .concat();
    let mut broken: Vec<Vec<u8>> = vec![
        [&pcap[..], &o.words(&[0, 0, 262_145, 60]), &[0; 60]].concat(),
        [&pcap[..], &o.words(&[0, 0, u32::MAX, 60]), &[0; 60]].concat(),
        [&start[..], &made::packet(o, 3, 0, &[1], 1, &[])].concat(),
        [&start[..], &o.words(&[6, 0, 0, 0])].concat(),
        [&start[..], &o.words(&[6, 0xffff_fffc, 0, 0])].concat(),
        [&start[..], &o.words(&[77, 15, 0, 0])].concat(),
        [&start[..], &made::block(o, 6, &o.words(&[0, 0, 0, 41, 41, 0, 0]))].concat(),
        [&start[..], &made::interface(o, 101, 65535, &[]), &made::packet(o, 1, 0, &[1], 1, &[])].concat(),
        b"no capture file at all".to_vec(),
    ];
    broken.extend((0..pcap.len()).step_by(7).map(|cut| pcap[..cut].to_vec()));
    broken.extend((28..ng.len()).step_by(29).map(|cut| ng[..cut].to_vec()));
    for file in broken {
        let (theirs, they_liked) = by_tcpdump(folder.path(), &file, false);
        let (ours, we_liked) = by_us(&file, false);
        assert_eq!((we_liked, &ours), (they_liked, &theirs), "{} bytes: {file:02x?}", file.len());
    }
}

/// Times and bytes as tcpdump prints them.
fn printed(folder: &Path, file: &[u8]) -> Vec<(String, String)> {
    let path = folder.join("printed");
    fs::write(&path, file).expect("written");
    let output = Command::new("tcpdump").args(["-n", "-tt", "-xx", "--nano", "-r"]).arg(&path).output();
    let text = String::from_utf8(output.expect("it was there").stdout).expect("text");
    let mut printed: Vec<(String, String)> = Vec::new();
    for line in text.lines() {
        match (line.strip_prefix("\t0x"), printed.last_mut()) {
            (Some(hex), Some((_, bytes))) => {
                let (_, hex) = hex.split_once(':').expect("an address and a colon");
                bytes.extend(hex.chars().filter(char::is_ascii_hexdigit));
            }
            _ => printed.push((line.split(' ').next().expect("a time").to_owned(), String::new())),
        }
    }
    printed
}

#[test]
fn packets_are_those_that_tcpdump_prints() {
    if !tcpdump() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    for order in [Order::Little, Order::Big] {
        for file in
            [Pcap { order, magic: NANOS, ..PCAP }.file(&packets()[..2]), pcapng(order, &[], 1_000_000)]
        {
            let (got, ended) = read(Cursor::new(file.clone()));
            ended.expect("sound");
            let got: Vec<(String, String)> = got
                .iter()
                .map(|g| {
                    let (seconds, nanos) = (g.nanos / 1_000_000_000, g.nanos % 1_000_000_000);
                    (format!("{seconds}.{nanos:09}"), g.bytes.iter().map(|b| format!("{b:02x}")).collect())
                })
                .collect();
            let printed = printed(folder.path(), &file);
            assert_eq!(got.len(), printed.len());
            let mut compared = 0;
            for (ours, theirs) in got.iter().zip(&printed) {
                // It has no time for a packet without bytes, and takes seconds for signed.
                if !theirs.0.starts_with('[') {
                    assert_eq!(ours, theirs);
                    compared += 1;
                }
            }
            assert!(compared >= 2);
        }
    }
}

/// A folder's files by name.
fn files_of(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let mut files: Vec<_> = fs::read_dir(folder)
        .expect("a folder")
        .map(|entry| {
            let entry = entry.expect("a file");
            (entry.file_name().to_string_lossy().into_owned(), fs::read(entry.path()).expect("readable"))
        })
        .collect();
    files.sort();
    files
}

#[test]
fn files_in_turn_are_those_of_tcpdump() {
    if !tcpdump() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let packets: Vec<made::Made> =
        (0..4000).map(|i| (1_700_000_000 + i / 1000, i % 1000, vec![i as u8; 1400], 1400)).collect();
    let from = folder.path().join("from");
    fs::write(&from, PCAP.file(&packets)).expect("written");
    for files in [None, Some(1), Some(3), Some(11)] {
        let (theirs, ours) = (folder.path().join("theirs"), folder.path().join("ours"));
        for folder in [&theirs, &ours] {
            let _ = fs::remove_dir_all(folder);
            fs::create_dir(folder).expect("a folder");
        }
        let mut command = Command::new("tcpdump");
        command.args(["-Z", "root", "-n", "-C", "1", "-r"]).arg(&from).arg("-w").arg(theirs.join("to"));
        command.args(files.map(|n| format!("-W{n}")));
        assert!(command.output().expect("it was there").status.success());

        let mut reader = Reader::open(&from).expect("sound");
        let rotation = Rotation { bytes: Some(1_000_000), files, ..Rotation::default() };
        let layout = pcap::Layout { snapshot: 65535, ..pcap::Layout::new(LinkType::ETHERNET) };
        let mut writer = Rotating::new(&ours.join("to"), layout, rotation);
        Copy::default().run(&mut reader, &mut writer, |_, _| u32::MAX).ended.expect("sound");
        writer.finish().expect("written");
        let (ours, theirs) = (files_of(&ours), files_of(&theirs));
        let names = |files: &[(String, Vec<u8>)]| files.iter().map(|f| f.0.clone()).collect::<Vec<_>>();
        assert_eq!(names(&ours), names(&theirs), "{files:?} files");
        assert!(ours == theirs, "{files:?} files");
    }
}

fn got(packets: &[made::Made], unit: u64) -> Vec<Got> {
    packets
        .iter()
        .map(|(seconds, fraction, bytes, wire)| Got {
            nanos: u64::from(*seconds) * 1_000_000_000 + u64::from(*fraction) * unit,
            bytes: bytes.clone(),
            wire: *wire,
            link: LinkType::ETHERNET,
            has_time: true,
        })
        .collect()
}

#[test]
fn pcap_files_of_the_crate_pcap_file() {
    for endianness in [Endianness::Little, Endianness::Big] {
        for (ts_resolution, unit) in [(TsResolution::MicroSecond, 1000), (TsResolution::NanoSecond, 1)] {
            let header =
                PcapHeader { endianness, ts_resolution, datalink: DataLink::ETHERNET, ..Default::default() };
            let mut writer = PcapWriter::with_header(Vec::new(), header).expect("memory");
            for packet in got(&packets(), unit) {
                let time = Duration::from_nanos(packet.nanos);
                writer.write_packet(&PcapPacket::new(time, packet.wire, &packet.bytes)).expect("memory");
            }
            let (read, ended) = read(Cursor::new(writer.into_writer()));
            ended.expect("sound");
            assert_eq!(read, got(&packets(), unit));
        }
    }
    // And what we write, by it.
    for (resolution, unit) in [(Resolution::Micros, 1000), (Resolution::Nanos, 1)] {
        let magic = if unit == 1 { NANOS } else { MICROS };
        let from = Pcap { magic, order: OTHER, ..PCAP }.file(&packets());
        let mut reader = Reader::new(Input::from_read("made", Cursor::new(from))).expect("sound");
        let (to, file) = output();
        let layout = pcap::Layout { resolution, ..pcap::Layout::new(LinkType::ETHERNET) };
        let mut writer = pcap::Writer::new(to, layout).expect("memory");
        Copy::default().run(&mut reader, &mut writer, |_, _| u32::MAX).ended.expect("sound");
        writer.finish().expect("memory");
        let mut theirs = PcapReader::new(Cursor::new(contents(file))).expect("sound");
        for ours in got(&packets(), unit) {
            let packet = theirs.next_packet().expect("as many").expect("sound");
            assert_eq!(packet.timestamp, Duration::from_nanos(ours.nanos));
            assert_eq!((packet.data.to_vec(), packet.orig_len), (ours.bytes, ours.wire));
        }
        assert!(theirs.next_packet().is_none());
    }
}

#[test]
fn pcapng_files_of_the_crate_pcap_file() {
    // It takes times for nanoseconds whatever the interface says: so they are.
    for endianness in [Endianness::Little, Endianness::Big] {
        let mut writer = PcapNgWriter::with_endianness(Vec::new(), endianness).expect("memory");
        let options = vec![
            InterfaceDescriptionOption::IfName(Cow::Borrowed("eth0")),
            InterfaceDescriptionOption::IfTsResol(9),
        ];
        let interface = InterfaceDescriptionBlock { linktype: DataLink::ETHERNET, snaplen: 0, options };
        writer.write_pcapng_block(interface).expect("memory");
        for packet in got(&packets(), 1) {
            let block = EnhancedPacketBlock {
                interface_id: 0,
                timestamp: Duration::from_nanos(packet.nanos),
                original_len: packet.wire,
                data: Cow::Owned(packet.bytes),
                options: vec![],
            };
            writer.write_pcapng_block(block).expect("memory");
        }
        let (read, ended) = read(Cursor::new(writer.into_inner()));
        ended.expect("sound");
        assert_eq!(read, got(&packets(), 1));
    }
    let from = Pcap { magic: NANOS, ..PCAP }.file(&packets());
    let mut reader = Reader::new(Input::from_read("made", Cursor::new(from))).expect("sound");
    let (to, file) = output();
    let mut writer = pcapng::Writer::new(to, "test").expect("memory");
    Copy::default().run(&mut reader, &mut writer, |_, _| u32::MAX).ended.expect("sound");
    writer.finish().expect("memory");
    let mut theirs = PcapNgReader::new(Cursor::new(contents(file))).expect("sound");
    let mut expected = got(&packets(), 1).into_iter();
    while let Some(block) = theirs.next_block() {
        if let Block::EnhancedPacket(packet) = block.expect("sound") {
            let ours = expected.next().expect("as many");
            assert_eq!(packet.timestamp, Duration::from_nanos(ours.nanos));
            assert_eq!((packet.data.to_vec(), packet.original_len), (ours.bytes, ours.wire));
        }
    }
    assert_eq!(expected.next(), None);
}

/// What we write, read by libpcap itself.
#[test]
fn files_we_write_by_libpcap() {
    use tollway_capture::engine::file::Output;
    use tollway_capture::engine::file::pcapng::Described;
    use tollway_capture::engine::{Packet, Timestamp};

    let folder = tempfile::tempdir().expect("a folder");
    for ng in [false, true] {
        let path = folder.path().join(if ng { "pcapng" } else { "pcap" });
        let to = Output::create(&path).expect("a folder of our own");
        let made = got(&packets(), 1);
        let packets = made.iter().map(|g| Packet {
            timestamp: Timestamp(g.nanos),
            bytes: &g.bytes,
            wire_length: g.wire,
        });
        if ng {
            let mut writer = pcapng::Writer::new(to, "test").expect("written");
            let interface = Described {
                link_type: LinkType::ETHERNET,
                snapshot: 0,
                name: Some("eth0".into()),
                check_sequence_bits: None,
                resolution: Resolution::Nanos,
            };
            writer.add_interface(&interface).expect("written");
            packets.for_each(|packet| writer.write(0, &packet).expect("written"));
            writer.finish().expect("written");
        } else {
            let layout =
                pcap::Layout { resolution: Resolution::Nanos, ..pcap::Layout::new(LinkType::ETHERNET) };
            let mut writer = pcap::Writer::new(to, layout).expect("written");
            packets.for_each(|packet| writer.write(&packet).expect("written"));
            writer.finish().expect("written");
        }
        let mut theirs = crate::libpcap::file::File::open(&path, "").expect("sound");
        assert_eq!(theirs.link_type().as_deref(), Some("EN10MB"));
        for ours in &made {
            let packet = theirs.next().expect("as many");
            // It takes seconds for signed, which they are not (draft-ietf-opsawg-pcap, section 5).
            let seconds = packet.seconds as u32;
            assert_eq!(u64::from(seconds) * 1_000_000_000 + packet.nanos, ours.nanos);
            assert_eq!((packet.bytes, packet.wire), (ours.bytes.clone(), ours.wire));
        }
        assert_eq!(theirs.next(), None, "no more");
    }
}
