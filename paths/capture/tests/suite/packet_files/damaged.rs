//! Damaged, truncated and lying files: a clear error with the place, what came before kept, and no memory for promises.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::io::Cursor;

use super::harness::{contents, output, read};
use super::made::{self, NANOS, NATIVE, OTHER, PCAP, Pcap, packets};
use tollway_capture::engine::LinkType;
use tollway_capture::engine::file::{Copy, Error, Fault, Input, Reader, pcap};

/// Notes the largest piece of memory that a thread asks for.
struct Noting;

thread_local! {
    static LARGEST: Cell<usize> = const { Cell::new(0) };
}

// SAFETY: it hands on to the system's allocator what it is asked, and notes a number beside.
unsafe impl GlobalAlloc for Noting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        LARGEST.with(|l| l.set(l.get().max(layout.size())));
        // SAFETY: as promised to us.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as promised to us.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Noting = Noting;

/// Reads a file that is damaged: how many packets came before, where the damage is, and what it is.
fn damaged(bytes: &[u8]) -> (usize, u64, Fault) {
    let bytes = bytes.to_vec();
    LARGEST.set(0);
    let (got, ended) = read(Cursor::new(bytes));
    assert!(LARGEST.get() <= 1 << 20, "{} bytes at once", LARGEST.get());
    match ended.expect_err("it is damaged") {
        Error::Damaged { file, offset, packet, fault } => {
            assert_eq!((file.as_str(), packet), ("made", got.len() as u64));
            assert!(!fault.to_string().is_empty() && !fault.remedy().is_empty());
            (got.len(), offset, fault)
        }
        other => panic!("{other}"),
    }
}

#[test]
fn pcap_cut_at_each_byte() {
    let mut ends = vec![24];
    for packet in packets() {
        ends.push(ends[ends.len() - 1] + PCAP.packet(&packet).len());
    }
    let file = PCAP.file(&packets());
    for cut in 0..=file.len() {
        let whole = ends.iter().filter(|end| **end <= cut).count();
        if ends.contains(&cut) {
            let (got, ended) = read(Cursor::new(file[..cut].to_vec()));
            ended.expect("it ends between packets");
            assert_eq!(got.len(), whole - 1);
            continue;
        }
        let (before, offset, fault) = damaged(&file[..cut]);
        assert_eq!(before, whole.saturating_sub(1), "cut at {cut}");
        assert_eq!(offset, if whole == 0 { 0 } else { ends[whole - 1] as u64 }, "cut at {cut}");
        assert!(matches!(fault, Fault::CutShort { .. }), "cut at {cut}: {fault}");
    }
}

#[test]
fn pcapng_cut_at_each_byte() {
    let o = OTHER;
    let mut blocks = vec![made::section(o), made::interface(o, 1, 0, &made::option(o, 2, b"eth0"))];
    for (seconds, _, bytes, wire) in &packets() {
        blocks.push(made::packet(o, 0, u64::from(*seconds), bytes, *wire, &[]));
        blocks.push(made::block(o, 4, &[0; 7]));
    }
    blocks.push(made::block(o, 0xbad, &[1; 70_000]));
    let (mut file, mut ends) = (Vec::new(), Vec::new());
    for block in blocks {
        let is_packet = block[..4] == o.u32(6);
        file.extend(block);
        ends.push((file.len(), is_packet));
    }
    for cut in (0..ends[13].0).chain([ends[14].0 - 5, ends[14].0 - 60_000]) {
        let packets = ends.iter().filter(|(end, is_packet)| *end <= cut && *is_packet).count();
        if cut > 0 && ends.iter().any(|(end, _)| *end == cut) {
            let (got, ended) = read(Cursor::new(file[..cut].to_vec()));
            ended.expect("it ends between blocks");
            assert_eq!(got.len(), packets);
            continue;
        }
        let (before, offset, fault) = damaged(&file[..cut]);
        assert_eq!(before, packets, "cut at {cut}");
        assert!(offset <= cut as u64);
        assert!(matches!(fault, Fault::CutShort { .. }), "cut at {cut}: {fault}");
    }
}

#[test]
fn what_a_cut_file_has_is_copied() {
    let file = PCAP.file(&packets());
    let cut = &file[..file.len() - 1];
    let mut reader = Reader::new(Input::from_read("made", Cursor::new(cut.to_vec()))).expect("a header");
    let (to, written) = output();
    let layout = pcap::Layout { snapshot: 65535, ..pcap::Layout::new(LinkType::ETHERNET) };
    let mut writer = pcap::Writer::new(to, layout).expect("memory");
    let copied = Copy::default().run(&mut reader, &mut writer, |_, _| u32::MAX);
    writer.finish().expect("memory");
    assert!(matches!(copied.ended, Err(Error::Damaged { packet: 5, .. })), "{:?}", copied.ended);
    assert_eq!(contents(written), PCAP.file(&packets()[..5]));
    assert_eq!(copied.written, 5);
}

#[test]
fn no_capture_file() {
    let first = |bytes: &[u8]| damaged(bytes).2;
    assert!(matches!(first(b""), Fault::CutShort { there: 0, .. }));
    assert!(matches!(first(b"abc"), Fault::CutShort { there: 3, .. }));
    assert_eq!(first(b"hello, world"), Fault::Unknown { first: *b"hell" });
    let zipped = first(&[0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3]);
    assert!(zipped.to_string().contains("gzip") && zipped.remedy().contains("decompress"));
}

#[test]
fn versions_nobody_knows() {
    for (major, minor) in [(2, 5), (1, 4), (543, 1), (3, 0), (0, 0)] {
        for order in [NATIVE, OTHER] {
            let file = Pcap { version: (major, minor), order, ..PCAP }.file(&packets());
            assert_eq!(damaged(&file), (0, 4, Fault::Version { format: "pcap", major, minor }));
        }
    }
    let mut section = made::section(OTHER);
    section[12..14].copy_from_slice(&OTHER.u16(2));
    assert_eq!(damaged(&section), (0, 12, Fault::Version { format: "pcapng", major: 2, minor: 0 }));
}

#[test]
fn pcap_packets_that_lie() {
    for order in [NATIVE, OTHER] {
        let file = Pcap { order, magic: NANOS, ..PCAP };
        let sound = file.file(&packets()[..2]);
        let lie = |kept: u32| [&sound[..], &order.words(&[0, 0, kept, 60]), &[0; 100]].concat();
        for kept in [262_145, u32::MAX, i32::MAX as u32] {
            let fault = Fault::TooLong { captured: kept, limit: 262_144 };
            assert_eq!(damaged(&lie(kept)), (2, sound.len() as u64, fault));
        }
        // Possible, but not there.
        for kept in [101, 262_144] {
            let wanted = u64::from(kept) + 16;
            let fault = Fault::CutShort { what: "a packet", wanted, there: 116 };
            assert_eq!(damaged(&lie(kept)), (2, sound.len() as u64, fault));
        }
    }
    // D-Bus messages may be long: still nothing is taken for what is only promised.
    let long = Pcap { link: 231, ..PCAP };
    let lie = [&long.header()[..], &NATIVE.words(&[0, 0, 128 << 20, 60]), &[0; 100]].concat();
    assert!(matches!(damaged(&lie).2, Fault::CutShort { .. }));
}

/// A section with an interface and a packet, then what is given.
fn after_a_packet(block: &[u8]) -> (Vec<u8>, u64) {
    let o = NATIVE;
    let sound = [made::section(o), made::interface(o, 1, 100, &[]), made::packet(o, 0, 0, &[1; 60], 60, &[])]
        .concat();
    let at = sound.len() as u64;
    ([&sound, block, &[0; 64]].concat(), at)
}

#[test]
fn blocks_that_lie() {
    let o = NATIVE;
    for (kind, least) in [(1, 20), (2, 32), (3, 16), (5, 24), (6, 32), (0xbad, 12), (0x0a0d_0d0a, 28)] {
        let magic = if kind == 0x0a0d_0d0a { 0x1a2b_3c4d } else { 0 };
        for length in [0, 4, 11, least - 4, least + 1, 0xffff_ffff, 0xffff_fffd] {
            let (file, at) = after_a_packet(&o.words(&[kind, length, magic]));
            let (before, offset, fault) = damaged(&file);
            assert_eq!((before, offset), (1, at), "{kind:#x} of {length}");
            assert!(
                matches!(fault, Fault::BlockLength { kind: k, length: l, .. } if k == kind && l == length),
                "{kind:#x} of {length}: {fault}"
            );
        }
        let (file, at) = after_a_packet(&o.words(&[kind, 0xffff_fffc, magic]));
        let (before, offset, fault) = damaged(&file);
        assert_eq!((before, offset >= at), (1, true));
        // What is only passed over may be as long as it likes; here it is not there.
        let passed_over = kind == 0xbad;
        assert_eq!(matches!(fault, Fault::CutShort { .. }), passed_over, "{kind:#x}: {fault}");
    }
}

#[test]
fn two_lengths_that_differ() {
    let o = NATIVE;
    for mut block in [
        made::packet(o, 0, 0, &[1; 9], 9, &[]),
        made::interface(o, 1, 0, &[]),
        made::section(o),
        made::statistics(o, 0, &[]),
        made::simple_packet(o, &[1], 1),
        made::block(o, 77, &[1]),
    ] {
        let tail = block.len() - 4;
        block[tail] ^= 4;
        let (file, at) = after_a_packet(&block);
        let (before, offset, fault) = damaged(&file);
        assert_eq!((before, offset), (1, at + tail as u64));
        assert!(matches!(fault, Fault::Trailer { .. }), "{fault}");
    }
}

#[test]
fn packets_that_lie_about_their_block() {
    let o = NATIVE;
    let case = |block: Vec<u8>| {
        let (file, at) = after_a_packet(&block);
        let (before, offset, fault) = damaged(&file);
        assert_eq!((before, offset), (1, at), "{fault}");
        fault
    };
    let body = |kept: u32, there: usize| [o.words(&[0, 0, 0, kept, 60]), vec![0; there]].concat();
    let overrun = |length, room| Fault::Overrun { what: "a packet", length, room };
    assert_eq!(case(made::block(o, 6, &body(41, 40))), overrun(41, 40));
    assert_eq!(case(made::block(o, 6, &body(100, 0))), overrun(100, 0));
    assert_eq!(case(made::block(o, 2, &body(100, 96))), overrun(100, 96));
    assert_eq!(case(made::block(o, 3, &[o.words(&[90]), vec![0; 8]].concat())), overrun(90, 8));
    // More than the interface's snapshot length, and a length that overflows if it is rounded up.
    for kept in [101, 262_145, u32::MAX] {
        assert_eq!(case(made::block(o, 6, &body(kept, 104))), Fault::TooLong { captured: kept, limit: 100 });
    }
    for interface in [1, u32::MAX] {
        let fault = Fault::Interface { interface, known: 1 };
        assert_eq!(case(made::packet(o, interface, 0, &[1], 1, &[])), fault);
        assert_eq!(case(made::statistics(o, interface, &[])), fault);
    }
    assert_eq!(case(made::old_packet(o, 9, 0, &[1], 1)), Fault::Interface { interface: 9, known: 1 });
    // Those of the section before do not count.
    let (file, _) = after_a_packet(&[made::section(o), made::packet(o, 0, 0, &[1], 1, &[])].concat());
    assert_eq!(damaged(&file).2, Fault::Interface { interface: 0, known: 0 });
    let without = [made::section(o), made::simple_packet(o, &[1], 1)].concat();
    assert_eq!(damaged(&without).2, Fault::Interface { interface: 0, known: 0 });
}

#[test]
fn options_that_lie() {
    let o = NATIVE;
    let case = |options: &[u8]| {
        let (file, at) = after_a_packet(&made::interface(o, 1, 0, options));
        let (before, offset, fault) = damaged(&file);
        assert_eq!((before, offset), (1, at), "{fault}");
        fault
    };
    let overrun = [&o.u16(2)[..], &o.u16(400), &[0; 4]].concat();
    assert_eq!(case(&overrun), Fault::Overrun { what: "an option", length: 400, room: 4 });
    let name = |fault| match fault {
        Fault::Option { name, .. } => name,
        other => panic!("{other}"),
    };
    let micros = made::option(o, 9, &[6]);
    assert_eq!(name(case(&[micros.clone(), micros].concat())), "if_tsresol");
    for resolution in [&[20][..], &[0x7f], &[0xc0], &[0xff], &[], &[6, 6]] {
        assert_eq!(name(case(&made::option(o, 9, resolution))), "if_tsresol");
    }
    assert_eq!(name(case(&made::option(o, 14, &[0; 7]))), "if_tsoffset");
    let counts = made::block(o, 5, &[&[0; 12][..], &made::option(o, 7, &[0; 4])].concat());
    assert_eq!(name(damaged(&after_a_packet(&counts).0).2), "isb_osdrop");
}

#[test]
fn times_that_there_are_not() {
    let o = NATIVE;
    let with = |options: &[u8], ticks| {
        let blocks =
            [made::section(o), made::interface(o, 1, 0, options), made::packet(o, 0, ticks, &[], 0, &[])];
        damaged(&blocks.concat()).2
    };
    assert_eq!(with(&[], u64::MAX), Fault::Time { ticks: u64::MAX });
    let offset = |seconds: i64| made::option(o, 14, &o.u64(seconds as u64));
    assert_eq!(with(&offset(-11), 10_000_000), Fault::Time { ticks: 10_000_000 });
    assert_eq!(with(&offset(i64::MAX), 10), Fault::Time { ticks: 10 });
}

#[test]
fn a_section_of_no_byte_order() {
    let mut section = made::section(NATIVE);
    section[8..12].copy_from_slice(&[1, 2, 3, 4]);
    assert_eq!(damaged(&section), (0, 8, Fault::ByteOrder([1, 2, 3, 4])));
}

#[test]
fn errors_say_file_place_and_remedy() {
    let file = PCAP.file(&packets());
    let (_, ended) = read(Cursor::new(file[..file.len() - 1].to_vec()));
    let error = ended.expect_err("cut");
    assert_eq!(
        error.to_string(),
        "made, byte 198, after 5 packets: the file ends within a packet: of 1530 bytes 1529 are there"
    );
    let told = tollway_core::Error::from(error).to_string();
    assert!(told.starts_with("made, byte 198") && told.contains("use what came before"), "{told}");
    let empty = tollway_core::Error::from(read(Cursor::new(Vec::new())).1.expect_err("empty")).to_string();
    assert!(empty.contains("of 4 bytes 0 are there") && empty.contains("it has no packets"), "{empty}");
    let missing =
        Reader::open(std::path::Path::new("/nonexistent/file.pcap")).err().expect("it is not there");
    assert!(missing.to_string().starts_with("opening /nonexistent/file.pcap"), "{missing}");
}
