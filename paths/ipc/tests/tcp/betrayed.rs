//! An application that lies, falls silent or is killed: the stack tells, its clients are told, and nothing panics or hangs.

use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::sync::mpsc::channel;
use std::thread;

use tollway_channel::linux::{Limits, Server, plain};
use tollway_host::descriptor::{accept, connect, listen_anonymously};
use tollway_ipc::engine::tcp::{
    Application, BYTES, Client, Network, Running, Speaker, Stack, Style, answer, check, request,
};

use crate::eventually::eventually;
use crate::other::{self, Other};
use crate::setting::{STYLES, connected, may};

const CONNECTIONS: usize = 4;

#[test]
#[ignore = "the other tests start it, as a process of its own"]
fn an_application() {
    let style = other::style();
    let (listener, name) = listen_anonymously().unwrap();
    let application = Application::start(listener, style, style.links(CONNECTIONS), None).unwrap();
    other::says(&name);
    other::lasts();
    drop(application);
}

#[test]
fn an_application_that_is_killed_is_told_of() {
    if !may() {
        return;
    }
    for (number, style) in STYLES.into_iter().enumerate() {
        for replies in [0, 1, 100, 3000] {
            let (other, name) = Other::start("betrayed::an_application", number, &[]);
            let network = Network::new(Speaker::Program).unwrap();
            let stack = Stack::open(&network, CONNECTIONS).unwrap();
            let stack = Running::start(stack, style, move || connect(&name), None).unwrap();
            let mut client = Client::connect(network.client(), Network::APPLICATION, CONNECTIONS).unwrap();
            let (tell, told) = channel();
            let killer = thread::spawn(move || {
                told.iter().take(replies).for_each(drop);
                drop(other);
                told
            });
            let error = client.run(move |_| tell.send(()).is_ok()).unwrap_err().to_string();
            assert!(error.contains("connection"), "{style:?}: {error}");
            killer.join().unwrap();
            eventually("the stack notices that its application is gone", || stack.is_over());
            let error = stack.stop().unwrap_err().to_string();
            println!("{style:?} after {replies} replies: {error}");
            assert!(error.contains("application"), "{error}");
        }
    }
}

/// A stack whose application says what `lies` makes of each reply: its tag and its bytes.
fn lied_to(
    style: Style,
    lies: fn(u32, &mut u16, &mut Vec<u8>),
) -> (Network, Running, thread::JoinHandle<()>) {
    let (listener, name) = listen_anonymously().unwrap();
    let network = Network::new(Speaker::Program).unwrap();
    let links = style.links(CONNECTIONS);
    let serves = move |link: UnixStream| {
        let mut turn = 0;
        let mut replies = move |says: u16, request: &[u8], room: &mut [u8]| {
            let mut reply = vec![0; BYTES];
            let bytes = answer(request, &mut reply);
            reply.truncate(bytes);
            let mut says = says;
            lies(turn, &mut says, &mut reply);
            turn += 1;
            let bytes = reply.len().min(room.len());
            room[..bytes].copy_from_slice(&reply[..bytes]);
            (says, bytes)
        };
        match style {
            Style::Asynchronous => {
                Server::over(link, &Limits::default()).unwrap().serve(replies).unwrap();
            }
            Style::Synchronous(_) => {
                let mut server = plain::Server::over(link, &plain::Limits::default()).unwrap();
                server.serve(&mut replies).unwrap();
            }
        }
    };
    let application = thread::spawn(move || {
        thread::scope(|scope| {
            for _ in 0..links {
                let link = accept(&listener).unwrap();
                scope.spawn(move || serves(link));
            }
        });
    });
    let stack = Stack::open(&network, CONNECTIONS).unwrap();
    let stack = Running::start(stack, style, move || connect(&name), None).unwrap();
    (network, stack, application)
}

#[test]
fn a_reply_that_is_none_ends_its_connection_and_no_other() {
    if !may() {
        return;
    }
    let lies: [fn(u32, &mut u16, &mut Vec<u8>); 4] = [
        // Of another connection, of none that there is, too short, empty: every third time, the others are true.
        |turn, says, _| {
            if turn % 3 == 2 {
                *says ^= 1;
            }
        },
        |turn, says, _| {
            if turn % 3 == 2 {
                *says = u16::MAX;
            }
        },
        |turn, _, reply| {
            if turn % 3 == 2 {
                reply.truncate(BYTES - 1);
            }
        },
        |turn, _, reply| {
            if turn % 3 == 2 {
                reply.clear();
            }
        },
    ];
    for style in STYLES {
        for lie in lies {
            let (network, stack, application) = lied_to(style, lie);
            let (mut true_ones, mut resets) = (0, 0);
            let mut stream: Option<TcpStream> = None;
            for number in 0..30 {
                let connection = stream.get_or_insert_with(|| connected(&network));
                let mut reply = [0; BYTES];
                connection.write_all(&request(3, number)).unwrap();
                match connection.read_exact(&mut reply) {
                    Ok(()) => {
                        check(&reply, 3, number).unwrap();
                        true_ones += 1;
                    }
                    Err(error) => {
                        assert_eq!(error.kind(), ErrorKind::ConnectionReset, "{error}");
                        resets += 1;
                        stream = None;
                    }
                }
            }
            drop(stream);
            let counts = stack.stop().unwrap();
            println!("{style:?}: {true_ones} true, {resets} resets, {counts:?}");
            assert!(true_ones > 0 && resets > 0);
            assert_eq!(u64::from(resets as u32), counts.malformed);
            application.join().unwrap();
        }
    }
}

/// A server that says more than it was asked: over one connection a reply comes twice, while the client waits for that over the other.
#[test]
fn a_reply_to_nothing_is_told_as_one() {
    if !may() {
        return;
    }
    let network = Network::new(Speaker::Linux).unwrap();
    let listener = network.server().run(|| TcpListener::bind(Network::APPLICATION).unwrap()).unwrap();
    thread::scope(|scope| {
        scope.spawn(|| {
            let [mut first, mut second] = [(); 2].map(|()| listener.accept().unwrap().0);
            let (mut message, mut reply) = ([0; BYTES], [0; BYTES]);
            first.read_exact(&mut message).unwrap();
            assert_eq!(answer(&message, &mut reply), BYTES);
            first.write_all(&[reply, reply].concat()).unwrap();
            // Until the client is gone, in whatever way.
            let _ = second.read_to_end(&mut Vec::new());
        });
        let mut client = Client::connect(network.client(), Network::APPLICATION, 2).unwrap();
        let error = client.run(|_| false).unwrap_err().to_string();
        assert!(error.contains("connection 0: a reply to nothing"), "{error}");
    });
}
