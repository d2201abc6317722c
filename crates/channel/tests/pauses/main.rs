//! Two ends that pause at any access to what they share, or what threads share: no message is lost, doubled or changed, by whatever way it goes.
//!
//! All of `src` is compiled once more here, with atomics that pause. `TOLLWAY_PAUSES` says how many messages (`make soak pauses`: 10^7) go by rings; by each of
//! the other ways as many as by each of theirs.
#![allow(dead_code, missing_docs, unused_imports)]

extern crate alloc;

#[path = "../processes/forbidden/apart.rs"]
mod apart;
#[path = "../../../host/testing/asleep.rs"]
mod asleep;
mod at_both;
mod atomic;
#[path = "../../src/coroutine/mod.rs"]
mod coroutine;
#[path = "../../../host/testing/eventually.rs"]
mod eventually;
#[path = "../../src/failed.rs"]
mod failed;
#[path = "../../../host/testing/filter.rs"]
mod filter;
mod linux;
mod one_word;
mod plainly;
#[path = "../../../host/testing/pause.rs"]
mod random_pause;
#[path = "../../src/ring/mod.rs"]
mod ring;
#[path = "../../src/rouse.rs"]
mod rouse;
#[path = "../../src/threads.rs"]
mod threads;
#[path = "../../src/time_limit.rs"]
mod time_limit;
#[cfg(feature = "tokio")]
mod under_tokio;
#[path = "../../src/wait.rs"]
mod wait;
#[path = "../processes/forbidden/waked.rs"]
mod waked;

use std::cell::{Cell, RefCell};
use std::os::unix::net::UnixStream;
use std::sync;
use std::thread;

use coroutine::{Calls, Driver, Executor, Incoming, Rouser};
use linux::{Client, Limits, Notice, Options, Server, Shared};
use wait::Patience;

/// How a message of that number looks: the number, its square, and so on to the end.
fn message(number: u64) -> [u8; 64] {
    let mut words = [number; 8];
    for at in 1..8 {
        words[at] = words[at - 1].wrapping_mul(number | 1).rotate_left(9);
    }
    let mut bytes = [0; 64];
    bytes.as_chunks_mut().0.iter_mut().zip(words).for_each(|(to, word)| *to = word.to_le_bytes());
    bytes
}

/// The number of a request; it was not changed.
fn number(bytes: &[u8]) -> u64 {
    let number = u64::from_le_bytes(bytes[..8].try_into().unwrap());
    assert_eq!(bytes, message(number), "a changed request");
    number
}

/// What a server says to a request.
fn reply_to(number: u64) -> [u8; 64] {
    message(number).map(|byte| !byte)
}

/// Which numbers there were.
struct Seen(Vec<bool>);

impl Seen {
    fn new(numbers: u64) -> Seen {
        Seen(vec![false; numbers as usize])
    }

    fn is_new(&mut self, number: u64) {
        assert!(!std::mem::replace(&mut self.0[number as usize], true), "{number} came twice");
    }

    fn is_all(&self) {
        assert_eq!(self.0.iter().position(|seen| !seen), None, "lost");
    }
}

fn meet(slots: usize, notice: Notice, patience: Option<Patience>) -> (Client, Server) {
    let (here, there) = UnixStream::pair().unwrap();
    let limits = Limits { patience, ..Limits::default() };
    let answering = thread::spawn(move || Server::over(there, &limits).unwrap());
    let client =
        Client::over(here, &Options { slots, bytes: 64, notice, patience, ..Options::default() }).unwrap();
    (client, answering.join().unwrap())
}

/// Answers one after another.
fn serves(mut server: Server, messages: u64) {
    let mut seen = Seen::new(messages);
    server
        .serve(|tag, request, reply| {
            let number = number(request);
            seen.is_new(number);
            assert_eq!(tag, number as u16);
            reply[..64].copy_from_slice(&reply_to(number));
            (!tag, 64)
        })
        .unwrap();
    seen.is_all();
}

/// Answers in so many tasks, each of which does that before it answers.
fn answers(
    tasks: usize,
    incoming: &Incoming<Shared>,
    messages: u64,
    first: impl AsyncFn(u64),
    rouser: Rouser,
    driver: &mut impl Driver,
) {
    let seen = RefCell::new(Seen::new(messages));
    let mut executor = Executor::new(tasks, rouser);
    for _ in 0..tasks {
        executor.spawn(1, async {
            while let Some(request) = incoming.next().await {
                let mut bytes = [0; 64];
                assert_eq!(incoming.read(&request, &mut bytes), 64);
                let number = number(&bytes);
                seen.borrow_mut().is_new(number);
                first(number).await;
                incoming.answer(request, !(number as u16), &reply_to(number));
            }
        });
    }
    executor.run(driver).unwrap();
    drop(executor);
    seen.into_inner().is_all();
}

/// Asks in so many tasks, each of which does that after a reply.
fn calls(
    tasks: usize,
    calls: &Calls<Shared>,
    messages: u64,
    then: impl AsyncFn(u64),
    rouser: Rouser,
    driver: &mut impl Driver,
) {
    let replies = Cell::new(0);
    let mut executor = Executor::new(tasks, rouser);
    for task in 0..tasks {
        let (then, replies) = (&then, &replies);
        executor.spawn(task % 8, async move {
            for number in (task as u64..messages).step_by(tasks) {
                let mut reply = [0; 64];
                let answer = calls.call(number as u16, &message(number), &mut reply).await;
                assert_eq!((answer, reply), (Ok((!(number as u16), 64)), reply_to(number)));
                replies.set(replies.get() + 1);
                then(number).await;
            }
        });
    }
    executor.run(driver).unwrap();
    drop(executor);
    assert_eq!(replies.get(), messages);
}

/// Answers in tasks.
fn serves_in_tasks(server: Server, messages: u64) {
    let (incoming, mut dispatcher) = server.into_incoming();
    answers(3, &incoming, messages, async |_| (), dispatcher.rouser(), &mut dispatcher);
}

fn one_at_a_time(mut client: Client, messages: u64) {
    for number in 0..messages {
        let mut reply = [0; 64];
        let answer = client.call(number as u16, &message(number), &mut reply);
        assert_eq!((answer, reply), (Ok((!(number as u16), 64)), reply_to(number)));
    }
}

fn in_batches(mut client: Client, messages: u64) {
    let mut asked = [0; 16];
    let (mut sent, mut seen) = (0, Seen::new(messages));
    while sent < messages || client.in_flight() > 0 {
        while sent < messages && client.in_flight() < 16 {
            let slot = client.send(sent as u16, &message(sent)).unwrap();
            asked[usize::from(slot)] = sent;
            sent += 1;
        }
        client.wait().unwrap();
        while let Some(came) = client.take().unwrap() {
            let mut reply = [0; 64];
            client.read(&came, &mut reply);
            let number = asked[usize::from(came.slot())];
            assert_eq!((came.tag(), reply), (!(number as u16), reply_to(number)));
            seen.is_new(number);
            client.release(came);
        }
    }
    seen.is_all();
}

fn in_tasks(client: Client, messages: u64) {
    let (asked, mut dispatcher) = client.into_calls();
    calls(20, &asked, messages, async |_| (), dispatcher.rouser(), &mut dispatcher);
}

fn in_threads(client: Client, messages: u64) {
    let caller = client.into_caller();
    thread::scope(|scope| {
        for thread in 0..3 {
            let caller = &caller;
            scope.spawn(move || {
                for number in (thread..messages).step_by(3) {
                    let mut reply = [0; 64];
                    let answer = caller.call(number as u16, &message(number), &mut reply);
                    assert_eq!((answer, reply), (Ok((!(number as u16), 64)), reply_to(number)));
                }
            });
        }
    });
}

/// Messages of one way and one notice.
fn share() -> u64 {
    let messages =
        std::env::var("TOLLWAY_PAUSES").map_or(20_000, |n| n.parse().expect("TOLLWAY_PAUSES is a number"));
    messages / 20
}

/// Ends that sleep at once, and ends that look first.
const PATIENCES: [Patience; 2] = [Patience { spin: 0, yields: 0 }, Patience { spin: 3000, yields: 2 }];

/// So many messages by every way, and that notice.
fn every_way(notice: Notice, messages: u64) {
    type Serves = fn(Server, u64);
    type Asks = fn(Client, u64);
    let ways: [(usize, Serves, Asks); 5] = [
        (1, serves, one_at_a_time),
        (16, serves, in_batches),
        (8, serves_in_tasks, in_tasks),
        (2, serves, in_threads),
        (16, serves_in_tasks, in_batches),
    ];
    for (slots, serves, asks) in ways {
        for patience in PATIENCES {
            let (client, server) = meet(slots, notice, Some(patience));
            let serving = thread::spawn(move || serves(server, messages));
            asks(client, messages);
            serving.join().unwrap();
        }
    }
}

#[test]
fn by_futex_no_message_is_lost_doubled_or_changed() {
    every_way(Notice::Futex, share());
}

#[test]
fn by_eventfd_no_message_is_lost_doubled_or_changed() {
    every_way(Notice::Eventfd, share());
}
