//! An end that waits for something else besides: its sleep ends by a descriptor or by the time, and nothing of the channel is lost by it.

use std::io::Write;
use std::os::unix::net::UnixStream;
use std::thread;
use std::time::{Duration, Instant};

use tollway_channel::coroutine::{Driver, Executor};
use tollway_channel::linux::{Client, Limits, Notice, Options, Server};
use tollway_channel::wait::Patience;

use crate::asleep::Thread;

const SLEEPY: Option<Patience> = Some(Patience { spin: 0, yields: 0 });

/// A client's end, and a server in a thread that answers with what it was asked.
fn pair(notice: Notice) -> (Client, thread::JoinHandle<()>) {
    let (client, server, _) = pair_and_thread(notice);
    (client, server)
}

/// And which thread that is.
fn pair_and_thread(notice: Notice) -> (Client, thread::JoinHandle<()>, Thread) {
    let (here, there) = UnixStream::pair().unwrap();
    let (tell, told) = std::sync::mpsc::channel();
    let server = thread::spawn(move || {
        tell.send(Thread::here()).unwrap();
        let mut server = Server::over(there, &Limits { patience: SLEEPY, ..Limits::default() }).unwrap();
        server
            .serve(|tag, request, reply| {
                reply[..request.len()].copy_from_slice(request);
                (tag, request.len())
            })
            .unwrap();
    });
    let options = Options { notice, patience: SLEEPY, ..Options::default() };
    (Client::over(here, &options).unwrap(), server, told.recv().unwrap())
}

#[test]
fn a_descriptor_ends_a_sleep() {
    let (client, server) = pair(Notice::Eventfd);
    let (calls, mut dispatcher) = client.into_calls();
    let (mut ours, theirs) = UnixStream::pair().unwrap();
    dispatcher.sleeps_on(theirs.into()).unwrap();
    let here = Thread::here();
    let teller = thread::spawn(move || {
        here.falls_asleep();
        ours.write_all(b"!").unwrap();
        ours
    });
    let mut looks = 0;
    // Looked at before the sleep, and then not before the descriptor says so.
    dispatcher
        .wait(&mut || {
            looks += 1;
            looks > 2
        })
        .unwrap();
    assert_eq!(looks, 3);
    let _open = teller.join().unwrap();
    drop((calls, dispatcher));
    server.join().unwrap();
}

#[test]
fn time_ends_a_sleep() {
    let (client, server) = pair(Notice::Eventfd);
    let (calls, mut dispatcher) = client.into_calls();
    let pause = Duration::from_millis(20);
    dispatcher.sleeps_for(Some(pause));
    let begun = Instant::now();
    dispatcher.wait(&mut || begun.elapsed() >= pause).unwrap();
    assert!(begun.elapsed() >= pause);
    drop((calls, dispatcher));
    server.join().unwrap();
}

#[test]
fn replies_come_beside_it() {
    let (client, server) = pair(Notice::Eventfd);
    let (calls, mut dispatcher) = client.into_calls();
    let (_ours, theirs) = UnixStream::pair().unwrap();
    dispatcher.sleeps_on(theirs.into()).unwrap();
    dispatcher.sleeps_for(None);
    let mut executor = Executor::new(4, dispatcher.rouser());
    for task in 0..4u16 {
        let calls = &calls;
        executor.spawn(0, async move {
            for number in 0..500u16 {
                let request = (u32::from(task) << 16 | u32::from(number)).to_ne_bytes();
                let mut reply = [0; 4];
                assert_eq!(calls.call(number, &request, &mut reply).await, Ok((number, 4)));
                assert_eq!(reply, request);
            }
        });
    }
    executor.run(&mut dispatcher).unwrap();
    drop(executor);
    drop((calls, dispatcher));
    server.join().unwrap();
}

#[test]
fn a_futex_is_no_descriptor() {
    let (client, server) = pair(Notice::Futex);
    let (calls, mut dispatcher) = client.into_calls();
    let (_ours, theirs) = UnixStream::pair().unwrap();
    let said = dispatcher.sleeps_on(theirs.into()).unwrap_err().to_string();
    assert!(said.contains("Notice::Eventfd"), "{said}");
    drop((calls, dispatcher));
    server.join().unwrap();
}

#[test]
fn a_server_that_has_nothing_to_do_is_left_asleep() {
    let (client, server, its_thread) = pair_and_thread(Notice::Eventfd);
    let (calls, mut dispatcher) = client.into_calls();
    // Awake before the first request, whether or not it sleeps by then.
    dispatcher.turn().unwrap();
    let before = dispatcher.counts().notices;
    for _ in 0..50 {
        its_thread.falls_asleep();
        dispatcher.turn().unwrap();
    }
    assert_eq!(dispatcher.counts().notices, before);
    drop((calls, dispatcher));
    server.join().unwrap();
}
