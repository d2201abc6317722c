//! Datagrams: all that arrive, and some that do not, come twice, or out of turn.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, UdpSocket};
use std::thread;
use std::time::{Duration, Instant};

use tollway_core::Result;
use tollway_machine::engine::network::Listener;
use tollway_machine::engine::network::datagrams::{Received, Receiver, Sender};

use super::rogue::{CONTROL, connect};

fn receiver(bytes: usize) -> Receiver {
    Receiver::at(Listener::at(Ipv4Addr::LOCALHOST).unwrap(), bytes).unwrap()
}

#[test]
fn they_come_at_their_rate_and_the_ends_agree() {
    let receiver = receiver(200);
    let address = receiver.listener().address();
    let sender = thread::spawn(move || {
        let mut sender = Sender::come(address, 200).unwrap();
        let end = Instant::now() + Duration::from_millis(200);
        sender.send(Duration::from_millis(1), || Instant::now() < end).unwrap();
        sender.finish().unwrap()
    });
    let mut arrived = 0;
    let received = receiver.receive(|| arrived += 1).unwrap();
    let sent = sender.join().unwrap();
    assert_eq!((sent.datagrams, sent.arrived), (received.sent, received.numbers.different()));
    assert_eq!(arrived, received.numbers.different() + received.numbers.doubled());
    // Every one has its time, and none is sent before it: however late some are, there are no more of them.
    assert!((1..=201).contains(&sent.datagrams), "{sent:?}");
    assert!(sent.late.sum >= sent.late.worst, "{sent:?}");
    // A buffer has room for all of them.
    assert_eq!(received.lost(), 0);
    assert!(received.jitter.nanoseconds() < 1e8, "{received:?}");
}

/// Content of datagrams of 16 bytes: number and time.
fn header_only(number: u64, sent: u64) -> [u8; 16] {
    let mut datagram = [0; 16];
    datagram[..8].copy_from_slice(&number.to_le_bytes());
    datagram[8..].copy_from_slice(&sent.to_le_bytes());
    datagram
}

/// What a receiver makes of datagrams that somebody wrote by hand, who then says how many there were; and what it answers.
fn receives(bytes: usize, datagrams: &[&[u8]], said: u64) -> (Result<Received>, Option<u64>) {
    let receiver = receiver(bytes);
    let mut control = connect(receiver.listener().address(), CONTROL);
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    for datagram in datagrams {
        socket.send_to(datagram, receiver.listener().address()).unwrap();
    }
    control.write_all(&said.to_le_bytes()).unwrap();
    let received = receiver.receive(|| ());
    drop(receiver);
    let mut answer = [0; 8];
    (received, control.read_exact(&mut answer).ok().map(|()| u64::from_le_bytes(answer)))
}

#[test]
fn what_is_lost_doubled_or_late_is_counted() {
    let datagrams: Vec<[u8; 16]> = [0, 1, 4, 3, 3, 8].into_iter().map(|n| header_only(n, n * 1000)).collect();
    let datagrams: Vec<&[u8]> = datagrams.iter().map(|d| &d[..]).collect();
    let (received, answer) = receives(16, &datagrams, 10);
    let received = received.unwrap();
    assert_eq!((received.sent, received.numbers.different(), received.lost()), (10, 5, 5));
    assert_eq!((received.numbers.doubled(), received.numbers.late()), (1, 1));
    assert_eq!(answer, Some(5));
    let (none, answer) = receives(16, &[], 7);
    assert_eq!((none.unwrap().lost(), answer), (7, Some(0)));
}

#[test]
fn what_is_wrong_is_found() {
    let wrong = |datagrams: &[&[u8]], bytes, said, wanted: &str| {
        let reason = receives(bytes, datagrams, said).0.unwrap_err().to_string();
        assert!(reason.contains(wanted), "{reason}");
    };
    wrong(&[&header_only(7, 0)], 16, 7, "number 7 has arrived");
    wrong(&[&header_only(0, 0)[..15]], 16, 1, "not as it was sent");
    wrong(&[&[0; 17]], 16, 1, "not as it was sent");
    wrong(&[&[0; 24]], 24, 1, "not as it was sent");
}
