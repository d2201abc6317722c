//! Files that are written: what a failed write leaves is a valid file, what a slow reader gets is all of it.

use std::fs::{self, File, OpenOptions};
use std::io::{Cursor, Read, Write};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::thread;

use crate::asleep::Thread;

use super::harness::{contents, output, read};
use super::made::{self, PCAP, packets};
use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, memfd_create};
use tollway_capture::engine::file::pcapng::Described;
use tollway_capture::engine::file::{
    Content, Error, Output, Resolution, Rotating, Rotation, Sink, pcap, pcapng,
};
use tollway_capture::engine::{LinkType, Packet, Timestamp};

const INTERFACE: Described = Described {
    link_type: LinkType::ETHERNET,
    snapshot: 0,
    name: None,
    check_sequence_bits: None,
    resolution: Resolution::Nanos,
};

/// A file that can have no more than so many bytes.
fn full_at(bytes: u64) -> File {
    let file = File::from(memfd_create("full", MemfdFlags::ALLOW_SEALING).expect("memory for a file"));
    file.set_len(bytes).expect("memory");
    fcntl_add_seals(&file, SealFlags::GROW).expect("it is new");
    file
}

fn packet(bytes: &[u8], i: u64) -> Packet<'_> {
    Packet { timestamp: Timestamp(1_700_000_000_000_000_000 + i), bytes, wire_length: 2000 }
}

/// Writes packets until it is refused: how many, the error, and what the file is said to have.
fn write_on(writer: &mut impl Sink, bytes: &[u8], flush: bool) -> (u64, Error, Content) {
    for i in 0.. {
        let written =
            writer.write(0, &packet(bytes, i)).and_then(|()| if flush { writer.flush() } else { Ok(()) });
        if let Err(error) = written {
            assert!(
                writer.write(0, &packet(bytes, i)).and_then(|()| writer.flush()).is_err(),
                "once is enough"
            );
            return (i, error, writer.content().expect("a file"));
        }
    }
    unreachable!("it is full")
}

#[test]
fn a_full_file_stays_valid() {
    for full in [0, 23, 24, 4096, 300_000, 1_000_001] {
        for (flush, length) in [(false, 60), (true, 60), (false, 1514), (false, 100_000)] {
            let bytes = vec![7; length];
            for ng in [false, true] {
                let file = full_at(full);
                let to = Output::from_file("full", file.try_clone().expect("a descriptor"));
                let (written, error, content) = if ng {
                    let mut writer = pcapng::Writer::new(to, "test").expect("in the buffer");
                    writer.add_interface(&INTERFACE).expect("in the buffer");
                    write_on(&mut writer, &bytes, flush)
                } else {
                    let layout = pcap::Layout::new(LinkType::ETHERNET);
                    let mut writer = pcap::Writer::new(to, layout).expect("in the buffer");
                    write_on(&mut writer, &bytes, flush)
                };
                let Error::System { doing: "writing", file: name, offset, .. } = &error else {
                    panic!("{error}")
                };
                let left = contents(file);
                assert_eq!((name.as_str(), *offset), ("full", left.len() as u64), "{error}");
                assert!(left.len() as u64 <= full);
                assert_eq!(content.bytes, left.len() as u64);
                if left.is_empty() {
                    // Not even the file's header had room: the system counts in pages.
                    assert!(full < 4096);
                    assert_eq!(content.packets, 0);
                    continue;
                }
                let (got, ended) = read(Cursor::new(left.clone()));
                ended.unwrap_or_else(|e| panic!("{e} of {} bytes, full at {full}, pcapng: {ng}", left.len()));
                assert_eq!(content.packets, got.len() as u64);
                assert!(got.len() as u64 <= written + 1, "{} of {written}", got.len());
                // Nothing that the system took is given away but a part of a packet.
                let per_packet = (length + 44) as u64;
                assert!(left.len() as u64 + per_packet + 4096 > full, "{} of {full}", left.len());
            }
        }
    }
}

#[test]
fn what_stood_before_stays() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("log");
    fs::write(&path, b"before").expect("written");
    let append = OpenOptions::new().append(true).open(&path).expect("there");
    let mut writer =
        pcap::Writer::new(Output::from_file("log", append), pcap::Layout::new(LinkType::ETHERNET))
            .expect("in the buffer");
    writer.write(&packet(&[1; 60], 0)).expect("in the buffer");
    writer.finish().expect("written");
    let all = fs::read(&path).expect("there");
    assert_eq!(&all[..6], b"before");
    assert_eq!(all.len(), 6 + 24 + 76);
}

#[test]
fn a_full_device_and_a_closed_pipe_are_named() {
    let layout = pcap::Layout::new(LinkType::ETHERNET);
    let to = Output::create(Path::new("/dev/full")).expect("every Linux has it");
    let mut writer = pcap::Writer::new(to, layout).expect("in the buffer");
    let error = writer.flush().expect_err("it is full").to_string();
    assert_eq!(error, "writing /dev/full at byte 0: No space left on device (os error 28)");

    let (reader, to) = std::io::pipe().expect("a pipe");
    drop(reader);
    let to = Output::from_file("a pipe", File::from(OwnedFd::from(to)));
    let mut writer = pcap::Writer::new(to, layout).expect("in the buffer");
    let error = writer.flush().expect_err("nobody reads").to_string();
    assert_eq!(error, "writing a pipe at byte 0: Broken pipe (os error 32)");

    let error = Output::create(Path::new("/nonexistent/file")).err().expect("no folder").to_string();
    assert!(error.starts_with("creating /nonexistent/file"), "{error}");
}

#[test]
fn a_slow_reader_gets_all() {
    let (mut reader, to) = std::io::pipe().expect("a pipe");
    let writer = Thread::here();
    let slow = thread::spawn(move || {
        let mut all = Vec::new();
        let mut piece = [0; 10_007];
        while let Ok(count @ 1..) = reader.read(&mut piece) {
            all.extend_from_slice(&piece[..count]);
            // As long as more is to come than there is room for, the writer waits for each piece.
            if all.len() < 1_000_000 {
                writer.falls_asleep();
            }
        }
        all
    });
    let to = Output::from_file("a pipe", File::from(OwnedFd::from(to)));
    let mut writing = pcap::Writer::new(to, pcap::Layout::new(LinkType::ETHERNET)).expect("in the buffer");
    let bytes = [3; 1000];
    for i in 0..2000 {
        writing.write(&packet(&bytes, i)).expect("somebody reads");
    }
    writing.finish().expect("somebody reads");
    let (got, ended) = read(Cursor::new(slow.join().expect("no panic")));
    ended.expect("sound");
    assert_eq!(got.len(), 2000);
}

#[test]
fn flushed_packets_are_there_at_once() {
    let (to, file) = output();
    let mut writer = pcap::Writer::new(to, pcap::Layout::new(LinkType::ETHERNET)).expect("in the buffer");
    for i in 1..10 {
        writer.write(&packet(&[1; 60], i)).expect("memory");
        writer.flush().expect("memory");
        assert_eq!(file.metadata().expect("a file").len(), 24 + 76 * i);
        assert_eq!(writer.length(), 24 + 76 * i);
    }
}

#[test]
fn files_are_as_the_documents_say() {
    let (to, file) = output();
    let layout = pcap::Layout { snapshot: 65535, ..pcap::Layout::new(LinkType::ETHERNET) };
    let mut writer = pcap::Writer::new(to, layout).expect("in the buffer");
    for (seconds, fraction, bytes, wire) in &packets() {
        let timestamp = Timestamp(u64::from(*seconds) * 1_000_000_000 + u64::from(*fraction) * 1000);
        writer.write(&Packet { timestamp, bytes, wire_length: *wire }).expect("memory");
    }
    writer.finish().expect("memory");
    assert_eq!(contents(file), PCAP.file(&packets()));

    let (to, file) = output();
    let mut writer = pcapng::Writer::new(to, "test").expect("in the buffer");
    let named = Described { name: Some("eth0".into()), snapshot: 96, ..INTERFACE };
    writer.add_interface(&named).expect("memory");
    let Packet { timestamp, bytes, .. } = packet(&[9; 61], 7);
    writer.write(0, &Packet { timestamp, bytes, wire_length: 61 }).expect("memory");
    writer.finish().expect("memory");
    let o = made::NATIVE;
    let section =
        [&o.u32(0x1a2b_3c4d)[..], &o.u16(1), &o.u16(0), &[0xff; 8], &made::option(o, 4, b"test"), &[0; 4]];
    let options = [made::option(o, 2, b"eth0"), made::option(o, 9, &[9]), vec![0; 4]].concat();
    let expected = [
        made::block(o, 0x0a0d_0d0a, &section.concat()),
        made::interface(o, 1, 96, &options),
        made::packet(o, 0, timestamp.0, bytes, 61, &[]),
    ];
    assert_eq!(contents(file), expected.concat());
}

#[test]
fn what_does_not_go_is_refused() {
    let (to, _) = output();
    let mut writer = pcap::Writer::new(to, pcap::Layout::new(LinkType::ETHERNET)).expect("in the buffer");
    let late = Packet { timestamp: Timestamp(u64::MAX), bytes: &[], wire_length: 0 };
    assert!(writer.write(&late).expect_err("2554").to_string().contains("2106"));
    let wide = pcap::Writer::new(output().0, pcap::Layout::new(LinkType(70_000))).map(drop);
    assert!(wide.expect_err("16 bits").to_string().contains("70000"));

    let (to, _) = output();
    let mut writer = pcapng::Writer::new(to, "test").expect("in the buffer");
    assert!(writer.write(0, &late).is_err(), "there is no interface");
    let wide = Described { link_type: LinkType(70_000), ..INTERFACE };
    assert!(writer.add_interface(&wide).expect_err("16 bits").to_string().contains("70000"));
}

#[test]
fn a_file_that_is_not_finished_is_written_all_the_same() {
    let (to, file) = output();
    let mut writer = pcap::Writer::new(to, pcap::Layout::new(LinkType::ETHERNET)).expect("in the buffer");
    writer.write(&packet(&[1; 60], 0)).expect("memory");
    drop(writer);
    let mut file = file;
    file.flush().expect("memory");
    assert_eq!(contents(file).len(), 100);
}

#[test]
fn files_by_time() {
    let folder = tempfile::tempdir().expect("a folder");
    for (bytes, files, expected) in [
        // Three seconds each, from each one's first packet on.
        (None, None, vec![("100", 3), ("104", 2), ("108", 1)]),
        (None, Some(2), vec![("100", 3), ("104", 2)]),
        (Some(24 + 76), None, vec![("100", 2), ("1001", 1), ("104", 2), ("108", 1)]),
    ] {
        let rotation = Rotation { bytes, seconds: Some(3), files };
        let name = folder.path().join("%s");
        let mut writer = Rotating::new(&name, pcap::Layout::new(LinkType::ETHERNET), rotation);
        for second in [100, 101, 102, 104, 106, 108] {
            let timestamp = Timestamp(second * 1_000_000_000);
            writer.write(0, &Packet { timestamp, bytes: &[0; 60], wire_length: 60 }).expect("written");
            assert_eq!(writer.is_over(), files.is_some() && second == 108);
        }
        writer.finish().expect("written");
        for (name, packets) in expected {
            let path = folder.path().join(name);
            let (got, ended) = read(Cursor::new(fs::read(&path).expect(name)));
            ended.expect("sound");
            assert_eq!(got.len(), packets, "{name}");
            fs::remove_file(path).expect("it was there");
        }
        assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 0);
    }
}

#[test]
fn names_by_time_must_differ() {
    let repeats = |name: &str, seconds, files| {
        Rotation { bytes: None, seconds: Some(seconds), files }.repeats(Path::new(name))
    };
    for (name, seconds) in [("f", 5), ("f%%", 5), ("f-%H", 5), ("f-%H", 1800), ("f-%M", 3600), ("%Y", 86_400)]
    {
        assert!(repeats(name, seconds, None), "{name} {seconds}");
        assert!(repeats(name, seconds, Some(2)), "{name} {seconds}");
        assert!(!repeats(name, seconds, Some(1)), "{name} {seconds}: there is one file");
    }
    for (name, seconds) in [("%s", 1), ("f-%H%M%S", 5), ("f-%H", 7200), ("f-%M", 90), ("%F", 90_000)] {
        assert!(!repeats(name, seconds, None), "{name} {seconds}");
    }
    assert!(!Rotation { bytes: Some(1), seconds: None, files: None }.repeats(Path::new("f")));
}

#[test]
fn without_packets_there_is_a_file_with_a_header() {
    let folder = tempfile::tempdir().expect("a folder");
    let name = folder.path().join("to");
    let rotation = Rotation { bytes: Some(1), ..Rotation::default() };
    Rotating::new(&name, pcap::Layout::new(LinkType::ETHERNET), rotation).finish().expect("written");
    assert_eq!(fs::read(&name).expect("there").len(), 24);
}
