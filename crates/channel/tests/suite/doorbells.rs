//! Doorbells alone: an end wakes the other with nothing in the rings.

use std::os::unix::net::UnixStream;

use tollway_channel::linux::{Client, Limits, Notice, Options, Server};
use tollway_channel::wait::{Gone, Patience};

use crate::asleep::Thread;

fn options(notice: Notice) -> Options {
    let patience = Some(Patience { spin: 0, yields: 0 });
    Options { slots: 8, bytes: 128, notice, patience, ..Options::default() }
}

/// With nothing in the rings: each end is nudged as often as it nudges the other, is woken if it sleeps, and learns that the other is gone.
#[test]
fn ends_wake_each_other_by_their_doorbells_alone() {
    for notice in [Notice::Futex, Notice::Eventfd] {
        let (here, there) = UnixStream::pair().unwrap();
        let (tell, told) = std::sync::mpsc::channel();
        let answering = std::thread::spawn(move || {
            tell.send(Thread::here()).unwrap();
            let mut server = Server::over(there, &Limits::default()).unwrap();
            (server.nudged(), server.counts().notices)
        });
        let mut client = Client::over(here, &options(notice)).unwrap();
        for _ in 0..500 {
            client.nudge().unwrap();
        }
        told.recv().unwrap().falls_asleep();
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
