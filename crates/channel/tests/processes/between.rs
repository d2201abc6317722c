//! Two processes: they meet, ask and answer, sleep and are woken, and are told when the other is killed.

use std::os::unix::net::UnixStream;

use tollway_channel::linux::{Client, Failed, Limits, Notice, Options, Server};
use tollway_channel::wait::Patience;

use crate::asleep::Thread;
use crate::other::{NEVER, ONCE_ASLEEP, Other, SLEEPY, answers, link};
use crate::watched::watched;

/// The next test, as a process of its own.
const SERVES: &str = "between::serves";

#[test]
#[ignore = "the other tests start it, as a process of its own"]
fn serves() {
    let limits = Limits { patience: SLEEPY, ..Limits::default() };
    Server::over(link(), &limits).unwrap().serve(answers).unwrap();
}

fn options(notice: Notice) -> Options {
    Options { slots: 8, bytes: 128, notice, patience: SLEEPY, ..Options::default() }
}

#[test]
fn replies_come_whether_one_sleeps_or_looks() {
    let _watched = watched();
    for notice in [Notice::Futex, Notice::Eventfd] {
        for (patience, sleeps) in
            [(SLEEPY, true), (None, true), (Some(Patience { spin: u64::MAX, yields: 0 }), false)]
        {
            let (other, link) = Other::start(SERVES, &[]);
            let mut client = Client::over(link, &Options { patience, ..options(notice) }).unwrap();
            for number in 0..500u64 {
                if number % 250 == 0 {
                    other.falls_asleep();
                }
                let mut reply = [0; 8];
                let tag = if number % 250 == 0 && sleeps { ONCE_ASLEEP } else { 0 };
                assert_eq!(client.call(tag, &number.to_le_bytes(), &mut reply), Ok((tag + 1, 8)));
                assert_eq!(u64::from_be_bytes(reply), number);
            }
            let counts = client.counts();
            if patience == SLEEPY {
                // Those two times at least.
                assert!(counts.waits.asleep >= 2 && counts.notices >= 2, "{counts:?}");
            }
            drop(client);
            assert!(other.ends(), "a server whose client has gone does not end");
        }
    }
}

#[test]
fn several_are_on_their_way_at_once() {
    let _watched = watched();
    let (_other, link) = Other::start(SERVES, &[]);
    let mut client = Client::over(link, &options(Notice::Futex)).unwrap();
    let mut asked = [0; 8];
    let (mut sent, mut came) = (0u8, 0);
    while came < 200 {
        while sent < 200 && client.in_flight() < 8 {
            let slot = client.send(0, &[sent, 1, 2]).unwrap();
            asked[usize::from(slot)] = sent;
            sent += 1;
        }
        client.wait().unwrap();
        while let Some(reply) = client.take().unwrap() {
            let mut bytes = [0; 3];
            assert_eq!(client.read(&reply, &mut bytes), 3);
            assert_eq!(bytes, [2, 1, asked[usize::from(reply.slot())]]);
            client.release(reply);
            came += 1;
        }
    }
}

/// The server sleeps in the middle of a request, and is killed: the client learns it, whether it sleeps or looks.
#[test]
fn a_client_is_told_that_its_server_was_killed() {
    let _watched = watched();
    for notice in [Notice::Futex, Notice::Eventfd] {
        for patience in [SLEEPY, None] {
            let (other, link) = Other::start(SERVES, &[]);
            let mut client = Client::over(link, &Options { patience, ..options(notice) }).unwrap();
            client.call(0, &[1], &mut [0]).unwrap();
            client.send(NEVER, &[1]).unwrap();
            client.flush();
            let killed = other.killed_once_stopped(Some(Thread::here()));
            assert_eq!(client.call(0, &[2], &mut [0]), Err(Failed::Gone));
            killed.join().unwrap();
            // However often it asks: there are 8 slots.
            for _ in 0..10 {
                assert_eq!(client.call(0, &[2], &mut [0]), Err(Failed::Gone));
            }
        }
    }
}

/// Who asks for more than it is given is told so.
#[test]
fn a_server_allows_what_it_allows() {
    let (here, there) = UnixStream::pair().unwrap();
    let answering =
        std::thread::spawn(move || Server::over(there, &Limits { slots: 4, ..Limits::default() }).is_err());
    let error = Client::over(here, &options(Notice::Futex)).err().unwrap().to_string();
    assert!(error.contains("more than it allows"), "{error}");
    assert!(answering.join().unwrap());
}

/// What a client may send that keeps to nothing: a server refuses it and lives.
#[test]
fn a_greeting_that_is_none_is_refused() {
    let _watched = watched();
    use std::io::Write;
    use std::os::fd::AsFd;

    let tries: [&dyn Fn(&UnixStream); 3] =
        [&|_| {}, &|mut link| link.write_all(&[7; 64]).unwrap(), &|link| {
            let file = tempfile::tempfile().unwrap();
            let hello = b"TWch\x01\0\0\0\x08\0\0\0\x80\0\0\0";
            tollway_host::descriptor::send_with(link, hello, &[file.as_fd()]).unwrap();
        }];
    for greet in tries {
        let (here, there) = UnixStream::pair().unwrap();
        let answering = std::thread::spawn(move || Server::over(there, &Limits::default()).is_err());
        greet(&here);
        assert!(answering.join().unwrap());
    }
}
