//! Namespaces and what is in them, against the kernel's own account of it.

use std::fs;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::process::Command;
use std::time::Duration;

use tollway_core::Requirement;
use tollway_host::requirement::{check, skip_test};
use tollway_wire::ring::{Geometry, SlotRing};
use tollway_wire::{
    Cable, End, Interface, Namespace, PacketSocket, add_route, delete_link, leave_checksums_to_device,
    move_link, pass_on, set_address, set_mtu, set_up, veth_pair,
};

use crate::eventually::eventually;

/// Whether this process may make namespaces; says so if not.
fn may() -> bool {
    match check(&Requirement::NetworkNamespaces).and_then(|()| check(&Requirement::PacketSockets)) {
        Ok(()) => true,
        Err(missing) => {
            skip_test(&["netns", "packet"], &missing);
            false
        }
    }
}

#[test]
fn a_veth_pair_is_as_it_was_described() {
    if !may() {
        return;
    }
    let namespace = Namespace::new().unwrap();
    let address = [2, 0, 0, 0, 0, 7];
    namespace
        .run(|| {
            let one = End { mtu: Some(900), address: Some(address), queues: 3, ..End::new("one") };
            veth_pair(&one, &End::new("two")).unwrap();
            let one = Interface::named("one").unwrap();
            assert_eq!((one.mtu, one.address, one.hardware), (900, Some(address), 1));
            assert_eq!((one.receive_queues, one.transmit_queues), (3, 3));
            assert_eq!(one.kind.as_deref(), Some("veth"));
            assert_eq!(one.driver().unwrap(), "veth");
            println!("{}", Interface::named("lo").unwrap().driver().unwrap_err());
            assert_eq!((one.up, one.running), (false, false));
            set_up("one", true).unwrap();
            assert!(!Interface::named("one").unwrap().running, "its peer is down");
            set_up("two", true).unwrap();
            let one = Interface::named("one").unwrap();
            assert_eq!((one.up, one.running), (true, true));
            set_mtu("one", 1400).unwrap();
            assert_eq!(Interface::named("one").unwrap().mtu, 1400);
            let names: Vec<String> = Interface::all().unwrap().into_iter().map(|i| i.name).collect();
            assert_eq!(names, ["lo", "two", "one"]);
            assert!(Interface::named("lo").unwrap().up);
            delete_link("two").unwrap();
            assert_eq!(Interface::all().unwrap().len(), 1, "its peer went with it");
        })
        .unwrap();
}

#[test]
fn an_end_can_be_made_in_another_namespace_and_moved() {
    if !may() {
        return;
    }
    let (here, there) = (Namespace::new().unwrap(), Namespace::new().unwrap());
    here.run(|| veth_pair(&End::new("near"), &End::new("far").within(&there)).unwrap()).unwrap();
    assert_eq!(here.run(|| Interface::all().unwrap().len()).unwrap(), 2);
    there.run(|| assert!(Interface::named("far").is_ok())).unwrap();
    here.run(|| move_link("near", &there).unwrap()).unwrap();
    assert_eq!(here.run(|| Interface::all().unwrap().len()).unwrap(), 1);
    assert_eq!(there.run(|| Interface::all().unwrap().len()).unwrap(), 3);
}

#[test]
fn what_cannot_be_is_told_with_place_and_remedy() {
    if !may() {
        return;
    }
    let namespace = Namespace::new().unwrap();
    let said = namespace
        .run(|| {
            veth_pair(&End::new("a"), &End::new("b")).unwrap();
            [
                Interface::named("nowhere").unwrap_err().to_string(),
                Interface::named("a name that is too long").unwrap_err().to_string(),
                set_up("nowhere", true).unwrap_err().to_string(),
                veth_pair(&End::new("a"), &End::new("c")).unwrap_err().to_string(),
                set_mtu("a", 7).unwrap_err().to_string(),
                PacketSocket::open()
                    .unwrap()
                    .bind(&Interface { index: 999, ..Interface::named("a").unwrap() })
                    .unwrap_err()
                    .to_string(),
            ]
        })
        .unwrap();
    let wanted = ["nowhere", "too long", "nowhere", "a name is taken", "a to 7", "interface a"];
    for (said, wanted) in said.iter().zip(wanted) {
        println!("{said}");
        assert!(said.contains(wanted), "{said}");
    }
}

/// Makes a cable whose ends speak by themselves, since they have IPv6, and waits until both have: then whoever speaks on one
/// that is older has spoken, too. A kernel without IPv6 has nobody who would.
fn a_talkative_cable_has_spoken() {
    let namespace = Namespace::new().unwrap();
    let has_ipv6 = namespace
        .run(|| {
            let speaks =
                |scope: &str| fs::write(format!("/proc/sys/net/ipv6/conf/{scope}/disable_ipv6"), "0");
            let has_ipv6 = ["all", "default"].map(speaks).iter().all(Result::is_ok);
            veth_pair(&End::new("one"), &End::new("other")).unwrap();
            ["one", "other"].iter().for_each(|name| set_up(name, true).unwrap());
            has_ipv6
        })
        .unwrap();
    if has_ipv6 {
        let spoke = |name| Interface::named(name).unwrap().counters.sent >= 3;
        eventually("both ends speak", || namespace.run(|| spoke("one") && spoke("other")).unwrap());
    }
}

#[test]
fn nobody_speaks_on_a_cable_and_what_is_sent_is_counted() {
    if !may() {
        return;
    }
    let cable = Cable::new().unwrap();
    a_talkative_cable_has_spoken();
    cable
        .namespace()
        .run(|| {
            let quiet = Interface::named(Cable::RIGHT).unwrap().counters;
            assert_eq!((quiet.received, quiet.sent), (0, 0));
            let socket = PacketSocket::open().unwrap();
            socket.bind_deaf(&Interface::named(Cable::LEFT).unwrap()).unwrap();
            (0..10).for_each(|_| socket.send(&[0xff; 60]).unwrap());
            assert_eq!(Interface::named(Cable::LEFT).unwrap().counters.sent, 10);
            let right = Interface::named(Cable::RIGHT).unwrap().counters;
            assert_eq!((right.received, right.received_bytes), (10, 600));
        })
        .unwrap();
}

#[test]
fn nothing_is_left_of_a_namespace() {
    if !may() {
        return;
    }
    // Namespaces of this machine, with a name or held by a process: those that other tests of this program have now are
    // few.
    let namespaces = || {
        let mut found = std::collections::HashSet::new();
        for process in fs::read_dir("/proc").unwrap().flatten() {
            for folder in ["ns", "fd"] {
                for entry in fs::read_dir(process.path().join(folder)).into_iter().flatten().flatten() {
                    let target = fs::read_link(entry.path()).unwrap_or_default();
                    if target.to_string_lossy().starts_with("net:[") {
                        found.insert(target);
                    }
                }
            }
        }
        found.len()
    };
    let named = || fs::read_dir("/run/netns").map_or(0, Iterator::count);
    let before = (namespaces(), named());
    for _ in 0..100 {
        drop(Cable::new().unwrap());
    }
    assert!(namespaces() < before.0 + 20, "{} before, {} after", before.0, namespaces());
    assert_eq!(named(), before.1);
}

#[test]
fn ip_of_iproute2_agrees() {
    if !may() {
        return;
    }
    let cable = Cable::new().unwrap();
    let shown = cable.namespace().run(|| Command::new("ip").args(["-o", "link"]).output()).unwrap();
    let Ok(shown) = shown else {
        println!("skipped: no program ip");
        return;
    };
    let shown = String::from_utf8(shown.stdout).unwrap();
    assert!(shown.contains("left@right") && shown.matches("LOWER_UP").count() == 3, "{shown}");
}

#[test]
fn who_has_an_address_can_be_reached_and_checksums_are_there_if_asked_for() {
    if !may() {
        return;
    }
    let (here, there) = (Namespace::new().unwrap(), Namespace::new().unwrap());
    let (ours, theirs): (Ipv4Addr, Ipv4Addr) = ([192, 0, 2, 1].into(), [192, 0, 2, 2].into());
    here.run(|| veth_pair(&End::new("near"), &End::new("far").within(&there)).unwrap()).unwrap();
    for (namespace, name, address) in [(&here, "near", ours), (&there, "far", theirs)] {
        namespace
            .run(|| {
                set_address(name, address, 24).unwrap();
                set_up(name, true).unwrap();
            })
            .unwrap();
    }
    here.run(|| leave_checksums_to_device("near", false).unwrap()).unwrap();
    let listener = there.run(|| TcpListener::bind((theirs, 7)).unwrap()).unwrap();
    let mut seen = there
        .run(|| {
            let socket = PacketSocket::open().unwrap();
            let geometry = Geometry::of_slots(1 << 20, 1514).unwrap();
            socket.ignore_outgoing().unwrap();
            let mut ring = SlotRing::new(socket, geometry, false).unwrap();
            ring.socket().bind(&Interface::named("far").unwrap()).unwrap();
            ring
        })
        .unwrap();
    let mut speaker = here.run(|| TcpStream::connect((theirs, 7)).unwrap()).unwrap();
    let (mut heard, from) = listener.accept().unwrap();
    assert_eq!(from.ip(), ours);
    speaker.write_all(b"hello").unwrap();
    let mut text = [0; 5];
    heard.read_exact(&mut text).unwrap();
    assert_eq!(&text, b"hello");
    assert!(seen.has_some());
    let mut segments = 0;
    seen.read(100, |frame| {
        // An IPv4 header of 20 bytes after that of the frame, and TCP in it (RFC 791, RFC 9293).
        if frame.bytes.len() >= 54 && frame.bytes[12..15] == [8, 0, 0x45] && frame.bytes[23] == 6 {
            let length = usize::from(u16::from_be_bytes([frame.bytes[16], frame.bytes[17]]));
            let segment = &frame.bytes[34..14 + length];
            let pseudo = [&frame.bytes[26..34], &[0, 6], &(segment.len() as u16).to_be_bytes()].concat();
            let sum: u32 = pseudo
                .chunks(2)
                .chain(segment.chunks(2))
                .map(|pair| u32::from(u16::from_be_bytes([pair[0], *pair.get(1).unwrap_or(&0)])))
                .sum();
            let folded = (sum & 0xffff) + (sum >> 16);
            assert_eq!((folded & 0xffff) + (folded >> 16), 0xffff, "a wrong checksum (RFC 1071)");
            segments += 1;
        }
    })
    .unwrap();
    assert!(segments >= 3, "{segments} of SYN, ACK, data");
    let said = here.run(|| set_address("near", ours, 33).unwrap_err().to_string()).unwrap();
    assert!(said.contains("32"), "{said}");
    let said = here.run(|| set_address("nowhere", ours, 24).unwrap_err().to_string()).unwrap();
    assert!(said.contains("nowhere"), "{said}");
}

#[test]
fn packets_go_through_another_once_it_passes_them_on() {
    if !may() {
        return;
    }
    let [left, middle, right] = [(); 3].map(|()| Namespace::new().unwrap());
    for (end, network) in [(&left, 1), (&right, 2)] {
        let (inner, outer) = (format!("inner{network}"), "outer");
        middle.run(|| veth_pair(&End::new(&inner), &End::new(outer).within(end)).unwrap()).unwrap();
        for (namespace, name, host) in [(&middle, &*inner, 1), (end, outer, 2)] {
            let address = Ipv4Addr::new(10, 9, network, host);
            namespace
                .run(|| set_address(name, address, 24).and_then(|()| set_up(name, true)).unwrap())
                .unwrap();
        }
    }
    let theirs = Ipv4Addr::new(10, 9, 2, 2);
    let listener = right.run(|| TcpListener::bind((theirs, 7)).unwrap()).unwrap();
    let speak = |within| left.run(|| TcpStream::connect_timeout(&(theirs, 7).into(), within)).unwrap();
    let soon = Duration::from_millis(300);
    assert!(speak(soon).is_err(), "there is no way");
    left.run(|| add_route(Ipv4Addr::new(10, 9, 2, 0), 24, Ipv4Addr::new(10, 9, 1, 1)).unwrap()).unwrap();
    right.run(|| add_route(Ipv4Addr::UNSPECIFIED, 0, Ipv4Addr::new(10, 9, 2, 1)).unwrap()).unwrap();
    assert!(speak(soon).is_err(), "nobody passes it on");
    middle.run(|| pass_on().unwrap()).unwrap();
    speak(Duration::from_secs(60)).unwrap();
    assert_eq!(listener.accept().unwrap().1.ip(), Ipv4Addr::new(10, 9, 1, 2));
    let said = left.run(|| add_route(theirs, 33, theirs).unwrap_err().to_string()).unwrap();
    assert!(said.contains("32"), "{said}");
    let nowhere =
        left.run(|| add_route(Ipv4Addr::new(10, 8, 0, 0), 16, theirs).unwrap_err().to_string()).unwrap();
    println!("{nowhere}");
}
