//! Where futex_waitv(2) is forbidden an end sleeps by one word, and looks every now and then. Here that is once an hour (`nap.rs`): every wake-up has to come.

use std::os::unix::net::UnixStream;
use std::thread;

use crate::apart::{is_without_waitv, succeeds_without};
use crate::coroutine::Executor;
use crate::linux::Notice;
use crate::linux::plain::{Client, Limits, Options, Server, Way};
use crate::waked::{Wakes, is_waked};
use crate::{PATIENCES, at_both, every_way, meet, message, number, reply_to, serves, share};

#[test]
fn by_one_word_no_wake_up_is_lost() {
    for test in ["by_rings", "by_own_threads", "at_a_ring_of_the_kernel", "by_turns"] {
        succeeds_without(&[libc::SYS_futex_waitv], libc::ENOSYS, &format!("one_word::{test}"));
    }
}

/// Messages of one way: not so many that it takes longer than it may.
fn some() -> u64 {
    is_without_waitv();
    share().min(50_000)
}

#[test]
#[ignore = "the test of this file starts it, where futex_waitv is forbidden"]
fn by_rings() {
    every_way(Notice::Futex, some());
}

/// Nothing comes from the other end, which would wake this one as well.
#[test]
#[ignore = "the test of this file starts it, where futex_waitv is forbidden"]
fn by_own_threads() {
    let times = some();
    let (client, server) = meet(1, Notice::Futex, Some(PATIENCES[0]));
    let serving = thread::spawn(move || serves(server, 0));
    let (calls, mut dispatcher) = client.into_calls();
    let mut executor = Executor::new(1, dispatcher.rouser());
    executor.spawn(0, is_waked(times, Wakes::AtOnce));
    executor.run(&mut dispatcher).unwrap();
    drop((executor, calls, dispatcher));
    serving.join().unwrap();
}

#[test]
#[ignore = "the test of this file starts it, where futex_waitv is forbidden"]
fn at_a_ring_of_the_kernel() {
    at_both::by(&[Notice::Futex], some());
}

/// Nobody waits here for an end that is gone: of that a nap alone tells who sleeps by the turn.
#[test]
#[ignore = "the test of this file starts it, where futex_waitv is forbidden"]
fn by_turns() {
    let messages = some();
    for patience in PATIENCES.map(Some) {
        let (here, there) = UnixStream::pair().unwrap();
        let serving = thread::spawn(move || {
            let mut server = Server::over(there, &Limits { patience, ..Limits::default() }).unwrap();
            let mut request = [0; 64];
            for expected in 0..messages {
                let (tag, bytes) = server.next(&mut request).unwrap();
                assert_eq!((tag, bytes, number(&request)), (expected as u16, 64, expected));
                server.answer(!tag, &reply_to(expected)).unwrap();
            }
            server
        });
        let options = Options { way: Way::Handoff, bytes: 64, patience, ..Options::default() };
        let mut client = Client::over(here, &options).unwrap();
        for number in 0..messages {
            let mut reply = [0; 64];
            let answer = client.call(number as u16, &message(number), &mut reply);
            assert_eq!((answer, reply), (Ok((!(number as u16), 64)), reply_to(number)));
        }
        drop(serving.join().unwrap());
    }
}
