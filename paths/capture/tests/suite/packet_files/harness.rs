//! Any bytes as a capture file: read to the end, or refused at a place; the same however they come; and what was read is
//! what a copy has, in either format.
#![allow(dead_code, reason = "tests need more of it than a fuzzer does")]

use std::fs::File;
use std::io::{self, Cursor, Read, Seek, SeekFrom};

use rustix::fs::{MemfdFlags, memfd_create};
use tollway_capture::engine::file::{Copy, Error, Input, Output, Reader, Resolution, pcap, pcapng};
use tollway_capture::engine::{LinkType, Packet};

/// A packet that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Got {
    pub nanos: u64,
    pub bytes: Vec<u8>,
    pub wire: u32,
    pub link: LinkType,
    pub has_time: bool,
}

/// Gives a few bytes at a time, as a slow pipe does.
pub struct Drip<R> {
    pub source: R,
    pub bytes: usize,
}

impl<R: Read> Read for Drip<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = buffer.len().min(self.bytes);
        self.source.read(&mut buffer[..length])
    }
}

/// All packets, and how it ended.
pub fn read(source: impl Read + Send + 'static) -> (Vec<Got>, Result<(), Error>) {
    let mut got = Vec::new();
    match Reader::new(Input::from_read("made", source)) {
        Ok(mut reader) => {
            let ended = read_on(&mut reader, &mut got);
            (got, ended)
        }
        Err(error) => (got, Err(error)),
    }
}

/// The packets that are left.
pub fn read_on(reader: &mut Reader, got: &mut Vec<Got>) -> Result<(), Error> {
    while let Some(captured) = reader.next()? {
        let Packet { timestamp, bytes, wire_length } = captured.packet;
        let (interface, bytes, has_time) = (captured.interface, bytes.to_vec(), captured.has_time);
        let link = reader.link_type(interface).expect("a packet's interface is known");
        got.push(Got { nanos: timestamp.0, bytes, wire: wire_length, link, has_time });
    }
    Ok(())
}

/// A file without a name.
pub fn nameless() -> File {
    File::from(memfd_create("capture", MemfdFlags::CLOEXEC).expect("memory for a file"))
}

/// An output to a file, and the file.
pub fn output() -> (Output, File) {
    let file = nameless();
    (Output::from_file("copy", file.try_clone().expect("a descriptor")), file)
}

/// What is in a file.
pub fn contents(mut file: File) -> Vec<u8> {
    let mut bytes = Vec::new();
    file.seek(SeekFrom::Start(0)).expect("a file");
    file.read_to_end(&mut bytes).expect("readable");
    bytes
}

fn said(ended: &Result<(), Error>) -> String {
    ended.as_ref().err().map(ToString::to_string).unwrap_or_default()
}

/// Reads it in all ways and copies it; whether it was whole.
pub fn check(input: &[u8]) -> bool {
    let (got, ended) = read(Cursor::new(input.to_vec()));
    if let Err(error) = &ended {
        let Error::Damaged { offset, packet, .. } = error else { panic!("{error}") };
        assert!(*offset <= input.len() as u64, "{error} of {} bytes", input.len());
        assert_eq!(*packet, got.len() as u64, "{error}");
    }
    let dripped = read(Drip { source: Cursor::new(input.to_vec()), bytes: 1 + input.len() % 13 });
    assert_eq!((&dripped.0, said(&dripped.1)), (&got, said(&ended)));
    to_pcapng(input, &got, &said(&ended));
    if let Some(first) = got.first()
        && got.iter().all(|g| g.link == first.link)
    {
        to_pcap(input, &got, &said(&ended), first.link);
    }
    ended.is_ok()
}

fn to_pcapng(input: &[u8], got: &[Got], ended: &str) {
    let Ok(mut reader) = Reader::new(Input::from_read("made", Cursor::new(input.to_vec()))) else { return };
    let (output, file) = output();
    let mut writer = pcapng::Writer::new(output, "test").expect("memory");
    let copied = Copy::default().run(&mut reader, &mut writer, |_, _| u32::MAX);
    writer.finish().expect("memory");
    if copied.ended.as_ref().is_err_and(|e| matches!(e, Error::Format { .. })) {
        return;
    }
    assert_eq!(said(&copied.ended), ended);
    let (again, sound) = read(Cursor::new(contents(file)));
    sound.expect("what we write is sound");
    assert_eq!(copied.written, got.len() as u64);
    assert_eq!(again.len(), got.len());
    for (again, got) in again.iter().zip(got) {
        // Without a time it is the zero of a clock, and that is another one.
        let exact = got.nanos == again.nanos || !got.has_time;
        let fine = if exact { again.nanos } else { got.nanos / 1000 * 1000 };
        assert_eq!(*again, Got { nanos: fine, ..got.clone() });
    }
}

fn to_pcap(input: &[u8], got: &[Got], ended: &str, link_type: LinkType) {
    for (resolution, unit) in [(Resolution::Nanos, 1), (Resolution::Micros, 1000)] {
        let layout = pcap::Layout { resolution, ..pcap::Layout::new(link_type) };
        filtered(input, got, ended, layout, unit);
    }
}

/// Wants packets, parts of them and none of them, by what can be told from the packet alone.
fn wanted(bytes: &[u8], wire: u32) -> u32 {
    [u32::MAX, 0, u32::MAX, 20][((bytes.len() as u32 ^ wire) & 3) as usize]
}

fn filtered(input: &[u8], got: &[Got], ended: &str, layout: pcap::Layout, unit: u64) {
    let reader =
        || Reader::new(Input::from_read("made", Cursor::new(input.to_vec()))).expect("it was read before");
    let (output, file) = output();
    let mut writer = pcap::Writer::new(output, layout).expect("memory");
    let copied = Copy::default().run(&mut reader(), &mut writer, wanted);
    writer.finish().expect("memory");
    if copied.ended.as_ref().is_err_and(|e| matches!(e, Error::Format { .. })) {
        return;
    }
    assert_eq!(said(&copied.ended), ended);
    let (again, sound) = read(Cursor::new(contents(file)));
    sound.expect("what we write is sound");
    let expected: Vec<&Got> = got.iter().filter(|g| wanted(&g.bytes, g.wire) > 0).collect();
    assert_eq!(again.len(), expected.len());
    for (again, got) in again.iter().zip(expected) {
        let keep = got.bytes.len().min(wanted(&got.bytes, got.wire) as usize);
        let expected = (got.nanos / unit * unit, &got.bytes[..keep], got.wire);
        assert_eq!((again.nanos, &again.bytes[..], again.wire), expected);
    }
}
