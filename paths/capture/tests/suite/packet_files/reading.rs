//! Capture files of every kind, read: what the documents say they hold is what comes out, whichever way the bytes come.

use std::fs::{self, OpenOptions};
use std::io::{Cursor, Write};
use std::thread;

use super::harness::{Drip, Got, contents, output, read, read_on};
use super::made::{self, KUZNETZOV, MICROS, NANOS, NATIVE, OTHER, Order, PCAP, Pcap, packets};
use tollway_capture::engine::file::{Copy, Format, Input, Reader, Resolution, pcap, pcapng};
use tollway_capture::engine::{Accounting, LinkType};

/// What a reader makes of [`packets`] in a unit of so many nanoseconds.
fn expected(unit: u64, link: u32) -> Vec<Got> {
    let got = |(seconds, fraction, bytes, wire): made::Made| Got {
        nanos: u64::from(seconds) * 1_000_000_000 + u64::from(fraction) * unit,
        bytes,
        wire,
        link: LinkType(link),
        has_time: true,
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
fn a_word_of_the_link_type_with_reserved_bits_is_refused() {
    for order in [NATIVE, OTHER] {
        for link in [0x0001_0001, 0x0200_0001, 0x03ff_0000, 0x2401_0001] {
            let file = Pcap { order, link, ..PCAP }.file(&packets());
            let (got, ended) = read(Cursor::new(file));
            let error = ended.expect_err("reserved").to_string();
            let says = format!("byte 20, before the first packet: the link type's word is {link:#010x}");
            assert!(got.is_empty() && error.contains(&says), "{error}");
        }
        // 16 bits, whatever length of a frame check sequence stands beside them.
        for (link, number) in [(0xf400_ffff, 0xffff), (0xf000_0001, 1), (0x0400_0114, 276)] {
            let file = Pcap { order, link, ..PCAP }.file(&packets());
            assert_eq!(sound(&file), expected(1000, number), "{link:#x}");
        }
    }
}

#[test]
fn link_types_that_old_systems_numbered_differently_have_one_number() {
    for (in_file, number) in [(11, 100), (12, 101), (15, 102), (16, 103), (19, 106), (106, 106), (1, 1)] {
        assert_eq!(sound(&Pcap { link: in_file, ..PCAP }.file(&packets())), expected(1000, number));
        let o = NATIVE;
        let file = [
            made::section(o),
            made::interface(o, in_file as u16, 0, &[]),
            made::packet(o, 0, 0, &[1], 1, &[]),
        ];
        assert_eq!(sound(&file.concat())[0].link, LinkType(number));
    }
}

/// A copy into pcapng.
fn to_pcapng(file: &[u8], snapshot: Option<u32>) -> Vec<u8> {
    let mut reader = Reader::new(Input::from_read("made", Cursor::new(file.to_vec()))).expect("sound");
    let (to, copy) = output();
    let mut writer = pcapng::Writer::new(to, "test").expect("memory");
    let copied = Copy { snapshot, ..Copy::default() }.run(&mut reader, &mut writer, |_, _| u32::MAX);
    copied.ended.expect("sound");
    assert_eq!(writer.content().packets, copied.written);
    writer.finish().expect("memory");
    contents(copy)
}

/// Each packet: its link type, its bytes, its length on the wire, and when it was seen if the file says so.
fn with_times(file: &[u8]) -> Vec<(u32, Vec<u8>, u32, Option<u64>)> {
    let mut reader = Reader::new(Input::from_read("made", Cursor::new(file.to_vec()))).expect("sound");
    let mut all = Vec::new();
    while let Some(captured) = reader.next().expect("sound") {
        let time = captured.has_time.then_some(captured.packet.timestamp.0);
        let (bytes, wire_length) = (captured.packet.bytes.to_vec(), captured.packet.wire_length);
        let interface = captured.interface;
        all.push((reader.link_type(interface).expect("described").0, bytes, wire_length, time));
    }
    all
}

#[test]
fn a_packet_without_a_time_has_none_in_a_copy() {
    let o = OTHER;
    let file = [
        made::section(o),
        made::interface(o, 1, 30, &made::option(o, 14, &o.u64(1000))),
        made::interface(o, 101, 0, &[]),
        made::simple_packet(o, &[1; 30], 61),
        made::packet(o, 1, 1_500_000, &[2; 7], 7, &[]),
        made::simple_packet(o, &[3; 5], 5),
        made::simple_packet(o, &[], 0),
        // Of the first interface of its section, which is the third of the file.
        made::section(o),
        made::interface(o, 113, 0, &[]),
        made::simple_packet(o, &[4; 9], 9),
        made::packet(o, 0, 2_500_000, &[5; 50], 60, &[]),
        made::simple_packet(o, &[6; 70], 70),
        made::statistics(o, 0, &[(4, 100)]),
    ]
    .concat();
    let whole = with_times(&file);
    assert_eq!(
        whole.iter().map(|p| p.3.is_some()).collect::<Vec<_>>(),
        [false, true, false, false, false, true, false]
    );
    let copy = to_pcapng(&file, None);
    assert_eq!(with_times(&copy), whole);
    // A copy of a copy, and one in which packets are cut: what was kept follows from an interface's snapshot
    // length.
    assert_eq!(with_times(&to_pcapng(&copy, None)), whole);
    for snapshot in [1, 6, 40, 65] {
        let mut cut = whole.clone();
        cut.iter_mut().for_each(|p| p.1.truncate(snapshot));
        assert_eq!(with_times(&to_pcapng(&file, Some(snapshot as u32))), cut, "{snapshot}");
    }
    let reader = |bytes: Vec<u8>| Reader::new(Input::from_read("made", Cursor::new(bytes))).expect("sound");
    let mut again = reader(copy);
    read_on(&mut again, &mut Vec::new()).expect("sound");
    let Format::PcapNg(interfaces) = again.format() else { unreachable!("it is pcapng") };
    let counted = |i: &&pcapng::Interface| i.statistics.is_some_and(|s| s.received == Some(100));
    assert_eq!(interfaces.iter().filter(counted).map(|i| i.link_type.0).collect::<Vec<_>>(), [113]);
}

#[test]
fn a_filter_may_keep_a_part_of_packets_without_a_time() {
    let o = NATIVE;
    let mut file = [made::section(o), made::interface(o, 1, 0, &[])].concat();
    for length in [10u8, 20, 30, 20, 10] {
        file.extend(made::simple_packet(o, &vec![length; length.into()], length.into()));
        file.extend(made::packet(o, 0, length.into(), &vec![length; length.into()], length.into(), &[]));
    }
    let whole = with_times(&file);
    let mut reader = Reader::new(Input::from_read("made", Cursor::new(file))).expect("sound");
    let (to, copy) = output();
    let mut writer = pcapng::Writer::new(to, "test").expect("memory");
    Copy::default().run(&mut reader, &mut writer, |bytes, _| bytes.len() as u32 / 2).ended.expect("sound");
    writer.finish().expect("memory");
    let mut halves = whole;
    halves.iter_mut().for_each(|p| p.1.truncate(p.1.len() / 2));
    assert_eq!(with_times(&contents(copy)), halves);
}

#[test]
fn the_length_of_frame_check_sequences_survives_from_pcap_to_pcapng_and_back() {
    for order in [NATIVE, OTHER] {
        for (word, bits) in
            [(1, None), (0x0400_0001, Some(0)), (0x2400_0001, Some(32)), (0xf400_0001, Some(240))]
        {
            let file = Pcap { order, link: word, ..PCAP }.file(&packets());
            let copy = to_pcapng(&file, None);
            let mut reader = Reader::new(Input::from_read("copy", Cursor::new(copy))).expect("sound");
            let Format::PcapNg([interface]) = reader.format() else { panic!("one interface") };
            assert_eq!(interface.check_sequence_bits, bits);
            let layout = pcap::Layout::new(interface.link_type).with_check_sequence(bits);
            let (to, back) = output();
            let mut writer = pcap::Writer::new(to, layout).expect("memory");
            Copy::default().run(&mut reader, &mut writer, |_, _| u32::MAX).ended.expect("sound");
            writer.finish().expect("memory");
            assert_eq!(contents(back)[20..24], word.to_ne_bytes());
        }
    }
    // What pcap has no room for, and what is of no length that an option has, is not told.
    assert_eq!(pcap::Layout::new(LinkType::ETHERNET).with_check_sequence(Some(4)).link_extension, 0);
    let o = NATIVE;
    let odd = [made::section(o), made::interface(o, 1, 0, &made::option(o, 13, &[32, 0]))].concat();
    let reader = Reader::new(Input::from_read("odd", Cursor::new(odd))).expect("sound");
    let Format::PcapNg([interface]) = reader.format() else { panic!("one interface") };
    assert_eq!(interface.check_sequence_bits, None);
}

#[test]
fn a_header_that_says_a_check_sequence_has_no_packets_with_another() {
    let o = NATIVE;
    for (bits, refusal) in
        [(None, "an unknown number of them"), (Some(32), ""), (Some(16), "with 16 of them")]
    {
        let options = bits.map_or(Vec::new(), |bits| made::option(o, 13, &[bits]));
        let file = [
            made::section(o),
            made::interface(o, 1, 0, &made::option(o, 13, &[32])),
            made::interface(o, 1, 0, &options),
            made::packet(o, 0, 0, &[1], 1, &[]),
            made::packet(o, 1, 0, &[2], 1, &[]),
        ]
        .concat();
        let copy = |said| {
            let mut reader = Reader::new(Input::from_read("made", Cursor::new(file.clone()))).expect("sound");
            let layout = pcap::Layout::new(LinkType::ETHERNET).with_check_sequence(said);
            let mut writer = pcap::Writer::new(output().0, layout).expect("memory");
            Copy::default().run(&mut reader, &mut writer, |_, _| u32::MAX)
        };
        // A header that says nothing says nothing wrong.
        copy(None).ended.expect("any");
        let copied = copy(Some(32));
        assert_eq!(copied.written, if bits == Some(32) { 2 } else { 1 });
        let error = copied.ended.err().map(|e| e.to_string()).unwrap_or_default();
        assert_eq!(error.is_empty(), bits == Some(32), "{error}");
        assert!(error.contains(refusal) && (refusal.is_empty() || error.contains("write pcapng")), "{error}");
    }
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
    let got = |nanos, bytes: &[u8], wire| {
        let has_time = nanos > 0;
        Got { nanos, bytes: bytes.to_vec(), wire, link: LinkType::RAW, has_time }
    };
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
fn a_copy_has_numbers_within_packets_in_the_order_of_those_without() {
    let other = |word: u32| word.swap_bytes().to_ne_bytes();
    let here = u32::to_ne_bytes;
    // A family before an IPv6 packet; a header of a USB packet, of which the first number has eight bytes.
    let usb = |id: u64, word: fn(u32) -> [u8; 4]| {
        [&id.to_ne_bytes()[..], b"C\x03\x81\x01", &[0; 12], &word(5), &word(6)].concat()
    };
    let cases = [
        (0, [&other(30)[..], &[0x60; 40]].concat(), [&here(30)[..], &[0x60; 40]].concat()),
        (109, [&other(2)[..], &[0x45; 20]].concat(), [&here(2)[..], &[0x45; 20]].concat()),
        (
            108,
            [&30u32.to_be_bytes()[..], &[0x60; 40]].concat(),
            [&30u32.to_be_bytes()[..], &[0x60; 40]].concat(),
        ),
        (189, usb(7u64.swap_bytes(), |word| word.swap_bytes().to_ne_bytes()), usb(7, u32::to_ne_bytes)),
    ];
    for (link, swapped, native) in cases {
        let wire = swapped.len() as u32;
        let file = Pcap { order: OTHER, link, ..PCAP }.file(&[(1, 0, swapped.clone(), wire)]);
        let mut reader = Reader::new(Input::from_read("made", Cursor::new(file.clone()))).expect("sound");
        let (to, written) = output();
        let mut writer = pcap::Writer::new(to, pcap::Layout::new(LinkType(link))).expect("memory");
        Copy::default().run(&mut reader, &mut writer, |_, _| u32::MAX).ended.expect("sound");
        writer.finish().expect("memory");
        assert_eq!(sound(&contents(written))[0].bytes, native, "copied, link type {link}");
        // Filters of a family look for it in the file's order, so it is read as it stands.
        let read = if matches!(link, 0 | 109) { swapped } else { native };
        assert_eq!(sound(&file)[0].bytes, read, "link type {link}");
    }
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
