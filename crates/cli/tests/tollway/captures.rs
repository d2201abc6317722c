//! `tollway capture` on files: against tcpdump, through pipes, with what is damaged, mistyped or in the way.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::eventually::eventually;
use crate::program::{Bench, SHORT, checked, skip, takes_interruptions};
use serde_json::{Value, json};
use tollway_capture::engine::file::pcapng::{self, Described};
use tollway_capture::engine::file::{Output, Reader, Resolution, pcap};
use tollway_capture::engine::generate::{Flows, Frames, Stamp};
use tollway_capture::engine::{LinkType, Packet, Timestamp};

/// A folder with `web.pcap`: so many frames of sizes from 64 to 1518 bytes, half of which are to web ports.
fn bench(frames: u64) -> Bench {
    let bench = Bench::with(SHORT);
    let output = Output::create(&bench.file("web.pcap")).unwrap();
    let mut writer = pcap::Writer::new(output, pcap::Layout::new(LinkType::ETHERNET)).unwrap();
    let sizes = "64-1518".parse().unwrap();
    let mut made = Frames::new(&Flows::web(0.5).unwrap(), &sizes, 1).unwrap();
    for number in 0..frames {
        let mut slot = [0; 2048];
        let length = made.write(&mut slot, &Stamp { number, time: number });
        let timestamp = Timestamp(1_700_000_000_000_000_000 + number * 1_000_000);
        writer.write(&Packet { timestamp, bytes: &slot[..length], wire_length: length as u32 }).unwrap();
    }
    writer.finish().unwrap();
    bench
}

fn has_tcpdump() -> bool {
    let found = Command::new("tcpdump").arg("--version").output().is_ok_and(|o| o.status.success());
    if !found {
        skip("no comparison with tcpdump", "tcpdump", "install tcpdump");
    }
    found
}

fn tcpdump(bench: &Bench, arguments: &[&str]) -> Vec<u8> {
    // It would give up being root, and with it the folder.
    let output =
        Command::new("tcpdump").args(["-Z", "root"]).args(arguments).current_dir(bench.path()).output();
    let output = output.unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

#[test]
fn files_are_those_of_tcpdump() {
    let bench = bench(2000);
    if !has_tcpdump() {
        return;
    }
    for filter in ["", "tcp", "tcp port 80 or tcp port 443", "udp and greater 600", "host 198.18.0.7", "arp"]
    {
        for more in [&[][..], &["-c", "7"], &["-O"], &["--time-stamp-precision", "nano"]] {
            let copy = |file| [&["-r", "web.pcap", "-w", file], more, &[filter]].concat();
            let ours = [&["capture"], &copy("ours.pcap")[..]].concat();
            let (out, err) = bench.ends(&ours, 0);
            assert!(out.is_empty() && err.contains(" captured\n"), "{ours:?}: {out}{err}");
            tcpdump(&bench, &copy("theirs.pcap"));
            let read = |file| fs::read(bench.file(file)).unwrap();
            assert!(read("ours.pcap") == read("theirs.pcap"), "{ours:?}");
        }
    }
}

/// The files of the folder whose names begin so, by name, with their content.
fn files(bench: &Bench, begin: &str) -> Vec<(String, Vec<u8>)> {
    let mut files: Vec<(String, Vec<u8>)> = fs::read_dir(bench.path())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.file_name().unwrap().to_str().unwrap().starts_with(begin))
        .map(|path| (path.display().to_string().replace(begin, ""), fs::read(&path).unwrap()))
        .collect();
    files.sort();
    files
}

#[test]
fn files_in_turn_are_those_of_tcpdump() {
    let bench = bench(4000);
    if !has_tcpdump() {
        return;
    }
    for more in [&["-C", "1"][..], &["-C", "1", "-W", "2"]] {
        let copy = |file| [&["-r", "web.pcap", "-w", file], more].concat();
        bench.ends(&[&["capture"], &copy("ours")[..]].concat(), 0);
        tcpdump(&bench, &copy("theirs"));
        let (ours, theirs) = (files(&bench, "ours"), files(&bench, "theirs"));
        assert!(ours.len() >= 2 && ours == theirs, "{more:?}: {} and {} files", ours.len(), theirs.len());
        for begin in ["ours", "theirs"] {
            for entry in fs::read_dir(bench.path()).unwrap() {
                let path = entry.unwrap().path();
                if path.file_name().unwrap().to_str().unwrap().starts_with(begin) {
                    fs::remove_file(path).unwrap();
                }
            }
        }
    }
}

#[test]
fn files_by_time_end_when_there_are_enough() {
    // A packet a millisecond: 4 seconds.
    let bench = bench(4000);
    let (_, err) =
        bench.ends(&["capture", "-r", "web.pcap", "-w", "part-%s.pcap", "-G", "1", "-W", "2", "--json"], 0);
    assert!(err.is_empty(), "{err}");
    let parts = files(&bench, "part-");
    assert_eq!(parts.len(), 2);
    let (out, _) = bench.ends(&["capture", "-r", "part-1700000001.pcap", "--json"], 0);
    let document: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(document["packets"]["captured"], 1000);
    refused(&bench, &["capture", "-r", "web.pcap", "-C", "1"], 2, &["--write"]);
    for name in ["same", "same-%H"] {
        refused(
            &bench,
            &["capture", "-r", "web.pcap", "-w", name, "-G", "1"],
            2,
            &["-G 1, -w same", "%H%M%S"],
        );
    }
    assert_eq!(files(&bench, "same"), []);
    let (_, err) = bench.ends(&["capture", "-r", "web.pcap", "-w", "all-%s", "-G", "1"], 0);
    let bytes: usize = files(&bench, "all-").iter().map(|(_, content)| content.len()).sum();
    assert!(err.contains(&format!(" {bytes} bytes written")), "{bytes}: {err}");
    refused(
        &bench,
        &["capture", "-r", "web.pcap", "-w", "x", "-C", "1", "--format", "pcapng"],
        2,
        &["-C, -G", "leave out --format pcapng"],
    );
}

#[test]
fn programs_are_those_of_tcpdump() {
    let bench = bench(1);
    if !has_tcpdump() {
        return;
    }
    let filters = [
        "",
        "ip",
        "tcp port 80 or tcp port 443",
        "vlan 5 and udp",
        "ip6 or tcp[13] & 2 != 0",
        "ether host 02:00:00:00:00:01 or arp",
        "net 10.0.0.0/8 and not port 53",
        "icmp[0] = 8 and ip[2:2] > 100",
    ];
    for filter in filters {
        for letters in [&["-d"][..], &["-dd"], &["-ddd"], &["-d", "-O"]] {
            let arguments = [&["-r", "web.pcap"], letters, &[filter]].concat();
            let (ours, _) = bench.ends(&[&["capture"], &arguments[..]].concat(), 0);
            assert_eq!(ours.as_bytes(), tcpdump(&bench, &arguments), "{arguments:?}");
        }
    }
}

#[test]
fn programs_serve_as_filters() {
    let bench = bench(200);
    let count = |arguments: &[&str]| -> Value {
        let whole = [&["capture", "-r", "web.pcap", "--json"], arguments].concat();
        let document: Value = serde_json::from_str(&bench.ends(&whole, 0).0).unwrap();
        document["packets"].clone()
    };
    let filter = "tcp port 80 or tcp port 443";
    let expected = count(&[filter]);
    let captured = expected["captured"].as_u64().unwrap();
    assert!((60..140).contains(&captured), "{expected}");
    assert_eq!(expected["filtered_out"], 200 - captured);
    assert_eq!(expected["balances"], Value::Null, "what was lost before it was a file is not known");
    let (numbers, _) = bench.ends(&["capture", "-ddd", filter], 0);
    let (c, _) = bench.ends(&["capture", "-dd", filter], 0);
    fs::write(bench.file("numbers"), &numbers).unwrap();
    fs::write(bench.file("c"), c).unwrap();
    fs::write(bench.file("words"), "# the web\ntcp port 80 # plain\n or tcp port 443\n").unwrap();
    for file in ["numbers", "c", "words"] {
        assert_eq!(count(&["-F", file]), expected, "{file}");
    }
    assert_eq!(count(&["--bytecode", &numbers.trim().replace('\n', ",")]), expected);
    assert_eq!(count(&["-O", filter]), expected);
    let (listing, _) = bench.ends(&["capture", "--machine-code", filter], 0);
    assert!(listing.contains("ldh      [12]") && listing.contains("ret"), "{listing}");
}

#[test]
fn packets_are_printed_in_a_line_each() {
    let bench = bench(3);
    let (out, err) = bench.ends(&["capture", "-r", "web.pcap", "-tt", "-n"], 0);
    let lines: Vec<&str> = out.lines().collect();
    assert_eq!(lines.len(), 3, "{out}");
    assert!(lines[0].starts_with("1700000000.000000 IP 198.18.0."), "{out}");
    assert!(lines[1].starts_with("1700000000.001000 IP 198.18.0."), "{out}");
    assert!(lines.iter().all(|line| line.contains(" > 198.19.0.") && line.contains("length ")), "{out}");
    assert!(err.contains("3 captured") && err.contains("0 filtered out") && err.contains("3 read"), "{err}");
    let (out, _) = bench.ends(&["capture", "-r", "web.pcap", "-t", "-e", "-X", "-c", "1"], 0);
    assert!(out.contains("ethertype IPv4 (0x0800), length ") && out.contains("\t0x0000:  4500 "), "{out}");
}

#[test]
fn pipes_at_both_ends() {
    let bench = bench(500);
    let (read, write) = (["-r", "-"], ["-w", "-"]);
    let mut command = bench.tollway(&[&["capture"], &read[..], &write[..], &["tcp"]].concat());
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    let bytes = fs::read(bench.file("web.pcap")).unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let writer = std::thread::spawn(move || stdin.write_all(&bytes));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    bench.ends(&["capture", "-r", "web.pcap", "-w", "direct.pcap", "tcp"], 0);
    assert!(output.stdout == fs::read(bench.file("direct.pcap")).unwrap());
}

#[test]
fn called_off_before_a_header_came_or_after_it() {
    let bench = bench(3);
    let whole = fs::read(bench.file("web.pcap")).unwrap();
    for (given, code, says) in [
        (&[][..], 1, "called off before standard input had given the header"),
        (&whole[..10], 1, "called off before standard input had given the header"),
        (&whole[..], 0, "3 captured"),
    ] {
        let mut command = bench.tollway(&["capture", "-r", "-", "-U", "-w", "copy.pcap"]);
        let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        stdin.write_all(given).unwrap();
        eventually("it takes interruptions", || takes_interruptions(child.id()));
        if code == 0 {
            let copied =
                || fs::metadata(bench.file("copy.pcap")).is_ok_and(|m| m.len() == whole.len() as u64);
            eventually("all is copied", copied);
        }
        // SAFETY: it asks for a signal to a process of our own that nobody has waited for.
        assert_eq!(unsafe { libc::kill(child.id() as i32, libc::SIGINT) }, 0);
        let (_, err) = checked(&child.wait_with_output().unwrap(), code);
        assert!(err.contains(says), "{err}");
    }
}

#[test]
fn a_reader_that_has_gone_is_no_error() {
    let bench = bench(5000);
    for arguments in [&["capture", "-r", "web.pcap"][..], &["capture", "-r", "web.pcap", "-w", "-"]] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output = bench.tollway(arguments).stdout(writer).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    }
}

#[test]
fn pcapng_is_written_and_read() {
    let bench = bench(100);
    bench.ends(&["capture", "-r", "web.pcap", "-w", "web.pcapng", "--format", "pcapng"], 0);
    assert_eq!(fs::read(bench.file("web.pcapng")).unwrap()[..4], [0x0a, 0x0d, 0x0d, 0x0a]);
    bench.ends(&["capture", "-r", "web.pcapng", "-w", "back.pcap"], 0);
    assert!(fs::read(bench.file("web.pcap")).unwrap() == fs::read(bench.file("back.pcap")).unwrap());
}

/// Interfaces of a pcapng file: link type, snapshot length, bytes of the one packet of UDP.
type Interfaces<'a> = &'a [(LinkType, u32, usize)];

/// A pcapng file of these interfaces, each described right before its packet.
fn several(bench: &Bench, file: &str, interfaces: Interfaces<'_>) {
    let mut writer = pcapng::Writer::new(Output::create(&bench.file(file)).unwrap(), "test").unwrap();
    for (number, interface) in interfaces.iter().enumerate() {
        writer.add_interface(&described(interface)).unwrap();
        write_udp(&mut writer, number, interface);
    }
    writer.finish().unwrap();
}

/// The same with all of them described before the first packet, as most programs write it.
fn described_first(bench: &Bench, file: &str, interfaces: Interfaces<'_>) {
    let mut writer = pcapng::Writer::new(Output::create(&bench.file(file)).unwrap(), "test").unwrap();
    for interface in interfaces {
        writer.add_interface(&described(interface)).unwrap();
    }
    for (number, interface) in interfaces.iter().enumerate() {
        write_udp(&mut writer, number, interface);
    }
    writer.finish().unwrap();
}

fn described((link_type, snapshot, _): &(LinkType, u32, usize)) -> Described {
    Described {
        link_type: *link_type,
        snapshot: *snapshot,
        name: None,
        check_sequence_bits: None,
        resolution: Resolution::Micros,
    }
}

fn write_udp(writer: &mut pcapng::Writer, number: usize, (link_type, _, length): &(LinkType, u32, usize)) {
    if *length == 0 {
        return;
    }
    let udp = [0, 53, 0, 53, 0, 66, 0, 0];
    let four = [&[0x45, 0, 0, 86, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2][..], &udp].concat();
    let six = [&[0x60, 0, 0, 0, 0, 66, 17, 64][..], &[0xfd; 32], &udp].concat();
    let packet = match *link_type {
        LinkType::ETHERNET => [&[0; 12][..], &[8, 0], &four].concat(),
        IPV6 => six,
        _ => four,
    };
    let bytes = &[packet, vec![0; 2000]].concat()[..*length];
    let timestamp = Timestamp(1_700_000_000_000_000_000 + number as u64 * 1000);
    writer.write(number as u32, &Packet { timestamp, bytes, wire_length: bytes.len() as u32 }).unwrap();
}

/// The link type of packets that are all IPv6.
const IPV6: LinkType = LinkType(229);

#[test]
fn each_link_type_of_a_file_has_its_own_filter() {
    let bench = bench(1);
    several(
        &bench,
        "two.pcapng",
        &[(LinkType::ETHERNET, 0, 100), (LinkType::RAW, 0, 86), (LinkType(147), 0, 0)],
    );
    for (filter, captured) in [("udp", 2), ("not udp", 0), ("ether[12:2] = 0x0800", 1)] {
        let (out, err) =
            bench.ends(&["capture", "-r", "two.pcapng", "-w", "of.pcapng", "--format", "pcapng", filter], 0);
        assert!(out.is_empty() && err.contains(&format!(" {captured} captured")), "{filter}: {err}");
    }
    // An interface that no packet is of keeps nobody from anything.
    several(&bench, "unused.pcapng", &[(LinkType(147), 0, 0), (LinkType::ETHERNET, 0, 100)]);
    let (_, err) = bench.ends(&["capture", "-r", "unused.pcapng", "-w", "used.pcap", "udp"], 0);
    assert!(err.contains(" 1 captured"), "{err}");
    let written = fs::read(bench.file("used.pcap")).unwrap();
    assert_eq!(written[20..24], 1u32.to_ne_bytes(), "the link type of what is in it");
    let (_, err) = bench.ends(&["capture", "-r", "two.pcapng", "-w", "one.pcap"], 1);
    assert!(err.contains("link type 1 cannot have packets of 101") && err.contains("pcapng"), "{err}");
}

/// `ip` on Ethernet and IPv6 ended midway, with packets printed before.
#[test]
fn a_filter_that_is_never_true_of_one_link_type_takes_none_of_it_and_the_others_as_ever() {
    let bench = bench(1);
    let (ethernet, ipv6, raw) = ((LinkType::ETHERNET, 0, 100), (IPV6, 0, 106), (LinkType::RAW, 0, 86));
    for interfaces in [[ethernet, ipv6], [ipv6, ethernet]] {
        several(&bench, "later.pcapng", &interfaces);
        described_first(&bench, "first.pcapng", &interfaces);
        for file in ["later.pcapng", "first.pcapng"] {
            for (filter, captured) in [("ip", 1), ("not ip6", 1), ("ip6", 1), ("udp", 2), ("arp", 0)] {
                let arguments = ["capture", "-r", file, "-w", "of.pcapng", "--format", "pcapng", filter];
                let (_, err) = bench.ends(&arguments, 0);
                assert!(
                    err.contains(&format!(" {captured} captured")),
                    "{interfaces:?} {file} {filter}: {err}"
                );
            }
        }
    }
    // Of nothing else it is refused, as of a pcap file.
    several(&bench, "alone.pcapng", &[ipv6, (LinkType::ETHERNET, 0, 0), ipv6]);
    refused(&bench, &["capture", "-r", "alone.pcapng", "ip"], 2, &["filter `ip`", "rejects all packets"]);
    // What libpcap has no filter for is refused before a packet is printed.
    described_first(&bench, "no-vlan.pcapng", &[ethernet, raw]);
    for filter in ["not vlan", "ether host 00:00:00:00:00:00"] {
        let says = [&format!("filter `{filter}`")[..], "interface 1, link type 101, libpcap says: ", "leave"];
        refused(&bench, &["capture", "-r", "no-vlan.pcapng", filter], 2, &says);
    }
    described_first(&bench, "unused.pcapng", &[ethernet, (LinkType::RAW, 0, 0)]);
    let (out, _) = bench.ends(&["capture", "-r", "unused.pcapng", "-t", "not vlan"], 0);
    assert_eq!(out.lines().count(), 1, "{out}");
}

/// A pcap file of this word of the link type, in this machine's byte order, with these packets.
fn pcap_of(bench: &Bench, file: &str, word: u32, packets: &[Vec<u8>]) {
    let header = [0xa1b2_c3d4, u32::from_ne_bytes([2, 0, 4, 0]), 0, 0, 262_144, word];
    let mut bytes: Vec<u8> = header.into_iter().flat_map(u32::to_ne_bytes).collect();
    for (number, packet) in packets.iter().enumerate() {
        let length = packet.len() as u32;
        bytes.extend(
            [1_700_000_000 + number as u32, 0, length, length].into_iter().flat_map(u32::to_ne_bytes),
        );
        bytes.extend(packet);
    }
    fs::write(bench.file(file), bytes).unwrap();
}

/// TCP behind a header of options for every hop, alone, and behind that of a fragment, of IPv6 over Ethernet.
fn chains() -> Vec<Vec<u8>> {
    let tcp = [0x04, 0xd2, 0, 80, 0, 0, 0, 1, 0, 0, 0, 0, 0x50, 2, 0x20, 0, 0, 0, 0, 0];
    let packet = |first: u8, headers: &[u8]| {
        let ip = [0x60, 0, 0, 0, 0, 20 + headers.len() as u8, first, 64];
        [&[2; 12][..], &[0x86, 0xdd], &ip, &[0xfd; 32], headers, &tcp].concat()
    };
    vec![packet(0, &[6, 0, 1, 4, 0, 0, 0, 0]), packet(6, &[]), packet(44, &[6, 0, 0, 0, 0, 0, 0, 7])]
}

#[test]
fn protochain_follows_headers_in_files_and_is_printed_as_tcpdump_prints_it() {
    let bench = bench(1);
    pcap_of(&bench, "chains.pcap", 1, &chains());
    for (filter, captured) in
        [("ip6 protochain 6", 3), ("ip6 proto 6", 2), ("ip6 protochain 17", 0), ("not ip6 protochain 6", 0)]
    {
        let (_, err) = bench.ends(&["capture", "-r", "chains.pcap", "-w", "of.pcap", filter], 0);
        assert!(err.contains(&format!(" {captured} captured")), "{filter}: {err}");
    }
    bench.ends(&["capture", "-r", "chains.pcap", "-w", "ng.pcapng", "--format", "pcapng"], 0);
    let (out, _) = bench.ends(&["capture", "-r", "ng.pcapng", "--json", "ip6 protochain 6"], 0);
    let document: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(document["packets"]["captured"], 3);
    refused(&bench, &["capture", "--machine-code", "ip6 protochain 6"], 1, &["without a loop", "-d shows"]);
    if !has_tcpdump() {
        return;
    }
    for letter in ["-d", "-dd", "-ddd"] {
        for filter in ["ip6 protochain 6", "protochain 58", "ip protochain 17 or ip6 protochain 6"] {
            let (ours, _) = bench.ends(&["capture", letter, "-r", "chains.pcap", filter], 0);
            let theirs = tcpdump(&bench, &[letter, "-r", "chains.pcap", filter]);
            assert_eq!(ours, String::from_utf8(theirs).unwrap(), "{letter} {filter}");
        }
    }
    // Printed and read it is the same filter.
    let (numbers, _) = bench.ends(&["capture", "-ddd", "-r", "chains.pcap", "ip6 protochain 6"], 0);
    fs::write(bench.file("numbers"), numbers).unwrap();
    let (_, err) = bench.ends(&["capture", "-r", "chains.pcap", "-F", "numbers"], 0);
    assert!(err.contains(" 3 captured"), "{err}");
}

#[test]
fn loopbacks_of_bsd_and_packets_without_a_link_header_are_printed_as_tcpdump_prints_them() {
    let bench = bench(1);
    let udp = [0, 53, 1, 187, 0, 8, 0, 0];
    let four = [&[0x45, 0, 0, 28, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2][..], &udp].concat();
    let six = [&[0x60, 0, 0, 0, 0, 8, 17, 64][..], &[0xfd; 32], &udp].concat();
    for (link, header, packet, line) in [
        (0, 2u32.to_ne_bytes().to_vec(), &four, "IP 10.0.0.1.53 > 10.0.0.2.443: UDP, length 0"),
        (0, 30u32.swap_bytes().to_ne_bytes().to_vec(), &six, ".443: UDP, length 0"),
        (108, 24u32.to_be_bytes().to_vec(), &six, ".443: UDP, length 0"),
        (12, vec![], &four, "IP 10.0.0.1.53 > 10.0.0.2.443: UDP, length 0"),
        (228, vec![], &four, "IP 10.0.0.1.53 > 10.0.0.2.443: UDP, length 0"),
        (229, vec![], &six, ".443: UDP, length 0"),
    ] {
        pcap_of(&bench, "bare.pcap", link, &[[&header[..], packet].concat()]);
        let (out, _) = bench.ends(&["capture", "-r", "bare.pcap", "-t", "-x"], 0);
        assert!(out.lines().next().unwrap().ends_with(line), "{link}: {out}");
        if has_tcpdump() {
            // Ports by number, and no more of what is in the datagram than we tell.
            let theirs =
                String::from_utf8(tcpdump(&bench, &["-n", "-t", "-q", "-x", "-r", "bare.pcap"])).unwrap();
            assert_eq!(out, theirs, "{link}");
        }
    }
}

/// A section of pcapng as a machine of this byte order or the other one writes it: a datagram of IPv4 by BSD's loopback device,
/// and one by its IPsec, whose headers begin with the family in that machine's order.
fn section(is_swapped: bool) -> Vec<u8> {
    let word = |word: u32| if is_swapped { word.swap_bytes() } else { word }.to_ne_bytes();
    let half = |half: u16| if is_swapped { half.swap_bytes() } else { half }.to_ne_bytes();
    let block = |kind: u32, content: &[u8]| {
        let length = word(12 + content.len() as u32);
        [&word(kind)[..], &length, content, &length].concat()
    };
    let udp = [0, 53, 1, 187, 0, 8, 0, 0];
    let four = [&[0x45, 0, 0, 28, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2][..], &udp].concat();
    let packets = [[&word(2)[..], &four].concat(), [&word(2)[..], &[0; 8], &four].concat()];
    // draft-ietf-opsawg-pcapng: section header, interface descriptions, enhanced packets.
    let mut blocks = block(0x0a0d_0d0a, &[&word(0x1a2b_3c4d)[..], &half(1), &half(0), &[0xff; 8]].concat());
    for link_type in [0, 109] {
        blocks.extend(block(1, &[&half(link_type)[..], &half(0), &word(0)].concat()));
    }
    for (number, packet) in packets.iter().enumerate() {
        let [number, length] = [number as u32, packet.len() as u32];
        let numbers = [number, 0, number, length, length].map(word);
        blocks.extend(block(6, &[numbers.as_flattened(), packet].concat()));
    }
    blocks
}

/// Big-endian files of NULL had 0 packets of 1 for `ip`, `host` and `udp`.
#[test]
fn filters_find_families_in_the_byte_order_of_their_section() {
    let bench = bench(1);
    for orders in [&[true][..], &[false, true], &[true, false], &[true, true]] {
        let all: Vec<u8> = orders.iter().flat_map(|is_swapped| section(*is_swapped)).collect();
        fs::write(bench.file("from.pcapng"), all).unwrap();
        for (filter, of_each) in [("ip", 2), ("udp", 2), ("host 10.0.0.1", 2), ("ip6", 0), ("not ip", 0)] {
            let says = format!(" {} captured", of_each * orders.len());
            // What was copied is in this machine's order.
            for (from, to) in [("from.pcapng", "copy.pcapng"), ("copy.pcapng", "again.pcapng")] {
                let arguments = ["capture", "-r", from, "-w", to, "--format", "pcapng", filter];
                let (_, err) = bench.ends(&arguments, 0);
                assert!(err.contains(&says), "{orders:?} {from} {filter}: {err}");
            }
        }
    }
}

#[test]
fn link_types_have_their_names_and_16_bits() {
    let bench = bench(1);
    for (name, number) in [("ATM_CLIP", "106"), ("LOOP", "108"), ("IPV4", "228"), ("RAW", "12")] {
        let by_name = bench.ends(&["capture", "-d", "-y", name, "ip"], 0);
        assert_eq!(by_name, bench.ends(&["capture", "-d", "-y", number, "ip"], 0), "{name}");
        if has_tcpdump() {
            assert_eq!(by_name.0.into_bytes(), tcpdump(&bench, &["-d", "-y", name, "ip"]), "{name}");
        }
    }
    pcap_of(&bench, "clip.pcap", 106, &[vec![0x45; 30]]);
    let (out, _) = bench.ends(&["capture", "-r", "clip.pcap", "-t"], 0);
    assert_eq!(out, "ATM_CLIP, length 30\n");
    pcap_of(&bench, "reserved.pcap", 0x0001_0001, &[vec![0; 60]]);
    refused(
        &bench,
        &["capture", "-r", "reserved.pcap"],
        1,
        &["byte 20", "0x00010001", "must be 0", "pcap-savefile"],
    );
}

#[test]
fn what_a_file_says_of_check_sequences_and_of_no_time_is_in_its_copies() {
    let bench = bench(1);
    for (number, word) in [0x2400_0001, 0x0400_0001, 1].into_iter().enumerate() {
        pcap_of(&bench, "from.pcap", word, &[vec![number as u8; 64]]);
        bench.ends(&["capture", "-r", "from.pcap", "-w", "copy.pcapng", "--format", "pcapng"], 0);
        bench.ends(&["capture", "-r", "copy.pcapng", "-w", "back.pcap"], 0);
        assert!(
            fs::read(bench.file("from.pcap")).unwrap() == fs::read(bench.file("back.pcap")).unwrap(),
            "{word:#x}"
        );
    }
    let mut writer =
        pcapng::Writer::new(Output::create(&bench.file("simple.pcapng")).unwrap(), "test").unwrap();
    writer.add_interface(&Described::new(LinkType::ETHERNET)).unwrap();
    let packet = Packet { timestamp: Timestamp(0), bytes: &[7; 60], wire_length: 60 };
    writer.write_untimed(0, &packet).unwrap();
    writer.finish().unwrap();
    for more in [&[][..], &["-s", "40"], &["greater 10"]] {
        let arguments = ["capture", "-r", "simple.pcapng", "-w", "again.pcapng", "--format", "pcapng"];
        bench.ends(&[&arguments, more].concat(), 0);
        let mut reader = Reader::open(&bench.file("again.pcapng")).unwrap();
        let captured = reader.next().unwrap().expect("a packet");
        assert!(!captured.has_time && captured.packet.wire_length == 60, "{more:?}: {captured:?}");
    }
}

/// A file has no packet's direction but for a few link types, and of those libpcap knows which.
#[test]
fn directions_in_filters_on_files_are_refused_in_libpcaps_words() {
    let bench = bench(1);
    bench.ends(&["capture", "-r", "web.pcap", "-w", "web.pcapng", "--format", "pcapng"], 0);
    for word in ["inbound", "outbound"] {
        let says = if has_tcpdump() {
            let mut tcpdump = Command::new("tcpdump");
            tcpdump.args(["-r", "web.pcap", word]).current_dir(bench.path());
            let said = String::from_utf8(tcpdump.output().unwrap().stderr).unwrap();
            let reason = said.lines().last().unwrap().trim_start_matches("tcpdump: ");
            format!("libpcap says: {reason}; ")
        } else {
            "libpcap says: ".into()
        };
        for file in ["web.pcap", "web.pcapng"] {
            for more in [&[][..], &["-d"]] {
                let arguments = [&["capture", "-r", file], more, &[word]].concat();
                refused(&bench, &arguments, 2, &[&format!("filter `{word}`"), &says]);
            }
        }
    }
    // Linux's own header has it.
    pcap_of(&bench, "cooked.pcap", 113, &[[&[0, 4][..], &[0; 14], &[0x45; 20]].concat()]);
    for (word, captured) in [("inbound", 0), ("outbound", 1)] {
        let (_, err) = bench.ends(&["capture", "-r", "cooked.pcap", "-w", "of.pcap", word], 0);
        assert!(err.contains(&format!(" {captured} captured")), "{word}: {err}");
    }
}

#[test]
fn a_packet_is_cut_only_where_somebody_is_told() {
    let bench = bench(1);
    let ethernet = LinkType::ETHERNET;
    several(&bench, "first.pcapng", &[(ethernet, 64, 0), (ethernet, 2000, 100)]);
    bench.ends(&["capture", "-r", "first.pcapng", "-w", "first.pcap"], 0);
    let written = fs::read(bench.file("first.pcap")).unwrap();
    assert_eq!(written[16..20], 2000u32.to_ne_bytes(), "the most that any interface keeps");
    assert_eq!(written[32..36], 100u32.to_ne_bytes());
    // The second interface is described when the header is written already.
    several(&bench, "later.pcapng", &[(ethernet, 64, 60), (ethernet, 2000, 100)]);
    let (_, err) = bench.ends(&["capture", "-r", "later.pcapng", "-w", "later.pcap"], 1);
    assert!(err.contains("100 bytes") && err.contains("header says") && err.contains("pcapng"), "{err}");
    bench.ends(&["capture", "-r", "later.pcapng", "-w", "whole.pcap", "-s", "100"], 0);
    assert_eq!(fs::read(bench.file("whole.pcap")).unwrap().len(), 24 + 2 * 16 + 60 + 100);
}

#[test]
fn of_a_damaged_file_what_came_before_is_kept() {
    let bench = bench(100);
    let whole = fs::read(bench.file("web.pcap")).unwrap();
    fs::write(bench.file("cut.pcap"), &whole[..whole.len() - 5]).unwrap();
    let (_, err) = bench.ends(&["capture", "-r", "cut.pcap", "-w", "kept.pcap"], 1);
    assert!(err.contains("cut.pcap, byte ") && err.contains("after 99 packets"), "{err}");
    assert!(err.contains("99 captured"), "{err}");
    let kept = fs::read(bench.file("kept.pcap")).unwrap();
    assert!(whole.starts_with(&kept) && kept.len() > whole.len() - 1600);
    let (out, _) = bench.ends(&["capture", "-r", "cut.pcap", "--json"], 1);
    let document: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(document["ended"], "source-failed");
    assert_eq!(document["packets"]["captured"], 99);
    for (content, says) in
        [(&b"GIF89a"[..], "neither pcap nor pcapng"), (b"\x1f\x8b\x08\0\0", "gzip"), (b"", "header")]
    {
        fs::write(bench.file("other"), content).unwrap();
        let (_, err) = bench.ends(&["capture", "-r", "other"], 1);
        assert!(err.contains("other, byte 0") && err.contains(says), "{err}");
        let (_, err) = bench.ends(&["capture", "generate", "-i", "lo", "--schedule", "replay:other"], 1);
        assert!(err.contains("other, byte 0") && err.contains(says), "{err}");
    }
}

/// Ends with that code and says each of these on standard error.
fn refused(bench: &Bench, arguments: &[&str], code: i32, says: &[&str]) {
    let (out, err) = bench.ends(arguments, code);
    assert!(out.is_empty(), "{out}");
    for word in says {
        assert!(err.contains(word), "{arguments:?} does not say `{word}`:\n{err}");
    }
}

#[test]
fn what_is_mistyped_is_refused_with_the_remedy() {
    let bench = bench(1);
    let b = &bench;
    refused(b, &["capture"], 2, &["-i IF", "give one of these: ", "lo"]);
    refused(b, &["capture", "-i", "nowhere9"], 2, &["nowhere9", "give one of these: ", "lo"]);
    refused(b, &["capture", "-i", "lo", "-r", "web.pcap"], 2, &["--read"]);
    refused(
        b,
        &["capture", "-r", "web.pcap", "tcp prot 80"],
        2,
        &["at character 5, `prot`", "pcap-filter(7)"],
    );
    refused(b, &["capture", "-r", "web.pcap", "port nosuchservice"], 2, &["`nosuchservice`"]);
    refused(b, &["capture", "-r", "web.pcap", "(tcp"], 2, &["at its end"]);
    // 40 KB that libpcap does not understand, and as many whose program is too long.
    for (word, end) in [("host 1.2.3.4 or ", "port x y"), ("ip[1] * ip[2] + ", "1 = 2")] {
        let long = word.repeat(2500) + end;
        let (_, err) = bench.ends(&["capture", "-r", "web.pcap", "-O", &long], 2);
        assert!(
            err.contains(word) && err.contains('…') && err.len() < 2000,
            "{} bytes: {:.2000}",
            err.len(),
            err
        );
    }
    refused(b, &["capture", "-r", "web.pcap", "-c", "0"], 2, &["--count"]);
    refused(b, &["capture", "-r", "web.pcap", "-s", "262145"], 2, &["--snapshot-length"]);
    refused(b, &["capture", "-r", "web.pcap", "-w", "web.pcap"], 2, &["it is the file that is read"]);
    refused(b, &["capture", "-r", "web.pcap", "-w", "./web.pcap"], 2, &["it is the file that is read"]);
    refused(
        b,
        &["capture", "-r", "web.pcap", "-w", "no/where.pcap"],
        1,
        &["no/where.pcap", "check that its folder"],
    );
    refused(b, &["capture", "-r", "none.pcap"], 1, &["opening none.pcap"]);
    for (option, value) in [("--source", "v3"), ("--cores", "2"), ("--filter-in", "user"), ("--clock", "tsc")]
    {
        refused(
            b,
            &["capture", "-r", "web.pcap", option, value],
            2,
            &[option, "cannot be used with", "--read"],
        );
    }
    refused(b, &["capture", "-r", "web.pcap", "-w", "x", "-W", "2"], 2, &["--file-size", "--rotate-seconds"]);
    for option in ["-d", "--machine-code"] {
        refused(b, &["capture", option, "tcp", "--json"], 2, &["--json", "-ddd"]);
    }
    refused(b, &["capture", "-r", "web.pcap", "-y", "RAW"], 2, &["-y 101", "leave -y out"]);
    refused(b, &["capture", "-r", "web.pcap", "-y", "TOKEN"], 2, &["EN10MB"]);
    refused(b, &["capture", "-r", "web.pcap", "-F", "none"], 2, &["filter file none"]);
    refused(
        b,
        &["capture", "-d", "-F", "/dev/zero"],
        2,
        &["filter file /dev/zero", "longer than 1048576 bytes"],
    );
    refused(b, &["capture", "-d", "-F", "."], 2, &["filter file ."]);
    refused(b, &["capture", "-r", "web.pcap", "--bytecode", "1,6 0 0"], 2, &["--bytecode", "four"]);
    refused(b, &["capture", "-r", "web.pcap", "--json", "-w", "-"], 2, &["--json"]);
    refused(b, &["capture", "-r", "web.pcap", "-Z", "nobody-of-this-name"], 2, &["no such user"]);
    refused(b, &["capture", "generate", "-i", "lo", "--rate", "10"], 2, &["--count or --time"]);
    refused(
        b,
        &["capture", "generate", "-i", "nowhere9", "--rate", "10", "--count", "1"],
        2,
        &["nowhere9", "lo"],
    );
    refused(b, &["capture", "generate", "--rate", "10", "--count", "1"], 2, &["--interface"]);
    refused(b, &["capture", "generate", "-i", "lo", "--count", "1"], 2, &["--rate"]);
    let replay = ["capture", "generate", "-i", "lo", "--schedule", "replay:web.pcap"];
    for option in [["--mix", "imix"], ["--size", "64"], ["--match", "0.5"], ["--flows", "1"]] {
        let arguments = [&replay[..], &option].concat();
        refused(b, &arguments, 2, &[option[0], "its frames are sent as they are"]);
    }
    for wrong in ["0", "-1", "nan", "fast", "1e308"] {
        refused(b, &["capture", "generate", "-i", "lo", "--count", "1", "--rate", wrong], 2, &["rate"]);
    }
}

#[test]
fn a_word_of_the_filter_is_no_command() {
    let bench = bench(10);
    let says = ["`advise` is a command of its own", "`--` before the filter"];
    for before in [&["-r", "web.pcap"][..], &["-n"], &["-i", "lo", "--json"]] {
        refused(&bench, &[&["capture"], before, &["advise"]].concat(), 2, &says);
    }
    refused(&bench, &["capture", "-r", "web.pcap", "--", "advise"], 2, &["filter `advise`"]);
    // What is for every verb may stand anywhere.
    refused(
        &bench,
        &["capture", "--json", "generate", "-i", "lo", "--rate", "10"],
        2,
        &["--count or --time"],
    );
}

#[test]
fn a_file_without_packets_is_not_replayed() {
    let bench = bench(0);
    let arguments = ["capture", "generate", "-i", "lo", "--schedule", "replay:web.pcap"];
    refused(&bench, &arguments, 1, &["the file to replay: it has no packets", "give a capture"]);
}

/// It prints what would be sent, and refuses what the real command refuses; no frame is sent.
#[test]
fn a_dry_run_of_a_generator_sends_nothing() {
    let bench = bench(20);
    let plan = |more: &[&str]| {
        let arguments = [&["capture", "generate", "-i", "lo", "--dry-run"], more].concat();
        bench.ends(&arguments, 0).0
    };
    let text = plan(&["--rate", "10", "--count", "50", "--time", "3600"]);
    for part in ["50 frames over lo at 10 a second, for about 5.000 s", "CAP_NET_RAW", "writes nothing"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let text = plan(&["--schedule", "replay:web.pcap"]);
    assert!(text.contains("the frames of web.pcap over lo at the gaps of the file"), "{text}");
    // It would have taken an hour.
    let json: Value = serde_json::from_str(&plan(&["--rate", "10", "--time", "3600", "--json"])).unwrap();
    assert_eq!((&json["seconds"], &json["frames"]), (&json!(3600.0), &Value::Null));
    let replay = ["capture", "generate", "-i", "lo", "--dry-run", "--schedule", "replay:none.pcap"];
    refused(&bench, &replay, 1, &["none.pcap"]);
}

#[test]
fn a_snapshot_cuts_and_0_cuts_nothing() {
    let bench = bench(50);
    bench.ends(&["capture", "-r", "web.pcap", "-w", "cut.pcap", "-s", "60"], 0);
    let cut = fs::read(bench.file("cut.pcap")).unwrap();
    assert_eq!((cut.len(), u32::from_ne_bytes(cut[16..20].try_into().unwrap())), (24 + 50 * 76, 60));
    bench.ends(&["capture", "-r", "web.pcap", "-w", "all.pcap", "-s", "0"], 0);
    assert!(fs::read(bench.file("web.pcap")).unwrap() == fs::read(bench.file("all.pcap")).unwrap());
}

#[test]
fn interfaces_are_listed() {
    let bench = Bench::with(SHORT);
    let (out, _) = bench.ends(&["capture", "-D"], 0);
    assert!(out.contains(".lo [") && out.contains("loopback, mtu "), "{out}");
    let document: Value = serde_json::from_str(&bench.ends(&["capture", "-D", "--json"], 0).0).unwrap();
    assert!(document["interfaces"].as_array().unwrap().iter().any(|one| one["name"] == "lo"), "{document}");
}

#[test]
fn time_zones_are_read_as_by_the_c_library_and_what_is_none_is_told_once() {
    let bench = bench(10);
    let date = |zone: &str, second: &str| {
        let output = Command::new("date")
            .args(["-d", &format!("@{second}"), "+%Y-%m-%d %H:%M:%S"])
            .env("TZ", zone)
            .output();
        String::from_utf8(output.unwrap().stdout).unwrap().trim().to_owned()
    };
    let in_zone = |zone: &str, arguments: &[&str]| {
        checked(
            &bench
                .tollway(&[&["capture", "-r", "web.pcap", "-c", "3"], arguments].concat())
                .env("TZ", zone)
                .output()
                .unwrap(),
            0,
        )
    };
    let (out, _) = in_zone("UTC", &["-tt"]);
    let second = out.split('.').next().unwrap().to_owned();
    for zone in [
        "CET-1CEST,M3.5.0,M10.5.0/3",
        "CET-1CEST",
        "<-03>3<-02>,M3.5.0/-2,M10.5.0/-1",
        "EST5EDT,J60/2,300/2",
        "IST-5:30",
        "UTC",
        "",
    ] {
        let (out, err) = in_zone(zone, &["-tttt"]);
        assert!(out.starts_with(&date(zone, &second)), "{zone}: {out}");
        assert!(!err.contains("TZ="), "{zone}: {err}");
    }
    for zone in ["Nowhere/At_all", "CET-1CEST,M3.5.0", "\u{1b}[2J"] {
        let (out, err) = in_zone(zone, &["-tttt"]);
        assert!(out.starts_with(&date("UTC", &second)), "{zone}: {out}");
        assert_eq!(
            err.matches("is no time zone that can be read: times are in UTC").count(),
            1,
            "{zone}: {err}"
        );
        assert!(!err.contains('\u{1b}'), "{err:?}");
        // Where no local time is printed there is nothing to tell; names of files have one.
        assert!(!in_zone(zone, &["-tt"]).1.contains("TZ="));
        assert_eq!(in_zone(zone, &["-G", "3600", "-w", "%H.pcap"]).1.matches("TZ=").count(), 1);
    }
}

#[test]
fn full_disks_are_told_and_what_fitted_is_whole() {
    let bench = bench(1000);
    if !Path::new("/dev/full").exists() {
        return;
    }
    let (_, err) = bench.ends(&["capture", "-r", "web.pcap", "-w", "/dev/full"], 1);
    assert!(err.contains("/dev/full") && err.contains("No space left"), "{err}");
    let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let output = bench.tollway(&["capture", "-r", "web.pcap"]).stdout(full).output().unwrap();
    let (_, err) = checked(&output, 1);
    assert!(err.contains(" 0 captured") && err.contains("standard output at byte 0: No space"), "{err}");
    // 4 KiB of text, of which the last line is not whole.
    let script = "ulimit -f 8; exec \"$0\" capture -r web.pcap > printed";
    let mut command = Command::new("sh");
    command.args(["-c", script, env!("CARGO_BIN_EXE_tollway")]);
    bench.set_up(&mut command);
    let (_, err) = checked(&command.output().unwrap(), 1);
    let lines = fs::read(bench.file("printed")).unwrap().iter().filter(|byte| **byte == b'\n').count();
    assert!(lines > 0 && err.contains(&format!(" {lines} captured")), "{lines}: {err}");
    // What lay in the buffer and could not be written is not captured.
    for format in ["pcap", "pcapng"] {
        for more in ["", "tcp", "-s 100", "-C 1"] {
            if more == "-C 1" && format == "pcapng" {
                continue;
            }
            // 64 KiB, in blocks of 512 bytes.
            let script = format!(
                "ulimit -f 128; exec \"$0\" capture -r web.pcap -w kept --format {format} --json {more}"
            );
            let mut command = Command::new("sh");
            command.args(["-c", &script, env!("CARGO_BIN_EXE_tollway")]);
            bench.set_up(&mut command);
            let (out, err) = checked(&command.output().unwrap(), 1);
            assert!(err.contains("too large"), "{err}");
            let document: Value = serde_json::from_str(&out).unwrap();
            let packets = |name: &str| document["packets"][name].as_u64().unwrap();
            let (all, _) = bench.ends(&["capture", "-r", "kept", "--json"], 0);
            let all: Value = serde_json::from_str(&all).unwrap();
            assert_eq!(packets("captured"), all["packets"]["captured"].as_u64().unwrap(), "{more}");
            assert!(packets("captured") > 0 && packets("after_end") > 0, "{document}");
            let fates = packets("captured") + packets("after_end") + packets("filtered_out");
            assert_eq!(packets("offered"), fates);
            assert_eq!(document["output"]["bytes"], fs::metadata(bench.file("kept")).unwrap().len());
        }
    }
}
