//! Synchronous requests between two processes, by both ways: they meet, ask and answer, and are told when the other is killed.

mod other;

use std::cell::RefCell;
use std::env;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use other::{Other, SLEEPY, answers, link};
use proptest::prelude::any;
use proptest::test_runner::{Config, TestRunner};
use tollway_channel::linux::plain::{Client, Failed, Limits, Options, Server, Way};
use tollway_channel::wait::Patience;
use tollway_host::cpu::{allowed_cpus, pin_current_thread};

/// Tells a server's process on which processor to run.
const CPU: &str = "TOLLWAY_CHANNEL_PLAIN_CPU";

const WAYS: [Way; 2] = [Way::Seqpacket, Way::Handoff];

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
    for (way, bytes) in WAYS.into_iter().flat_map(|way| [(way, 128), (way, 65_472)]) {
        for patience in [SLEEPY, None, Some(Patience { spin: u64::MAX, yields: 0 })] {
            let (other, link) = Other::start(&[]);
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
            assert!(other.ended(), "a server whose client has gone does not end");
        }
    }
}

/// One processor has both ends, or each has one of its own; what each way does there is counted.
#[test]
fn ends_share_a_core_or_have_one_each() {
    const REQUESTS: u64 = 2000;
    let cpus = allowed_cpus().unwrap();
    for (way, other_cpu) in WAYS.into_iter().flat_map(|way| [(way, cpus[0]), (way, cpus[cpus.len() - 1])]) {
        let cpu = cpus[0];
        std::thread::spawn(move || {
            pin_current_thread(cpu).unwrap();
            let (other, link) = Other::start(&[(CPU, other_cpu.to_string())]);
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
                // Nothing but a yield or a sleep brings the reply on one core.
                Way::Handoff if cpu == other_cpu => {
                    assert!(counts.yields + counts.sleeps > REQUESTS / 2, "{counts:?}")
                }
                Way::Handoff => assert!(counts.notices <= REQUESTS, "{counts:?}"),
            }
            drop(client);
            assert!(other.ended());
        })
        .join()
        .unwrap();
    }
}

/// Both sleep again and again, and are woken.
#[test]
fn who_sleeps_is_woken() {
    let (other, link) = Other::start(&[]);
    let options = Options { way: Way::Handoff, patience: SLEEPY, ..Options::default() };
    let mut client = Client::over(link, &options).unwrap();
    for _ in 0..20 {
        // The server sleeps by then.
        std::thread::sleep(Duration::from_millis(10));
        assert_eq!(client.call(1010, &[1, 2, 3], &mut [0; 3]), Ok((1011, 3)));
    }
    let counts = client.counts();
    assert!(counts.notices > 0 && counts.sleeps > 0 && counts.yields == 0, "{counts:?}");
    drop(client);
    assert!(other.ended());
}

/// The server sleeps in the middle of a request, and is killed: the client learns it, whether it sleeps or looks.
#[test]
fn a_client_is_told_that_its_server_was_killed() {
    for way in WAYS {
        for patience in [SLEEPY, None, Some(Patience { spin: u64::MAX, yields: 0 })] {
            let (other, link) = Other::start(&[]);
            let mut client =
                Client::over(link, &Options { way, bytes: 64, patience, ..Options::default() }).unwrap();
            client.call(0, &[1], &mut [0]).unwrap();
            let killed = other.killed_after(Duration::from_millis(50));
            assert_eq!(client.call(60_000, &[2], &mut [0]), Err(Failed::Gone));
            assert!(Instant::now() < killed.join().unwrap() + Duration::from_secs(10));
            assert_eq!(client.call(0, &[2], &mut [0]), Err(Failed::Gone));
        }
    }
}

/// Killed at any moment: replies come until then, and then the client is told.
#[test]
fn a_server_is_killed_at_any_moment() {
    for round in 0..24u64 {
        let (other, link) = Other::start(&[]);
        let way = WAYS[round as usize % 2];
        let patience = if round % 4 < 2 { SLEEPY } else { None };
        let mut client =
            Client::over(link, &Options { way, bytes: 64, patience, ..Options::default() }).unwrap();
        let killed = other.killed_after(Duration::from_micros(round * 331 % 5000));
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
