//! Clients that leave in the middle of something, or say what is no message: the stack goes on serving the others, and their places are
//! taken again.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::unix::net::UnixStream;
use std::thread;
use std::time::{Duration, Instant};

use tollway_channel::linux::{Limits, Server, plain};
use tollway_host::descriptor::{accept, connect, listen_anonymously};
use tollway_ipc::engine::tcp::{
    BYTES, Client, Network, Running, Speaker, Stack, Style, answer, check, request,
};

use crate::setting::{PATIENT, STYLES, Served, after, may, until};

/// A connection; the place of one that has just ended may not listen yet.
fn connected(network: &Network) -> TcpStream {
    let begun = Instant::now();
    network
        .client()
        .run(|| {
            loop {
                match TcpStream::connect_timeout(&Network::APPLICATION.into(), PATIENT) {
                    Ok(stream) => return stream,
                    Err(error)
                        if error.kind() == ErrorKind::ConnectionRefused && begun.elapsed() < PATIENT =>
                    {
                        thread::sleep(Duration::from_millis(1));
                    }
                    Err(error) => panic!("{error}"),
                }
            }
        })
        .unwrap()
}

fn asks(stream: &mut TcpStream, connection: u32, number: u32) {
    let mut reply = [0; BYTES];
    stream.write_all(&request(connection, number)).unwrap();
    stream.read_exact(&mut reply).unwrap();
    check(&reply, connection, number).unwrap();
}

#[test]
fn whoever_leaves_makes_room() {
    if !may() {
        return;
    }
    const CONNECTIONS: usize = 3;
    for style in STYLES {
        let served = Served::start(style, CONNECTIONS);
        let mut stays = connected(&served.network);
        stays.set_read_timeout(Some(PATIENT)).unwrap();
        for turn in 0..60u32 {
            let mut leaves = connected(&served.network);
            leaves.set_read_timeout(Some(PATIENT)).unwrap();
            match turn % 6 {
                // Says nothing.
                0 => {}
                // Half a message.
                1 => leaves.write_all(&request(7, turn)[..BYTES / 2]).unwrap(),
                // A message whose reply it does not wait for.
                2 => leaves.write_all(&request(7, turn)).unwrap(),
                // Several at once, of which it reads the first replies only: what is unread makes its end a reset.
                3 => {
                    let many: Vec<u8> = (0..20).flat_map(|number| request(7, number)).collect();
                    leaves.write_all(&many).unwrap();
                    let mut reply = [0; BYTES];
                    leaves.read_exact(&mut reply).unwrap();
                    check(&reply, 7, 0).unwrap();
                }
                // Ends its own half, and is answered nevertheless.
                4 => {
                    leaves.write_all(&request(7, turn)).unwrap();
                    leaves.shutdown(Shutdown::Write).unwrap();
                    let mut all = Vec::new();
                    leaves.read_to_end(&mut all).unwrap();
                    check(&all.try_into().unwrap(), 7, turn).unwrap();
                }
                // What is no message.
                _ => {
                    leaves.write_all(&[0xa5; BYTES]).unwrap();
                    let ended = leaves.read(&mut [0; BYTES]).unwrap_err();
                    assert_eq!(ended.kind(), ErrorKind::ConnectionReset, "{ended}");
                }
            }
            drop(leaves);
            asks(&mut stays, 1, turn);
        }
        drop(stays);
        // Every place can be had again, at once.
        let streams: Vec<_> = (0..CONNECTIONS).map(|_| connected(&served.network)).collect();
        for (at, mut stream) in streams.into_iter().enumerate() {
            stream.set_read_timeout(Some(PATIENT)).unwrap();
            asks(&mut stream, at as u32, 5);
        }
        let counts = served.end();
        println!("{style:?}: {counts:?}");
        assert_eq!(counts.malformed, 10, "one for each that was no message");
    }
}

/// A stack whose application takes its time.
fn slow(style: Style, pause: Duration) -> (Network, Running, thread::JoinHandle<()>) {
    let (listener, name) = listen_anonymously().unwrap();
    let serves = move |link: UnixStream| match style {
        Style::Asynchronous => {
            let mut server = Server::over(link, &Limits::default()).unwrap();
            server
                .serve(|says, request, reply| {
                    thread::sleep(pause);
                    (says, answer(request, reply))
                })
                .unwrap();
        }
        Style::Synchronous(_) => {
            let mut server = plain::Server::over(link, &plain::Limits::default()).unwrap();
            server
                .serve(|says, request, reply| {
                    thread::sleep(pause);
                    (says, answer(request, reply))
                })
                .unwrap();
        }
    };
    let application = thread::spawn(move || serves(accept(&listener).unwrap()));
    let network = Network::new(Speaker::Program).unwrap();
    let stack = Stack::open(&network, 1).unwrap();
    let stack = Running::start(stack, style, move || connect(&name), None).unwrap();
    (network, stack, application)
}

#[test]
fn a_place_is_taken_again_only_when_its_reply_has_come() {
    if !may() {
        return;
    }
    for style in STYLES {
        let (network, stack, application) = slow(style, Duration::from_millis(30));
        for turn in 0..5 {
            let mut leaves = connected(&network);
            leaves.write_all(&request(1, turn)).unwrap();
            // The request is with the application by the time that the next one comes: its reply is none of theirs.
            thread::sleep(Duration::from_millis(10));
            drop(leaves);
            let mut next = connected(&network);
            next.set_read_timeout(Some(PATIENT)).unwrap();
            asks(&mut next, 2, turn);
        }
        let counts = stack.stop().unwrap();
        println!("{style:?}: {counts:?}");
        assert_eq!(counts.malformed, 0);
        assert_eq!(counts.requests, counts.replies + counts.late);
        application.join().unwrap();
    }
}

#[test]
fn many_come_and_go_beside_a_client_that_stays() {
    if !may() {
        return;
    }
    const STAY: usize = 6;
    for style in STYLES {
        let served = Served::start(style, STAY + 2);
        let mut client = served.client(STAY);
        let end = after(Duration::from_millis(300));
        let mut answered = 0u64;
        let left = thread::scope(|scope| {
            let network = &served.network;
            let leaver = scope.spawn(move || {
                let begun = Instant::now();
                let mut left = 0;
                while begun.elapsed() < Duration::from_millis(300) {
                    let mut leaves = connected(network);
                    leaves.write_all(&request(99, left)).unwrap();
                    left += 1;
                }
                left
            });
            client.run(until(end, |_| answered += 1)).unwrap();
            leaver.join().unwrap()
        });
        drop::<Client>(client);
        let counts = served.end();
        println!("{style:?}: {answered} answered, {left} left: {counts:?}");
        assert!(answered > 0 && left > 0);
        assert_eq!(counts.malformed, 0);
        assert!(counts.replies >= answered);
    }
}
