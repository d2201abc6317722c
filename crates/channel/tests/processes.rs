//! Two processes: they meet, ask and answer, sleep and are woken, and are told when the other is killed.

mod other;

use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use other::{Other, SLEEPY, answers, link};
use tollway_channel::linux::{Client, Failed, Limits, Notice, Options, Server};
use tollway_channel::wait::{Gone, Patience};

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
    for notice in [Notice::Futex, Notice::Eventfd] {
        for patience in [SLEEPY, None, Some(Patience { spin: u64::MAX, yields: 0 })] {
            let (other, link) = Other::start(&[]);
            let mut client = Client::over(link, &Options { patience, ..options(notice) }).unwrap();
            for number in 0..500u64 {
                if number % 250 == 0 {
                    // The server sleeps by then.
                    std::thread::sleep(Duration::from_millis(20));
                }
                let mut reply = [0; 8];
                let tag = if number % 250 == 0 { 1007 } else { 0 };
                assert_eq!(client.call(tag, &number.to_le_bytes(), &mut reply), Ok((tag + 1, 8)));
                assert_eq!(u64::from_be_bytes(reply), number);
            }
            let counts = client.counts();
            if patience == SLEEPY {
                // Those two times at least.
                assert!(counts.waits.asleep >= 2 && counts.notices >= 2, "{counts:?}");
            }
            drop(client);
            assert!(other.ended(), "a server whose client has gone does not end");
        }
    }
}

/// With nothing in the rings: each end is nudged as often as it nudges the other, is woken if it sleeps, and learns that the other is gone.
#[test]
fn ends_wake_each_other_by_their_doorbells_alone() {
    for notice in [Notice::Futex, Notice::Eventfd] {
        let (here, there) = UnixStream::pair().unwrap();
        let answering = std::thread::spawn(move || {
            let mut server = Server::over(there, &Limits::default()).unwrap();
            (server.nudged(), server.counts().notices)
        });
        let mut client = Client::over(here, &options(notice)).unwrap();
        for _ in 0..500 {
            client.nudge().unwrap();
        }
        // The server sleeps by then.
        std::thread::sleep(Duration::from_millis(20));
        client.nudge().unwrap();
        let notices = client.counts().notices;
        assert!((1..=501).contains(&notices), "{notice:?}: {notices}");
        drop(client);
        let (times, notices) = answering.join().unwrap();
        assert!(times == 501 && notices <= 501, "{notice:?}: {times}, {notices}");

        let (here, there) = UnixStream::pair().unwrap();
        let leaving = std::thread::spawn(move || drop(Server::over(there, &Limits::default()).unwrap()));
        let mut client = Client::over(here, &options(notice)).unwrap();
        leaving.join().unwrap();
        assert_eq!(client.nudge(), Err(Gone), "{notice:?}");
    }
}

#[test]
fn several_are_on_their_way_at_once() {
    let (_other, link) = Other::start(&[]);
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
    for notice in [Notice::Futex, Notice::Eventfd] {
        for patience in [SLEEPY, None] {
            let (other, link) = Other::start(&[]);
            let mut client = Client::over(link, &Options { patience, ..options(notice) }).unwrap();
            client.call(0, &[1], &mut [0]).unwrap();
            client.send(60_000, &[1]).unwrap();
            client.flush();
            let killed = other.killed_after(Duration::from_millis(50));
            assert_eq!(client.call(0, &[2], &mut [0]), Err(Failed::Gone));
            let told = Instant::now();
            assert!(told < killed.join().unwrap() + Duration::from_secs(10));
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
        let begun = Instant::now();
        assert!(answering.join().unwrap());
        assert!(begun.elapsed() < Duration::from_secs(5));
    }
}
