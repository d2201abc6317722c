//! Streams, of every number, and content that is wrong.

use std::io::{Read, Write};
use std::net::Ipv4Addr;
use std::thread;
use std::time::{Duration, Instant};

use tollway_core::{Error, Result};
use tollway_machine::engine::network::streams::{Moved, Sender, Shape, receive};
use tollway_machine::engine::network::{Listener, Network};

use super::may_make_namespaces;
use super::rogue::{CONTENT, CONTROL, connect};

/// Sends for so long; both ends' accounts, and how many blocks were told of.
fn sent_and_received(shape: Shape, network: Option<&Network>, time: Duration) -> (Moved, Moved, u64) {
    let listener = || Listener::at(network.map_or(Ipv4Addr::LOCALHOST, Network::address)).unwrap();
    let listener = network.map_or_else(listener, |network| network.server().run(listener).unwrap());
    shape.buffer.map_or(Ok(()), |bytes| listener.receive_into(bytes)).unwrap();
    let address = listener.address();
    let send = move || {
        let mut sender = Sender::come(address, &shape)?;
        let end = Instant::now() + time;
        sender.send(|| Instant::now() < end)?;
        sender.finish()
    };
    thread::scope(|scope| {
        let sender = scope.spawn(|| match network {
            None => send(),
            Some(network) => network.client().run(send).unwrap(),
        });
        let mut blocks = 0;
        let received = receive(&listener, &shape, || blocks += 1).unwrap();
        (sender.join().unwrap().unwrap(), received, blocks)
    })
}

#[test]
fn whatever_is_sent_arrives_in_whole_blocks() {
    for streams in [1, 2, 8] {
        for block in [8, 1000, 128 << 10] {
            let shape = Shape { streams, block, buffer: None };
            let (sent, received, blocks) = sent_and_received(shape, None, Duration::from_millis(30));
            assert_eq!(sent.bytes, received.bytes);
            assert_eq!(received.bytes, blocks * block as u64, "{shape:?}");
            assert!(blocks >= streams as u64 && sent.buffer > 0 && received.buffer > 0);
        }
    }
}

#[test]
fn no_time_at_all_is_a_block_each() {
    let shape = Shape { streams: 3, ..Shape::USUAL };
    let (sent, _, blocks) = sent_and_received(shape, None, Duration::ZERO);
    assert_eq!((sent.bytes, blocks), (3 * shape.block as u64, 3));
}

#[test]
fn a_buffer_is_what_it_was_asked_to_be() {
    let shape = Shape { buffer: Some(100 << 10), ..Shape::USUAL };
    let (sent, received, _) = sent_and_received(shape, None, Duration::from_millis(30));
    assert_eq!((sent.buffer, received.buffer), (100 << 10, 100 << 10));
}

#[test]
fn a_cable_and_nodes_that_pass_on_bring_it_too() {
    if !may_make_namespaces() {
        return;
    }
    for network in [Network::on_one_node().unwrap(), Network::on_two_nodes().unwrap()] {
        let (sent, received, _) = sent_and_received(Shape::USUAL, Some(&network), Duration::from_millis(30));
        assert_eq!(sent.bytes, received.bytes);
    }
}

/// What a receiver of one stream makes of content that somebody wrote by hand, who then says how much it was.
fn receives(block: usize, content: &[u8], said: u64) -> Result<Moved> {
    let listener = Listener::at(Ipv4Addr::LOCALHOST).unwrap();
    let (mut stream, mut control) =
        (connect(listener.address(), CONTENT), connect(listener.address(), CONTROL));
    stream.write_all(content).unwrap();
    control.write_all(&said.to_le_bytes()).unwrap();
    drop(stream);
    receive(&listener, &Shape { streams: 1, block, buffer: None }, || ())
}

/// Two blocks as they are sent, with nothing of ours but a sender to listen to.
fn two_blocks(block: usize) -> Vec<u8> {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let std::net::SocketAddr::V4(address) = listener.local_addr().unwrap() else { panic!("IPv4") };
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut sender = Sender::come(address, &Shape { streams: 1, block, buffer: None }).unwrap();
            let mut looks = 0;
            sender
                .send(|| {
                    looks += 1;
                    looks < 3
                })
                .unwrap();
        });
        let _control = listener.accept().unwrap();
        let (mut stream, _) = listener.accept().unwrap();
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).unwrap();
        assert_eq!(bytes[0], CONTENT);
        bytes[1..=2 * block].to_vec()
    })
}

#[test]
fn what_is_wrong_is_found() {
    let right = two_blocks(1000);
    assert_eq!(receives(1000, &right, 2000).unwrap().bytes, 2000);
    let wrong = |content: &[u8], said, wanted: &str| match receives(1000, content, said) {
        Err(Error::Wrong(reason)) => assert!(reason.contains(wanted), "{reason}"),
        other => panic!("{other:?}"),
    };
    wrong(&right, 2001, "2001 bytes were sent, 2000 have arrived");
    // A block that is there twice, one that is missing, a byte of the first that is another, an end that is none.
    wrong(&right[..1000].repeat(2), 2000, "block 1");
    wrong(&right[1000..], 1000, "block 0");
    let mut other = right.clone();
    other[500] ^= 0x10;
    wrong(&other, 2000, "block 0");
    other = right[..1500].to_vec();
    other[1499] ^= 1;
    wrong(&other, 1500, "block 1");
}
