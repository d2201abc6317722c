//! Frames of any kind at the stack's device, while a client is served: it goes on serving. `TOLLWAY_FRAMES` says how many.

use std::io::{Read, Write};
use std::net::TcpListener;

use tollway_ipc::engine::tcp::{BYTES, Client, Network, Style, check, request};
use tollway_wire::{Interface, PacketSocket};

use crate::setting::{Served, answers, connected, may};

/// As many as an ordinary run has time for.
const FRAMES: u64 = 40_000;

/// splitmix64 (G. L. Steele, D. Lea, C. H. Flood, "Fast Splittable Pseudorandom Number Generators", OOPSLA 2014, figure 17).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let word = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let word = (word ^ word >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^ word >> 31
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }

    fn bytes(&mut self, count: usize) -> Vec<u8> {
        (0..count).map(|_| self.next() as u8).collect()
    }
}

/// The Internet checksum (RFC 1071) of these pieces, each of an even number of bytes but the last.
fn checksum(pieces: &[&[u8]]) -> [u8; 2] {
    let words = pieces.iter().flat_map(|piece| piece.chunks(2));
    let sum: u64 =
        words.map(|pair| u64::from(u16::from_be_bytes([pair[0], *pair.get(1).unwrap_or(&0)]))).sum();
    let sum = (sum & 0xffff) + (sum >> 16);
    (!((sum & 0xffff) + (sum >> 16)) as u16).to_be_bytes()
}

/// A TCP segment from the client's machine to the application's port, right in its checksums and at random in all else (RFC 791,
/// RFC 9293): flags, numbers, options, length.
fn segment(random: &mut Random) -> Vec<u8> {
    let options = 4 * random.below(11);
    let payload = random.below(200);
    let (from, to) = ([192, 0, 2, 1], Network::APPLICATION.ip().octets());
    let mut tcp = random.bytes(20 + options + payload);
    // A port that no client of Linux's has by itself: it answers with a reset, and no connection is harmed by chance.
    let port = 1024 + random.below(30_000) as u16;
    tcp[..2].copy_from_slice(&port.to_be_bytes());
    tcp[2..4].copy_from_slice(&Network::APPLICATION.port().to_be_bytes());
    // The length of its header, mostly the true one.
    if random.below(8) > 0 {
        tcp[12] = ((5 + options / 4) as u8) << 4;
    }
    if random.below(2) == 0 {
        tcp[13] = [0x02, 0x10, 0x18, 0x04, 0x14, 0x01, 0x11, 0x12][random.below(8)];
    }
    tcp[16..18].fill(0);
    let length = (tcp.len() as u16).to_be_bytes();
    let sum = checksum(&[&from, &to, &[0, 6], &length, &tcp]);
    tcp[16..18].copy_from_slice(&sum);
    let mut ip = vec![0x45, 0, 0, 0, 0, 0, 0, 0, 64, 6, 0, 0];
    ip.extend(from);
    ip.extend(to);
    let all = ip.len() + tcp.len();
    // The length that it says it has, mostly the true one.
    let says = if random.below(8) > 0 { all } else { random.below(2 * all) };
    ip[2..4].copy_from_slice(&(says as u16).to_be_bytes());
    let sum = checksum(&[&ip]);
    ip[10..12].copy_from_slice(&sum);
    [&Network::HARDWARE[..], &[2, 0, 0, 0, 0, 1], &[8, 0], &ip, &tcp].concat()
}

/// A frame of the stack's address and of a kind that it knows, and anything in it.
fn of_a_kind(random: &mut Random) -> Vec<u8> {
    let kind: [u8; 2] = [[8, 0], [8, 6], [0x86, 0xdd], [0x81, 0]][random.below(4)];
    let length = random.below(1400);
    let mut body = random.bytes(length);
    if kind == [8, 0] && body.len() >= 20 {
        body[0] = 0x45;
        body[9] = [1, 2, 6, 17][random.below(4)];
        body[16..20].copy_from_slice(&Network::APPLICATION.ip().octets());
        body[10..12].fill(0);
        let sum = checksum(&[&body[..20]]);
        body[10..12].copy_from_slice(&sum);
    }
    [&Network::HARDWARE[..], &[2, 0, 0, 0, 0, 1], &kind, &body].concat()
}

#[test]
fn any_frames_do_not_end_it() {
    if !may() {
        return;
    }
    let frames = std::env::var("TOLLWAY_FRAMES").map_or(FRAMES, |count| count.parse().unwrap());
    const CONNECTIONS: usize = 4;
    let served = Served::start(Style::Asynchronous, CONNECTIONS + 4);
    let mut client = served.client(CONNECTIONS);
    let network = &served.network;
    // In steps, so that the stack is looked at in between, and frames are not all lost where it is slow.
    let (mut tried, mut sent) = (0, 0);
    let mut random = Random(1);
    let socket = network
        .client()
        .run(|| {
            let socket = PacketSocket::open().unwrap();
            socket.bind_deaf(&Interface::named("client").unwrap()).unwrap();
            socket
        })
        .unwrap();
    let mut answered = 0u64;
    while tried < frames {
        for _ in 0..400 {
            let frame = match random.below(4) {
                0 => {
                    let length = 14 + random.below(1500);
                    random.bytes(length)
                }
                1 => of_a_kind(&mut random),
                _ => segment(&mut random),
            };
            // One that is longer than the interface takes is refused here.
            sent += u64::from(socket.send(&frame).is_ok());
            tried += 1;
        }
        answered += answers(&mut client, CONNECTIONS, 1).iter().sum::<u64>();
    }
    drop::<Client>(client);
    assert!(!served.stack.is_over());
    // Connections that the frames have begun are given back, and new ones are served.
    let mut stream = connected(network);
    let mut reply = [0; BYTES];
    stream.write_all(&request(1, 1)).unwrap();
    stream.read_exact(&mut reply).unwrap();
    check(&reply, 1, 1).unwrap();
    drop(stream);
    let counts = served.end();
    println!("{sent} frames: {answered} answered meanwhile, {counts:?}");
    assert!(sent > frames / 2 && counts.received > sent / 2, "the stack saw few of them");
}

#[test]
fn linux_hears_nothing_at_the_stacks_end() {
    if !may() {
        return;
    }
    let served = Served::start(Style::Asynchronous, 1);
    // A listener of Linux's at the same port: if it took the frames as its own, it would answer them.
    let listener = served.network.server().run(|| TcpListener::bind(("0.0.0.0", 7)).unwrap()).unwrap();
    listener.set_nonblocking(true).unwrap();
    let mut client = served.client(1);
    answers(&mut client, 1, 100);
    assert!(listener.accept().is_err());
    drop::<Client>(client);
    served.end();
}
