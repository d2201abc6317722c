//! Clients that leave in the middle of something, or say what is no message: the stack goes on serving the others, and their places are
//! taken again.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use tollway_channel::linux::{Limits, Server, plain};
use tollway_host::descriptor::{accept, connect, listen_anonymously};
use tollway_ipc::engine::tcp::{
    BYTES, Client, Network, Running, Speaker, Stack, Style, answer, check, request,
};

use crate::setting::{HANG_TIMEOUT, STYLES, Served, answers_while, connected, may};

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
        for turn in 0..60u32 {
            let mut leaves = connected(&served.network);
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
            asks(&mut stream, at as u32, 5);
        }
        let counts = served.end();
        println!("{style:?}: {counts:?}");
        assert_eq!(counts.malformed, 10, "one for each that was no message");
    }
}

/// A stack whose application says when a request has come, and answers it when it is let.
struct Held {
    network: Network,
    stack: Running,
    application: thread::JoinHandle<()>,
    came: Receiver<()>,
    go_on: Sender<()>,
}

fn held(style: Style) -> Held {
    let (listener, name) = listen_anonymously().unwrap();
    let (comes, came) = channel();
    let (go_on, goes_on) = channel();
    let replies = move |says: u16, request: &[u8], reply: &mut [u8]| {
        comes.send(()).unwrap();
        goes_on.recv().unwrap();
        (says, answer(request, reply))
    };
    let serves = move |link: UnixStream| match style {
        Style::Asynchronous => Server::over(link, &Limits::default()).unwrap().serve(replies).unwrap(),
        Style::Synchronous(_) => {
            plain::Server::over(link, &plain::Limits::default()).unwrap().serve(replies).unwrap();
        }
    };
    let application = thread::spawn(move || serves(accept(&listener).unwrap()));
    let network = Network::new(Speaker::Program).unwrap();
    let stack = Stack::open(&network, 1).unwrap();
    let stack = Running::start(stack, style, move || connect(&name), None).unwrap();
    Held { network, stack, application, came, go_on }
}

#[test]
fn a_place_is_taken_again_only_when_its_reply_has_come() {
    if !may() {
        return;
    }
    for style in STYLES {
        let Held { network, stack, application, came, go_on } = held(style);
        for turn in 0..5 {
            let mut leaves = connected(&network);
            leaves.write_all(&request(1, turn)).unwrap();
            // The request is with the application when the next one comes: its reply is none of theirs.
            came.recv().unwrap();
            drop(leaves);
            let address = Network::APPLICATION.into();
            let early = network.client().run(|| TcpStream::connect_timeout(&address, HANG_TIMEOUT)).unwrap();
            assert_eq!(early.unwrap_err().kind(), ErrorKind::ConnectionRefused, "{style:?}");
            go_on.send(()).unwrap();
            let mut next = connected(&network);
            go_on.send(()).unwrap();
            asks(&mut next, 2, turn);
            came.recv().unwrap();
        }
        let counts = stack.stop().unwrap();
        println!("{style:?}: {counts:?}");
        assert_eq!(counts.malformed, 0);
        assert_eq!((counts.requests, counts.replies + counts.late), (10, 10));
        application.join().unwrap();
    }
}

#[test]
fn many_come_and_go_beside_a_client_that_stays() {
    if !may() {
        return;
    }
    const STAY: usize = 6;
    const LEAVE: u32 = 500;
    for style in STYLES {
        let served = Served::start(style, STAY + 2);
        let mut client = served.client(STAY);
        let answered: u64 = thread::scope(|scope| {
            let network = &served.network;
            let leaver = scope.spawn(move || {
                for turn in 0..LEAVE {
                    connected(network).write_all(&request(99, turn)).unwrap();
                }
            });
            answers_while(&mut client, STAY, |_| !leaver.is_finished()).iter().sum()
        });
        drop::<Client>(client);
        let counts = served.end();
        println!("{style:?}: {answered} answered: {counts:?}");
        assert_eq!(counts.malformed, 0);
        assert!(counts.replies >= answered);
    }
}
