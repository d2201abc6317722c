//! Capture files of every kind, read: what the documents say they hold is what comes out, whichever way the bytes come.

#[path = "packet_file/harness.rs"]
mod harness;
#[path = "packet_file/made.rs"]
mod made;

use std::fs::{self, OpenOptions};
use std::io::{Cursor, Write};
use std::thread;

use harness::{Drip, Got, contents, output, read, read_on};
use made::{KUZNETZOV, MICROS, NANOS, NATIVE, OTHER, Order, PCAP, Pcap, packets};
use tollway_capture::engine::file::{Copy, Format, Input, Reader, Resolution, pcap, pcapng};
use tollway_capture::engine::{Accounting, LinkType};

/// What a reader makes of [`packets`] in a unit of so many nanoseconds.
fn expected(unit: u64, link: u32) -> Vec<Got> {
    let got = |(seconds, fraction, bytes, wire): made::Made| Got {
        nanos: u64::from(seconds) * 1_000_000_000 + u64::from(fraction) * unit,
        bytes,
        wire,
        link: LinkType(link),
    };
    packets().into_iter().map(got).collect()
}

fn sound(bytes: &[u8]) -> Vec<Got> {
    let (got, ended) = read(Cursor::new(bytes.to_vec()));
    ended.expect("a sound file");
    got
}

#[test]
fn pcap_of_every_kind() {
    for order in [Order::Little, Order::Big] {
        for (magic, unit) in [(MICROS, 1000), (NANOS, 1), (KUZNETZOV, 1000)] {
            for version in [(2, 4), (2, 2), (2, 0), (543, 0)] {
                let file = Pcap { order, magic, version, ..PCAP };
                assert_eq!(sound(&file.file(&packets())), expected(unit, 1), "{file:?}");
            }
        }
    }
}

#[test]
fn version_2_3_was_written_both_ways() {
    let kept_first = Pcap { version: (2, 3), ..PCAP };
    let wire_first = Pcap { version: (2, 2), ..PCAP }.packet(&packets()[1]);
    let file = [kept_first.file(&packets()[..1]), wire_first].concat();
    assert_eq!(sound(&file), expected(1000, 1)[..2]);
}

#[test]
fn a_header_says_what_packets_are_and_how_much_was_kept() {
    let of = |snapshot, link| {
        let file = Pcap { snapshot, link, ..PCAP }.header();
        let reader = Reader::new(Input::from_read("made", Cursor::new(file))).expect("a header");
        match reader.format() {
            Format::Pcap(header) => *header,
            Format::PcapNg(_) => unreachable!("it is pcap"),
        }
    };
    assert_eq!(of(0, 1).snapshot, 262_144);
    assert_eq!(of(u32::MAX, 1).snapshot, 262_144);
    assert_eq!(of(0, 231).snapshot, 128 << 20);
    assert_eq!(of(96, 1).snapshot, 96);
    let with_check_sequence = of(96, 0x2400_0001);
    assert_eq!(with_check_sequence.link_type, LinkType::ETHERNET);
    assert_eq!(with_check_sequence.check_sequence_bits(), Some(32));
    assert_eq!(of(96, 1).check_sequence_bits(), None);
}

#[test]
fn longer_packets_than_the_snapshot_length_are_cut() {
    let file = Pcap { snapshot: 40, ..PCAP }.file(&packets());
    let mut cut = expected(1000, 1);
    cut.iter_mut().for_each(|p| p.bytes.truncate(40));
    assert_eq!(sound(&file), cut);
}

/// All of [`packets`] in microseconds, with blocks in between that are to be passed over.
fn pcapng(order: Order) -> Vec<u8> {
    let mut file = [
        made::section(order),
        made::block(order, 0xbad, &[7; 1001]),
        made::interface(order, 1, 0, &made::option(order, 2, b"eth0")),
    ]
    .concat();
    for (i, (seconds, fraction, bytes, wire)) in packets().iter().enumerate() {
        let ticks = u64::from(*seconds) * 1_000_000 + u64::from(*fraction);
        // A comment, and without an end of the options.
        let options = made::option(order, 1, &b"a comment"[..i]);
        file.extend(made::packet(order, 0, ticks, bytes, *wire, &options));
        // Names, the journal, secrets, what a program keeps for itself; the largest is not held in memory.
        for (kind, length) in [(4, 0), (9, 12), (10, 3), (0x4000_0bad, 200_000)] {
            file.extend(made::block(order, kind, &vec![0x55; length]));
        }
    }
    file
}

#[test]
fn pcapng_of_either_order() {
    for order in [Order::Little, Order::Big] {
        assert_eq!(sound(&pcapng(order)), expected(1000, 1), "{order:?}");
    }
}

#[test]
fn sections_of_different_orders() {
    let both = [pcapng(Order::Big), pcapng(Order::Little)].concat();
    assert_eq!(sound(&both), [expected(1000, 1), expected(1000, 1)].concat());
}

#[test]
fn old_and_simple_packets() {
    let o = OTHER;
    let file = [
        made::section(o),
        made::interface(o, 101, 30, &[]),
        made::old_packet(o, 0, 1_500_000, &[1; 30], 61),
        made::simple_packet(o, &[2; 30], 61),
        made::simple_packet(o, &[3; 5], 5),
    ];
    let got = |nanos, bytes: &[u8], wire| Got { nanos, bytes: bytes.to_vec(), wire, link: LinkType::RAW };
    assert_eq!(
        sound(&file.concat()),
        [got(1_500_000_000, &[1; 30], 61), got(0, &[2; 30], 61), got(0, &[3; 5], 5)]
    );
}

#[test]
fn clocks_of_interfaces() {
    let o = NATIVE;
    let second = 1_000_000_000;
    for (resolution, ticks, nanos) in [
        (0, 7, 7 * second),
        (3, 1_700_000_000_123, 1_700_000_000_123 * 1_000_000),
        (6, 1_700_000_000_123_456, 1_700_000_000_123_456_000),
        (9, 1_700_000_000_123_456_789, 1_700_000_000_123_456_789),
        (12, 1_700_000_123_456_789_012, 1_700_000_123_456_789),
        (19, 15_000_000_000_000_000_000, 1_500_000_000),
        (0x80, 7, 7 * second),
        (0x8a, 1024 + 512, second + second / 2),
        (0xa0, (1 << 32) + (1 << 30), second + second / 4),
        (0xbf, 3 << 62, second + second / 2),
    ] {
        let options = made::option(o, 9, &[resolution]);
        let file =
            [made::section(o), made::interface(o, 1, 0, &options), made::packet(o, 0, ticks, &[], 0, &[])];
        assert_eq!(sound(&file.concat())[0].nanos, nanos, "{resolution:#x}");
    }
    for (offset, nanos) in [(-5i64, 5 * second), (10, 20 * second)] {
        let options = made::option(o, 14, &o.u64(offset as u64));
        let file = [
            made::section(o),
            made::interface(o, 1, 0, &options),
            made::packet(o, 0, 10_000_000, &[], 0, &[]),
        ];
        assert_eq!(sound(&file.concat())[0].nanos, nanos);
    }
}

#[test]
fn packets_know_their_interface() {
    let o = NATIVE;
    let file = [
        made::section(o),
        made::interface(o, 1, 0, &[]),
        made::interface(o, 101, 0, &[]),
        made::packet(o, 1, 0, &[1], 1, &[]),
        made::packet(o, 0, 0, &[2], 1, &[]),
        made::section(o),
        made::interface(o, 113, 0, &[]),
        made::packet(o, 0, 0, &[3], 1, &[]),
    ];
    let links: Vec<u32> = sound(&file.concat()).iter().map(|g| g.link.0).collect();
    assert_eq!(links, [101, 1, 113]);
}

#[test]
fn what_interfaces_counted() {
    let o = OTHER;
    let account = |blocks: &[Vec<u8>]| {
        let file = [made::section(o), made::interface(o, 1, 0, &[]), made::interface(o, 1, 0, &[])].concat();
        let file = [file, made::packet(o, 0, 0, &[1], 1, &[]), blocks.concat()].concat();
        let mut reader = Reader::new(Input::from_read("made", Cursor::new(file))).expect("sound");
        read_on(&mut reader, &mut Vec::new()).expect("sound");
        reader.accounting()
    };
    let first = made::statistics(o, 0, &[(4, 100), (5, 3), (6, 60), (7, 10), (8, 50)]);
    let second = made::statistics(o, 1, &[(4, 10), (5, 0), (6, 10), (7, 1), (8, 9)]);
    let both = Accounting {
        offered: Some(113),
        filtered_out: Some(40),
        delivered: 59,
        dropped: Some(11),
        lost_before: Some(3),
    };
    assert_eq!(account(&[first.clone(), second.clone()]), both);
    assert_eq!(both.balances(), Some(true));
    // The latest counts.
    assert_eq!(account(&[second.clone(), made::statistics(o, 0, &[]), first, second]), both);
    // What one of them does not tell is not known of both.
    let unknown = Accounting { delivered: 1, ..Accounting::default() };
    assert_eq!(account(&[]), unknown);
    let some = account(&[made::statistics(o, 0, &[(7, 10)]), made::statistics(o, 1, &[(7, 1)])]);
    assert_eq!(some, Accounting { dropped: Some(11), ..unknown });
}

#[test]
fn the_same_from_a_pipe_byte_by_byte_and_from_a_map() {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, file) in [("pcap", PCAP.file(&packets())), ("pcapng", pcapng(NATIVE))] {
        let (got, ended) = read(Drip { source: Cursor::new(file.clone()), bytes: 1 });
        ended.expect("sound");
        assert_eq!(got, expected(1000, 1), "{name} byte by byte");

        let (reader, mut writer) = std::io::pipe().expect("a pipe");
        let bytes = file.clone();
        let writing = thread::spawn(move || writer.write_all(&bytes));
        let (got, ended) = read(reader);
        writing.join().expect("no panic").expect("written");
        ended.expect("sound");
        assert_eq!(got, expected(1000, 1), "{name} from a pipe");

        let path = folder.path().join(name);
        fs::write(&path, &file).expect("written");
        // SAFETY: nobody else knows the file.
        let input = unsafe { Input::map(&path) }.expect("mapped");
        let mut got = Vec::new();
        read_on(&mut Reader::new(input).expect("sound"), &mut got).expect("sound");
        assert_eq!(got, expected(1000, 1), "{name} from a map");
    }
}

#[test]
fn a_file_that_grows() {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, file, header) in
        [("pcap", PCAP.file(&packets()), 24), ("pcapng", pcapng(OTHER), 28 + 1016 + 28)]
    {
        for mapped in [false, true] {
            let path = folder.path().join(name);
            fs::write(&path, &file[..header]).expect("written");
            let mut growing = OpenOptions::new().append(true).open(&path).expect("there");
            // SAFETY: it only grows.
            let input = if mapped { unsafe { Input::map(&path) } } else { Input::open(&path) };
            let mut reader = Reader::new(input.expect("there")).expect("sound").growing(true);
            let mut got = Vec::new();
            for piece in file[header..].chunks(997) {
                read_on(&mut reader, &mut got).expect("what is not there yet is no damage");
                growing.write_all(piece).expect("written");
            }
            read_on(&mut reader, &mut got).expect("sound");
            assert_eq!(got, expected(1000, 1), "{name}, mapped: {mapped}");
        }
    }
}

#[test]
fn copied_across_formats() {
    for from in [PCAP.file(&packets()), pcapng(OTHER)] {
        let reader = || Reader::new(Input::from_read("made", Cursor::new(from.clone()))).expect("sound");
        let (to, file) = output();
        let mut writer = pcapng::Writer::new(to, "test").expect("memory");
        Copy::default().run(&mut reader(), &mut writer, |_, _| u32::MAX).ended.expect("sound");
        writer.finish().expect("memory");
        assert_eq!(sound(&contents(file)), expected(1000, 1));

        let (to, file) = output();
        let layout = pcap::Layout { snapshot: 40, ..pcap::Layout::new(LinkType::ETHERNET) };
        let mut writer = pcap::Writer::new(to, layout).expect("memory");
        let copied = Copy { count: Some(2), snapshot: Some(40), ..Copy::default() }.run(
            &mut reader(),
            &mut writer,
            |_, wire| if wire == 1514 { 50 } else { 0 },
        );
        copied.ended.as_ref().expect("sound");
        writer.finish().expect("memory");
        let mut want: Vec<Got> = expected(1000, 1).into_iter().filter(|g| g.wire == 1514).collect();
        want.iter_mut().for_each(|g| g.bytes.truncate(40));
        assert_eq!(sound(&contents(file)), want);
        assert_eq!((copied.read, copied.written), (6, 2));
    }
}

#[test]
fn counts_go_along_into_pcapng() {
    let o = NATIVE;
    let counted = [(4, 100), (5, 3), (6, 60), (7, 10), (8, 50)];
    let file = [
        made::section(o),
        made::interface(o, 1, 0, &[]),
        made::packet(o, 0, 9, &[1], 1, &[]),
        made::statistics(o, 0, &counted),
    ];
    let mut reader = Reader::new(Input::from_read("made", Cursor::new(file.concat()))).expect("sound");
    let (to, file) = output();
    let mut writer = pcapng::Writer::new(to, "test").expect("memory");
    Copy::default().run(&mut reader, &mut writer, |_, _| u32::MAX).ended.expect("sound");
    writer.finish().expect("memory");
    let mut copy = Reader::new(Input::from_read("copy", Cursor::new(contents(file)))).expect("sound");
    read_on(&mut copy, &mut Vec::new()).expect("sound");
    assert_eq!(copy.accounting(), reader.accounting());
    assert_eq!(copy.accounting().offered, Some(103));
    // There and back.
    let statistics = pcapng::Statistics::from(&reader.accounting());
    assert_eq!(statistics.accounting(0), reader.accounting());
}

#[test]
fn a_filter_and_pcap_are_for_one_link_type() {
    let o = NATIVE;
    let file = [
        made::section(o),
        made::interface(o, 1, 0, &[]),
        made::interface(o, 101, 0, &[]),
        made::packet(o, 0, 0, &[1], 1, &[]),
        made::packet(o, 1, 0, &[1], 1, &[]),
    ]
    .concat();
    let reader = || Reader::new(Input::from_read("made", Cursor::new(file.clone()))).expect("sound");
    let (to, written) = output();
    let mut writer = pcap::Writer::new(to, pcap::Layout::new(LinkType::ETHERNET)).expect("memory");
    let copied = Copy::default().run(&mut reader(), &mut writer, |_, _| u32::MAX);
    writer.finish().expect("memory");
    let error = copied.ended.expect_err("two link types").to_string();
    assert!(error.contains("101") && error.contains("pcapng"), "{error}");
    assert_eq!(sound(&contents(written)).len(), 1, "what came before is kept");

    let (to, _) = output();
    let mut writer = pcapng::Writer::new(to, "test").expect("memory");
    let copy = Copy { link_type: Some(LinkType::ETHERNET), ..Copy::default() };
    assert!(copy.run(&mut reader(), &mut writer, |_, _| u32::MAX).ended.is_err());
}

#[test]
fn numbers_within_packets_are_not_turned_round() {
    let file = Pcap { order: OTHER, link: 220, ..PCAP }.file(&packets());
    let mut reader = Reader::new(Input::from_read("made", Cursor::new(file))).expect("sound");
    let (to, _) = output();
    let mut writer = pcap::Writer::new(to, pcap::Layout::new(LinkType(220))).expect("memory");
    let error = Copy::default().run(&mut reader, &mut writer, |_, _| u32::MAX).ended.expect_err("USB");
    assert!(error.to_string().contains("byte order"), "{error}");
}

#[test]
fn finer_times_survive_if_asked_for() {
    let file = Pcap { magic: NANOS, order: OTHER, ..PCAP }.file(&packets());
    for (resolution, unit) in [(Resolution::Nanos, 1), (Resolution::Micros, 1000)] {
        let mut reader = Reader::new(Input::from_read("made", Cursor::new(file.clone()))).expect("sound");
        let (to, written) = output();
        let layout = pcap::Layout { resolution, ..pcap::Layout::new(LinkType::ETHERNET) };
        let mut writer = pcap::Writer::new(to, layout).expect("memory");
        Copy::default().run(&mut reader, &mut writer, |_, _| u32::MAX).ended.expect("sound");
        writer.finish().expect("memory");
        let want: Vec<Got> =
            expected(1, 1).into_iter().map(|g| Got { nanos: g.nanos / unit * unit, ..g }).collect();
        assert_eq!(sound(&contents(written)), want);
    }
}
