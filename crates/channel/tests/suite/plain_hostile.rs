//! Plain synchronous requests where one end keeps to nothing: the other tells so, and neither panics nor waits for ever.

use std::io::{Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use proptest::prelude::any;
use proptest::strategy::Just;
use proptest::{prop_oneof, proptest};
use rustix::fs::{MemfdFlags, OFlags, SealFlags, fcntl_add_seals, fcntl_setfl, ftruncate, memfd_create};
use rustix::net::{AddressFamily, SendFlags, SocketFlags, SocketType, send, socketpair};
use tollway_channel::linux::plain::{Client, Failed, Limits, Options, Server, Violation, Way};
use tollway_channel::wait::Patience;
use tollway_host::descriptor;
use tollway_host::shared::SharedPages;

use crate::eventually::eventually;

/// The longest message, in bytes.
const BYTES: usize = 64;

fn limits() -> Limits {
    Limits { bytes: BYTES, patience: Some(Patience { spin: 1000, yields: 1 }) }
}

fn options(way: Way) -> Options {
    Options { way, bytes: BYTES, patience: Some(Patience { spin: 1000, yields: 1 }), ..Options::default() }
}

/// What a client says: version 1, that way, messages of that many bytes.
fn hello(way: Way, bytes: u32) -> Vec<u8> {
    let mut hello = b"TWpl\x01\0".to_vec();
    hello.extend([u8::from(way == Way::Handoff), 0]);
    hello.extend(bytes.to_le_bytes());
    hello.extend([0; 4]);
    hello
}

/// A server that answers with what it was asked, and how it ends.
fn serving(link: UnixStream) -> thread::JoinHandle<Result<(), Failed>> {
    thread::spawn(move || {
        let mut server = Server::over(link, &limits()).unwrap();
        server.serve(|tag, request, reply| {
            assert!(request.len() <= BYTES);
            reply[..request.len()].copy_from_slice(request);
            (tag, request.len())
        })
    })
}

/// An honest server, and a client that has met it and keeps to nothing from here on: what the server gave it, and their socket.
fn served(way: Way) -> (thread::JoinHandle<Result<(), Failed>>, OwnedFd, UnixStream) {
    let (mut here, there) = UnixStream::pair().unwrap();
    let serving = serving(there);
    here.write_all(&hello(way, BYTES as u32)).unwrap();
    let given = descriptor::receive(&here).unwrap().pop().unwrap();
    here.read_exact(&mut [0; 3]).unwrap();
    (serving, given, here)
}

/// How an honest client's first request ends where a server gives it that.
fn asks(way: Way, given: &OwnedFd, then: impl FnOnce(&mut UnixStream)) -> Result<(u16, usize), Failed> {
    let (here, mut there) = UnixStream::pair().unwrap();
    let asking =
        thread::spawn(move || Client::over(here, &options(way)).unwrap().call(3, b"please", &mut [0; BYTES]));
    agrees(&mut there, &[given]);
    then(&mut there);
    asking.join().unwrap()
}

/// What a server says when it agrees.
fn agrees(link: &mut UnixStream, given: &[impl AsFd]) {
    link.read_exact(&mut [0; 16]).unwrap();
    descriptor::send_with(link, &[0; 4], given).unwrap();
}

fn sockets(of: SocketType) -> (OwnedFd, OwnedFd) {
    socketpair(AddressFamily::UNIX, of, SocketFlags::CLOEXEC, None).unwrap()
}

#[test]
fn a_server_refuses_a_greeting_that_is_none() {
    let long = hello(Way::Handoff, 128);
    let odd = hello(Way::Seqpacket, 63);
    let none = hello(Way::Seqpacket, 0);
    let huge = hello(Way::Handoff, u32::MAX);
    let mut unknown = hello(Way::Handoff, 64);
    unknown[6] = 2;
    let mut newer = hello(Way::Handoff, 64);
    newer[4] = 2;
    let mut more = hello(Way::Handoff, 64);
    more[15] = 1;
    for (greeting, code) in
        [(long, 3), (odd, 3), (none, 3), (huge, 3), (unknown, 2), (newer, 1), (more, 1), (vec![7; 64], 1)]
    {
        let (mut here, there) = UnixStream::pair().unwrap();
        here.write_all(&greeting).unwrap();
        let error = Server::over(there, &limits()).err().unwrap();
        assert!(error.to_string().contains("not given"), "{error}");
        let mut answer = [0; 4];
        here.read_exact(&mut answer).unwrap();
        assert_eq!(answer, [code, 0, 0, 0]);
    }
}

/// Who says nothing, too little, or each byte late, has a second in all.
#[test]
fn a_server_waits_for_a_second_in_all() {
    let (silent, nothing) = UnixStream::pair().unwrap();
    let (mut slow, piecewise) = UnixStream::pair().unwrap();
    let (gone, closed) = UnixStream::pair().unwrap();
    drop(gone);
    let (ended, is_ended) = channel::<()>();
    let speaking = thread::spawn(move || {
        for byte in hello(Way::Handoff, 64) {
            let waits = is_ended.recv_timeout(Duration::from_millis(700)) == Err(RecvTimeoutError::Timeout);
            if !waits || slow.write_all(&[byte]).is_err() {
                break;
            }
        }
    });
    assert!(Server::over(closed, &limits()).is_err());
    let waiting = thread::spawn(move || Server::over(nothing, &limits()).is_err());
    // All of it, byte by byte, lasts for more than 10 s: a server that waits for each anew agrees in the end.
    assert!(Server::over(piecewise, &limits()).is_err());
    assert!(waiting.join().unwrap());
    drop((silent, ended));
    speaking.join().unwrap();
}

#[test]
fn a_server_takes_no_descriptors() {
    let (here, there) = UnixStream::pair().unwrap();
    descriptor::send_with(&here, &hello(Way::Handoff, 64), &[tempfile::tempfile().unwrap()]).unwrap();
    assert!(Server::over(there, &limits()).is_err());
}

/// What a client takes neither for memory nor for a socket.
#[test]
fn a_client_refuses_what_is_not_what_it_should_be() {
    let memory = |bytes: u64, seals: SealFlags| {
        let memory = memfd_create("hostile", MemfdFlags::ALLOW_SEALING).unwrap();
        ftruncate(&memory, bytes).unwrap();
        fcntl_add_seals(&memory, seals).unwrap();
        memory
    };
    let all = SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL;
    let page = rustix::param::page_size() as u64;
    let wrong: Vec<(&str, OwnedFd)> = vec![
        ("a file", tempfile::tempfile().unwrap().into()),
        ("a pipe", rustix::pipe::pipe().unwrap().0),
        ("a socket of bytes", sockets(SocketType::STREAM).0),
        ("memory that can shrink", memory(page, SealFlags::GROW)),
        ("memory that is empty", memory(0, all)),
        ("memory that is large", memory(64 << 20, all)),
        ("memory that cannot be written", memory(page, all | SealFlags::WRITE)),
    ];
    for (what, given) in &wrong {
        for way in [Way::Handoff, Way::Seqpacket] {
            let (here, mut there) = UnixStream::pair().unwrap();
            let asking = thread::spawn(move || Client::over(here, &options(way)).err());
            agrees(&mut there, &[given]);
            assert!(asking.join().unwrap().is_some(), "{what} is taken by {way:?}");
        }
    }
    for way in [Way::Handoff, Way::Seqpacket] {
        let pair = sockets(SocketType::SEQPACKET);
        let good = SharedPages::new(1).unwrap();
        let (here, mut there) = UnixStream::pair().unwrap();
        let asking = thread::spawn(move || Client::over(here, &options(way)).err());
        agrees(&mut there, &[pair.0.as_fd(), good.as_fd()]);
        assert!(asking.join().unwrap().is_some(), "two descriptors are taken");
        let (here, mut there) = UnixStream::pair().unwrap();
        let asking = thread::spawn(move || Client::over(here, &options(way)).err());
        agrees(&mut there, &[] as &[OwnedFd]);
        assert!(asking.join().unwrap().is_some(), "no descriptor is taken");
        for code in [1, 2, 3, 200] {
            let (here, mut there) = UnixStream::pair().unwrap();
            let asking = thread::spawn(move || Client::over(here, &options(way)).err().unwrap().to_string());
            there.read_exact(&mut [0; 16]).unwrap();
            there.write_all(&[code, 0, 0, 0]).unwrap();
            assert!(asking.join().unwrap().contains("does not agree"));
        }
    }
    let (alone, _) = UnixStream::pair().unwrap();
    assert!(Client::over(alone, &options(Way::Handoff)).is_err());
    for bytes in [0, 65_473, usize::MAX] {
        let link = UnixStream::pair().unwrap().0;
        assert!(Client::over(link, &Options { bytes, ..Options::default() }).is_err());
    }
}

fn datagram(tag: u16, zero: u16, says: u32, has: usize) -> Vec<u8> {
    let mut datagram = tag.to_le_bytes().to_vec();
    datagram.extend(zero.to_le_bytes());
    datagram.extend(says.to_le_bytes());
    datagram.resize(8 + has, 7);
    datagram
}

/// Datagrams that lie, as a server sees them and as a client does.
#[test]
fn datagrams_that_lie_are_told() {
    let lies = |says, has| Failed::Broken(Violation::Datagram { says, has });
    let cases = [
        (datagram(0, 0, 3, 4), lies(3, 4)),
        (datagram(0, 0, 4, 3), lies(4, 3)),
        (datagram(0, 1, 3, 3), Failed::Broken(Violation::Header)),
        (datagram(0, 0, 64, 65), lies(64, 65)),
        (datagram(0, 0, 64, 5000), lies(64, 5000)),
        (datagram(0, 0, 65, 65), Failed::Broken(Violation::Bytes(65))),
        (datagram(0, 0, u32::MAX, 0), Failed::Broken(Violation::Bytes(u32::MAX))),
        (Vec::new(), Failed::Gone),
    ];
    for (datagram, told) in &cases {
        let (serving, socket, _link) = served(Way::Seqpacket);
        send(&socket, datagram, SendFlags::NOSIGNAL).unwrap();
        let ended = serving.join().unwrap();
        assert_eq!(ended, if *told == Failed::Gone { Ok(()) } else { Err(*told) });

        let (given, kept) = sockets(SocketType::SEQPACKET);
        send(&kept, datagram, SendFlags::NOSIGNAL).unwrap();
        assert_eq!(asks(Way::Seqpacket, &given, |_| ()), Err(*told));
    }
    // A header that is cut off is none, whatever stood there before.
    for cut in 1..8 {
        let (serving, socket, _link) = served(Way::Seqpacket);
        send(&socket, &datagram(0, 0, 9, 0)[..cut], SendFlags::NOSIGNAL).unwrap();
        drop(socket);
        assert_eq!(serving.join().unwrap(), Err(Failed::Broken(Violation::Header)), "{cut} bytes");
    }
}

/// A client that asks and asks and takes no reply is told from one that is slow.
#[test]
fn a_server_does_not_wait_for_who_takes_no_replies() {
    let (serving, socket, _link) = served(Way::Seqpacket);
    for _ in 0..100_000 {
        if send(&socket, &datagram(0, 0, 64, 64), SendFlags::NOSIGNAL).is_err() {
            break;
        }
    }
    assert_eq!(serving.join().unwrap(), Err(Failed::Broken(Violation::Socket)));
}

/// A server keeps the description of the client's socket, and with it its flags.
#[test]
fn a_socket_that_no_longer_waits_is_told() {
    let (given, _kept) = sockets(SocketType::SEQPACKET);
    fcntl_setfl(&given, OFlags::RDWR | OFlags::NONBLOCK).unwrap();
    assert_eq!(asks(Way::Seqpacket, &given, |_| ()), Err(Failed::Broken(Violation::Socket)));
}

/// Wakes who sleeps on the turn.
fn wakes(memory: &SharedPages) {
    let half = memory.words()[0].as_ptr().cast();
    // SAFETY: the low half of a word that is mapped for as long as the memory is.
    let half = unsafe { std::sync::atomic::AtomicU32::from_ptr(half) };
    let _ = rustix::thread::futex::wake(half, rustix::thread::futex::Flags::empty(), 1);
}

/// Words that mean nothing, or take a turn that was not theirs: the client waits for its reply meanwhile.
#[test]
fn turns_that_are_taken_are_told() {
    let memory = SharedPages::new(1).unwrap();
    let given = memory.as_fd().try_clone_to_owned().unwrap();
    for (word, told) in [
        (4, Violation::Turn(4)),
        (0x8000, Violation::Turn(0x8000)),
        (1, Violation::Turn(1)),
        (65 << 48, Violation::Bytes(65)),
        (u64::MAX, Violation::Turn(u32::MAX)),
    ] {
        memory.words()[0].store(0, Ordering::SeqCst);
        let ended = asks(Way::Handoff, &given, |_| {
            eventually("it has asked", || memory.words()[0].load(Ordering::SeqCst) & 1 != 0);
            memory.words()[0].store(word, Ordering::SeqCst);
            wakes(&memory);
        });
        assert_eq!(ended, Err(Failed::Broken(told)), "{word:#x}");
    }
}

/// The server's memory is written to by chance, and at any moment: it answers or tells what is wrong, and ends when the client does. Of a word that
/// stays and is none it tells always.
#[test]
fn a_server_outlives_any_word_at_any_moment() {
    const WORDS: u32 = 50_000;
    for round in 0..60u64 {
        let (serving, given, link) = served(Way::Handoff);
        let memory = SharedPages::from_fd(given).unwrap();
        let mut state = round.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        for number in 0..WORDS {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            // Mostly as a client would, with lengths on both sides of the limit.
            let word = match state % 16 {
                0 => state,
                1..4 => state % 4,
                _ => 1 | (state >> 8 & 0xffff) << 32 | ((state >> 24) % (64 + round % 2)) << 48,
            };
            memory.words()[(state >> 40) as usize % 2 * 8].store(word, Ordering::Relaxed);
            if number.is_multiple_of(1000) {
                wakes(&memory);
                thread::yield_now();
            }
        }
        let is_told = round % 2 == 1;
        if is_told {
            eventually("the server tells of a word that is none", || {
                memory.words()[0].store(u64::MAX, Ordering::SeqCst);
                wakes(&memory);
                serving.is_finished()
            });
        }
        drop(link);
        let ended = serving.join().unwrap();
        assert!(matches!(ended, Err(Failed::Broken(_))) || ended == Ok(()) && !is_told, "{round}: {ended:?}");
    }
}

proptest! {
    #![proptest_config(proptest::test_runner::Config { cases: 200, failure_persistence: None, ..Default::default() })]

    /// Whatever datagrams come: each that is a request is answered by itself, and the first that is none ends it.
    #[test]
    fn a_server_answers_datagrams_that_are_requests(
        all in proptest::collection::vec(
            (any::<u16>(), prop_oneof![9 => Just(0u16), 1 => any::<u16>()], 0..70u32, prop_oneof![9 => Just(0i32), 1 => -3..3]),
            0..8,
        )
    ) {
        let (serving, socket, _link) = served(Way::Seqpacket);
        let mut is_broken = false;
        for (tag, zero, says, off) in all {
            let has = (says as i32 + off).max(0) as usize;
            let asked = datagram(tag, zero, says, has);
            send(&socket, &asked, SendFlags::NOSIGNAL).unwrap();
            is_broken = zero != 0 || has != says as usize || says > 64;
            let mut reply = [0; 100];
            let (_, bytes) = rustix::net::recv(&socket, &mut reply[..], rustix::net::RecvFlags::empty()).unwrap();
            assert_eq!(&reply[..bytes], if is_broken { &[][..] } else { &asked[..] });
            if is_broken {
                break;
            }
        }
        drop(socket);
        assert_eq!(serving.join().unwrap().is_err(), is_broken);
    }
}
