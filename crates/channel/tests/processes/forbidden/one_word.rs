//! Without futex_waitv(2) an end sleeps by its bell alone: it is woken nevertheless, by the other end and by threads of its own process, and is told
//! when the other end is gone.

use std::os::unix::net::UnixStream;
use std::thread;
use std::time::Duration;

use tollway_channel::Failed;
use tollway_channel::coroutine::{Executor, Lost, Stopped};
use tollway_channel::linux::kernel::{self, Both, Offer, Ring};
use tollway_channel::linux::{Client, Limits, Options, Server, plain};
use tollway_channel::wait::Patience;
use tollway_core::Requirement;
use tollway_host::requirement::{skip_test, test_has};

use super::ERRORS;
use super::apart::{is_without_waitv, succeeds_without};
use super::waked::{Wakes, is_waked};
use crate::asleep::others_fall_asleep;

/// Who sleeps at once.
const SLEEPY: Option<Patience> = Some(Patience { spin: 0, yields: 0 });

#[test]
fn ends_sleep_by_one_word_where_they_cannot_by_two() {
    for errno in ERRORS {
        for test in ["calls", "threads", "tasks", "plainly", "at_both"] {
            succeeds_without(&[libc::SYS_futex_waitv], errno, &format!("forbidden::one_word::{test}"));
        }
    }
}

fn meet() -> (Client, Server) {
    let (here, there) = UnixStream::pair().unwrap();
    let limits = Limits { patience: SLEEPY, ..Limits::default() };
    let answering = thread::spawn(move || Server::over(there, &limits).unwrap());
    let options = Options { slots: 4, patience: SLEEPY, ..Options::default() };
    (Client::over(here, &options).unwrap(), answering.join().unwrap())
}

/// Answers that number of requests and waits for one more. Where one comes the server ends, once all other threads sleep;
/// else it ends when the client has gone.
fn serves(mut server: Server, requests: u64) {
    let mut answered = 0;
    while server.wait().is_ok() {
        while let Some(request) = server.take().unwrap() {
            answered += 1;
            if answered > requests {
                others_fall_asleep();
                return;
            }
            let mut bytes = [0; 8];
            server.read(&request, &mut bytes);
            server.answer(request, 1, &bytes);
        }
        server.flush();
    }
    assert_eq!(answered, requests);
}

#[test]
#[ignore = "the test of this file starts it, where futex_waitv is forbidden"]
fn calls() {
    is_without_waitv();
    // Once the server goes first, which leaves the client's last request, and once the client.
    for last in [Some(Err(Failed::Gone)), None] {
        let (mut client, server) = meet();
        let serving = thread::spawn(move || serves(server, 500));
        for number in 0..500u64 {
            let mut reply = [0; 8];
            assert_eq!(client.call(0, &number.to_le_bytes(), &mut reply), Ok((1, 8)));
            assert_eq!(u64::from_le_bytes(reply), number);
        }
        assert!(client.counts().waits.asleep > 0, "it never slept: {:?}", client.counts());
        if let Some(last) = last {
            assert_eq!(client.call(0, &[], &mut []), last);
        } else {
            others_fall_asleep();
        }
        drop(client);
        serving.join().unwrap();
    }
}

/// Threads of one end: one of them sleeps for all, and is woken by the others.
#[test]
#[ignore = "the test of this file starts it, where futex_waitv is forbidden"]
fn threads() {
    is_without_waitv();
    let (client, server) = meet();
    let serving = thread::spawn(move || serves(server, 600));
    let caller = client.into_caller();
    thread::scope(|scope| {
        for thread in 0..3u64 {
            let caller = &caller;
            scope.spawn(move || {
                for number in 0..200 {
                    let (asked, mut reply) = (thread << 32 | number, [0; 8]);
                    assert_eq!(caller.call(0, &asked.to_le_bytes(), &mut reply), Ok((1, 8)));
                    assert_eq!(u64::from_le_bytes(reply), asked);
                }
            });
        }
    });
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| assert_eq!(caller.call(0, &[], &mut []), Err(Failed::Gone)));
        }
    });
    serving.join().unwrap();
}

/// A thread's tasks, one of which other threads wake.
#[test]
#[ignore = "the test of this file starts it, where futex_waitv is forbidden"]
fn tasks() {
    is_without_waitv();
    let (client, server) = meet();
    let serving = thread::spawn(move || serves(server, 100));
    let (calls, mut dispatcher) = client.into_calls();
    let mut executor = Executor::new(2, dispatcher.rouser());
    executor.spawn(0, async {
        // Nothing comes through the channel meanwhile.
        is_waked(20, Wakes::Asleep).await;
        for _ in 0..100 {
            assert_eq!(calls.call(0, &[7; 8], &mut [0; 8]).await, Ok((1, 8)));
        }
        assert_eq!(calls.call(0, &[], &mut []).await, Err(Lost::Stopped(Stopped::Gone)));
    });
    executor.run(&mut dispatcher).unwrap();
    drop(executor);
    serving.join().unwrap();
}

/// The turn handed over, which has a way of its own to do without.
#[test]
#[ignore = "the test of this file starts it, where futex_waitv is forbidden"]
fn plainly() {
    is_without_waitv();
    let (here, there) = UnixStream::pair().unwrap();
    let limits = plain::Limits { patience: SLEEPY, ..plain::Limits::default() };
    let serving = thread::spawn(move || {
        let mut server = plain::Server::over(there, &limits).unwrap();
        let mut request = [0; 8];
        for _ in 0..500 {
            let (tag, bytes) = server.next(&mut request).unwrap();
            server.answer(tag, &request[..bytes]).unwrap();
        }
        server.next(&mut request).unwrap();
        others_fall_asleep();
    });
    let options =
        plain::Options { way: plain::Way::Handoff, bytes: 64, patience: SLEEPY, ..plain::Options::default() };
    let mut client = plain::Client::over(here, &options).unwrap();
    for number in 0..500u64 {
        let mut reply = [0; 8];
        assert_eq!(client.call(3, &number.to_le_bytes(), &mut reply), Ok((3, 8)));
        assert_eq!(u64::from_le_bytes(reply), number);
    }
    assert!(client.counts().sleeps > 0);
    assert_eq!(client.call(3, &[], &mut []), Err(plain::Failed::Gone));
    serving.join().unwrap();
}

/// A thread that sleeps at a ring of io_uring's for both words of an end that could not by itself.
#[test]
#[ignore = "the test of this file starts it, where futex_waitv is forbidden"]
fn at_both() {
    is_without_waitv();
    if !test_has(&[(Requirement::IoUring, "io-uring")]) {
        return;
    }
    let options = kernel::Options { operations: 4, buffers: 0, patience: SLEEPY, ..Default::default() };
    let ring = Ring::open(&options).unwrap();
    if let Err(missing) = ring.offers(Offer::Futex) {
        return skip_test(&["io-uring"], &missing);
    }
    let (client, server) = meet();
    let serving = thread::spawn(move || serves(server, 100));
    let (calls, dispatcher) = client.into_calls();
    let mut both = Both::new(ring, dispatcher).unwrap();
    let kernel = both.kernel();
    let mut executor = Executor::new(1, both.rouser());
    executor.spawn(0, async {
        for _ in 0..100 {
            assert_eq!(calls.call(0, &[7; 8], &mut [0; 8]).await, Ok((1, 8)));
            kernel.timeout(Duration::from_micros(50)).await.unwrap();
        }
        is_waked(5, Wakes::Asleep).await;
        assert_eq!(calls.call(0, &[], &mut []).await, Err(Lost::Stopped(Stopped::Gone)));
        kernel.nop().await.unwrap();
    });
    executor.run(&mut both).unwrap();
    drop(executor);
    serving.join().unwrap();
}
