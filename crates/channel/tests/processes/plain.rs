//! Synchronous requests between two processes, by both ways: they meet, ask and answer, and are told when the other is killed.

use std::cell::RefCell;
use std::env;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use proptest::prelude::any;
use proptest::test_runner::{Config, TestRunner};
use tollway_channel::linux::plain::{Client, Failed, Limits, Options, Server, Way};
use tollway_channel::wait::Patience;
use tollway_host::cpu::{allowed_cpus, pin_current_thread};

use crate::asleep::Thread;
use crate::other::{NEVER, ONCE_ASLEEP, Other, SLEEPY, answers, link};
use crate::pause::pause;
use crate::watched::watched;

/// Tells a server's process on which processor to run.
const CPU: &str = "TOLLWAY_CHANNEL_PLAIN_CPU";

const WAYS: [Way; 2] = [Way::Seqpacket, Way::Handoff];

/// The next test, as a process of its own.
const SERVES: &str = "plain::serves";

#[test]
#[ignore = "the other tests start it, as a process of its own"]
fn serves() {
    let cpu = env::var(CPU).ok().map(|cpu| cpu.parse().unwrap());
    let patience = if cpu.is_some() { None } else { SLEEPY };
    let mut server = Server::over(link(), &Limits { patience, bytes: 65_472 }).unwrap();
    if let Some(cpu) = cpu {
        pin_current_thread(cpu).unwrap();
    }
    server.serve(answers).unwrap();
}

/// Messages of any length, and of both forms in which the slow path sends them.
#[test]
fn every_reply_is_its_requests() {
    let _watched = watched();
    for (way, bytes) in WAYS.into_iter().flat_map(|way| [(way, 128), (way, 65_472)]) {
        for patience in [SLEEPY, None, Some(Patience { spin: u64::MAX, yields: 0 })] {
            let (other, link) = Other::start(SERVES, &[]);
            let mut client =
                Client::over(link, &Options { way, bytes, patience, ..Options::default() }).unwrap();
            assert_eq!(client.longest(), bytes);
            // A length, what the bytes count on from, and room for so many of the reply.
            let messages = (any::<u16>(), 0..=bytes, any::<u8>(), 0..=bytes);
            let mut runner =
                TestRunner::new(Config { cases: 40, failure_persistence: None, ..Config::default() });
            let mut reply = vec![0; bytes];
            let both = RefCell::new((&mut client, &mut reply));
            let ask = |tag: u16, request: &[u8], room: usize| {
                let (client, reply) = &mut *both.borrow_mut();
                let shown = request.len().min(room);
                assert_eq!(client.call(tag, request, &mut reply[..room]), Ok((tag + 1, shown)));
                assert!(reply[..shown].iter().eq(request.iter().rev().take(shown)), "other bytes came back");
            };
            for bytes in [0, 1, 7, 8, 9, 64, bytes] {
                ask(999, &vec![bytes as u8; bytes], bytes);
            }
            runner
                .run(&messages, |(tag, length, first, room)| {
                    let request: Vec<u8> =
                        (0..length).map(|at| first.wrapping_add((at % 251) as u8)).collect();
                    ask(tag % 1000, &request, room);
                    Ok(())
                })
                .unwrap();
            // A mistake of this end's is no end.
            assert_eq!(client.call(0, &vec![0; bytes + 1], &mut []), Err(Failed::TooLong));
            assert_eq!(client.call(5, &[1, 2], &mut [0]), Ok((6, 1)));
            drop(client);
            assert!(other.ends(), "a server whose client has gone does not end");
        }
    }
}

/// One processor has both ends, or each has one of its own; what each way does there is counted.
#[test]
fn ends_share_a_core_or_have_one_each() {
    let _watched = watched();
    const REQUESTS: u64 = 2000;
    let cpus = allowed_cpus().unwrap();
    for (way, other_cpu) in WAYS.into_iter().flat_map(|way| [(way, cpus[0]), (way, cpus[cpus.len() - 1])]) {
        let cpu = cpus[0];
        std::thread::spawn(move || {
            pin_current_thread(cpu).unwrap();
            let (other, link) = Other::start(SERVES, &[(CPU, other_cpu.to_string())]);
            let mut client =
                Client::over(link, &Options { way, bytes: 64, patience: None, ..Options::default() })
                    .unwrap();
            for number in 0..REQUESTS {
                let mut reply = [0; 8];
                assert_eq!(
                    client.call(number as u16 % 1000, &number.to_le_bytes(), &mut reply).unwrap().1,
                    8
                );
                assert_eq!(u64::from_be_bytes(reply), number);
            }
            let counts = client.counts();
            match way {
                Way::Seqpacket => {
                    assert_eq!((counts.notices, counts.sleeps, counts.yields), (REQUESTS, REQUESTS, 0))
                }
                // A yield, a sleep or the scheduler brings the reply on one core: how often each does is its affair.
                Way::Handoff if cpu == other_cpu => {
                    assert!(counts.yields + counts.sleeps > 0, "{counts:?}")
                }
                Way::Handoff => assert!(counts.notices <= REQUESTS, "{counts:?}"),
            }
            drop(client);
            assert!(other.ends());
        })
        .join()
        .unwrap();
    }
}

/// Both sleep again and again, and are woken.
#[test]
fn who_sleeps_is_woken() {
    let _watched = watched();
    let (other, link) = Other::start(SERVES, &[]);
    let options = Options { way: Way::Handoff, patience: SLEEPY, ..Options::default() };
    let mut client = Client::over(link, &options).unwrap();
    for _ in 0..20 {
        other.falls_asleep();
        assert_eq!(client.call(ONCE_ASLEEP, &[1, 2, 3], &mut [0; 3]), Ok((ONCE_ASLEEP + 1, 3)));
    }
    let counts = client.counts();
    assert!(counts.notices > 0 && counts.sleeps > 0 && counts.yields == 0, "{counts:?}");
    drop(client);
    assert!(other.ends());
}

/// The server sleeps in the middle of a request, and is killed: the client learns it, whether it sleeps or looks.
#[test]
fn a_client_is_told_that_its_server_was_killed() {
    let _watched = watched();
    for way in WAYS {
        for patience in [SLEEPY, None, Some(Patience { spin: u64::MAX, yields: 0 })] {
            let (other, link) = Other::start(SERVES, &[]);
            let mut client =
                Client::over(link, &Options { way, bytes: 64, patience, ..Options::default() }).unwrap();
            let sleeps = way == Way::Seqpacket || patience.is_none_or(|patience| patience.spin == 0);
            client.call(0, &[1], &mut [0]).unwrap();
            let killed = other.killed_once_stopped(sleeps.then(Thread::here));
            assert_eq!(client.call(NEVER, &[2], &mut [0]), Err(Failed::Gone));
            killed.join().unwrap();
            assert_eq!(client.call(0, &[2], &mut [0]), Err(Failed::Gone));
        }
    }
}

/// Killed at any moment: replies come until then, and then the client is told.
#[test]
fn a_server_is_killed_at_any_moment() {
    let _watched = watched();
    for round in 0..24u64 {
        let (other, link) = Other::start(SERVES, &[]);
        let way = WAYS[round as usize % 2];
        let patience = if round % 4 < 2 { SLEEPY } else { None };
        let mut client =
            Client::over(link, &Options { way, bytes: 64, patience, ..Options::default() }).unwrap();
        let killed = other.killed_after(move || pause(Duration::from_micros(round * 331 % 5000)));
        for number in 0u64.. {
            let mut reply = [0; 8];
            match client.call(1, &number.to_le_bytes(), &mut reply) {
                Ok(answer) => assert_eq!((answer, u64::from_be_bytes(reply)), ((2, 8), number)),
                Err(failed) => {
                    assert_eq!(failed, Failed::Gone);
                    break;
                }
            }
        }
        killed.join().unwrap();
    }
}

/// What a server does by steps, and what it may not.
#[test]
fn a_server_answers_step_by_step() {
    let _watched = watched();
    for way in WAYS {
        let (here, there) = UnixStream::pair().unwrap();
        let asking = std::thread::spawn(move || {
            let mut client =
                Client::over(here, &Options { way, bytes: 64, patience: SLEEPY, ..Options::default() })
                    .unwrap();
            let mut reply = [0; 64];
            (client.call(7, b"what", &mut reply), reply[..2].to_vec())
        });
        let mut server = Server::over(there, &Limits { patience: SLEEPY, ..Limits::default() }).unwrap();
        assert_eq!(server.answer(0, &[]), Err(Failed::NotItsTurn));
        let mut request = [0; 64];
        assert_eq!(server.next(&mut request), Ok((7, 4)));
        assert_eq!(&request[..4], b"what");
        assert_eq!(server.next(&mut request), Err(Failed::NotItsTurn));
        assert_eq!(server.answer(8, &[0; 65]), Err(Failed::TooLong));
        server.answer(8, b"so").unwrap();
        assert_eq!(asking.join().unwrap(), (Ok((8, 2)), b"so".to_vec()));
        assert_eq!(server.next(&mut request), Err(Failed::Gone));
        assert_eq!(server.answer(0, &[]), Err(Failed::Gone));
        assert!(server.counts().notices + server.counts().sleeps > 0);
    }
}
