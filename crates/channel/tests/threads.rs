//! Several threads at one client's end: each has its own reply, and none waits for one that has gone.

use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use tollway_channel::Failed;
use tollway_channel::linux::{Caller, Client, Limits, Notice, Options, Server};
use tollway_channel::ring::client::{self, Refused};
use tollway_channel::ring::layout::Geometry;
use tollway_channel::ring::server;
use tollway_channel::threads;
use tollway_channel::wait::{Gone, Patience, Platform, Waits};

fn meet(slots: usize, notice: Notice, patience: Option<Patience>) -> (Caller, Server) {
    let (here, there) = UnixStream::pair().unwrap();
    let limits = Limits { patience, ..Limits::default() };
    let answering = thread::spawn(move || Server::over(there, &limits).unwrap());
    let options = Options { slots, bytes: 64, notice, patience, ..Options::default() };
    (Client::over(here, &options).unwrap().into_caller(), answering.join().unwrap())
}

/// Answers with the number that it was sent, inverted.
fn inverts(mut server: Server) {
    server
        .serve(|tag, request, reply| {
            for (to, from) in reply.iter_mut().zip(request) {
                *to = !*from;
            }
            (tag ^ 0xffff, request.len())
        })
        .unwrap();
}

const SLEEPY: Option<Patience> = Some(Patience { spin: 0, yields: 0 });

#[test]
fn each_thread_has_its_own_replies() {
    for notice in [Notice::Futex, Notice::Eventfd] {
        for (slots, threads, patience) in [(1, 3, SLEEPY), (2, 5, None), (64, 8, SLEEPY), (128, 2, None)] {
            let (caller, server) = meet(slots, notice, patience);
            let serving = thread::spawn(move || inverts(server));
            thread::scope(|scope| {
                for thread in 0..threads {
                    let caller = &caller;
                    scope.spawn(move || {
                        for round in 0..500u32 {
                            let number = (u64::from(round) << 8 | thread).to_le_bytes();
                            let mut reply = [0; 8];
                            assert_eq!(
                                caller.call(thread as u16, &number, &mut reply),
                                Ok((!(thread as u16), 8))
                            );
                            assert_eq!(reply.map(|byte| !byte), number);
                        }
                    });
                }
            });
            let waits = caller.waits_of_leaders();
            assert!(waits.looking + waits.giving_way + waits.at_last + waits.asleep > 0, "{waits:?}");
            drop(caller);
            serving.join().unwrap();
        }
    }
}

/// Threads that panic with requests on their way, or drop them, leave their slots to others when the replies have come.
#[test]
fn a_thread_that_goes_blocks_nobody() {
    let (caller, server) = meet(2, Notice::Futex, SLEEPY);
    let caller = Arc::new(caller);
    let serving = thread::spawn(move || inverts(server));
    for round in 0..100u8 {
        let going = thread::spawn({
            let caller = caller.clone();
            move || {
                let _one = caller.send(0, &[round]);
                let _other = caller.send(0, &[round]);
                if round % 2 == 0 {
                    // A panic that the test does not print.
                    std::panic::resume_unwind(Box::new(()));
                }
            }
        });
        let mut reply = [0];
        assert_eq!(caller.call(1, &[round], &mut reply), Ok((!1, 1)));
        assert_eq!(reply[0], !round);
        assert_eq!(going.join().is_err(), round % 2 == 0);
    }
    drop(caller);
    serving.join().unwrap();
}

/// Nobody waits, so nobody takes replies but who sends.
#[test]
fn who_sends_and_never_waits_has_its_slots_back() {
    for notice in [Notice::Futex, Notice::Eventfd] {
        let (caller, server) = meet(2, notice, SLEEPY);
        let serving = thread::spawn(move || {
            let mut server = server;
            for _ in 0..20 {
                server.wait().unwrap();
                let request = server.take().unwrap().unwrap();
                server.answer(request, 0, &[]);
                server.flush();
            }
        });
        let deadline = Instant::now() + Duration::from_secs(60);
        let sends = || loop {
            match caller.send(0, &[]).map(drop) {
                Err(Failed::Refused(Refused::Full)) => {
                    assert!(Instant::now() < deadline, "it is full for ever");
                    thread::sleep(Duration::from_millis(1));
                }
                sent => return sent,
            }
        };
        for _ in 0..20 {
            sends().unwrap();
        }
        // The server goes; who sends on is told so.
        let ended = (0..10).map(|_| sends()).find(Result::is_err);
        assert_eq!(ended, Some(Err(Failed::Gone)));
        serving.join().unwrap();
    }
}

/// Who waits until a slot is free sleeps as the leader. The slot becomes free by another thread, and not by the server.
#[test]
fn a_leader_that_waits_for_a_slot_is_told_of_it() {
    for notice in [Notice::Futex, Notice::Eventfd] {
        let (caller, mut server) = meet(2, notice, SLEEPY);
        let (first, second) = (caller.send(0, &[1]).unwrap(), caller.send(0, &[2]).unwrap());
        assert!(matches!(caller.send(0, &[3]), Err(Failed::Refused(Refused::Full))));
        // The first has its reply, which nobody has taken; to the second there is none yet.
        let request = server.take().unwrap().unwrap();
        server.answer(request, 7, &[10]);
        server.flush();
        let slow = server.take().unwrap().unwrap();
        thread::scope(|scope| {
            let third = scope.spawn(|| caller.call(0, &[3], &mut [0]));
            // It leads, takes the first's reply, and leads again.
            while caller.waits_of_leaders() == Waits::default() {
                thread::sleep(Duration::from_millis(1));
            }
            thread::sleep(Duration::from_millis(20));
            assert_eq!(first.wait(&mut [0]), Ok((7, 1)));
            // Only now the third can be sent.
            server.wait().unwrap();
            let request = server.take().unwrap().unwrap();
            server.answer(request, 9, &[]);
            server.flush();
            assert_eq!(third.join().unwrap(), Ok((9, 0)));
        });
        server.answer(slow, 8, &[]);
        server.flush();
        assert_eq!(second.wait(&mut []), Ok((8, 0)));
        assert!(matches!(caller.call(0, &[0; 65], &mut []), Err(Failed::Refused(Refused::Long))));
    }
}

/// A platform on which who sleeps is let go one sleep at a time.
#[derive(Default)]
struct Gated {
    slept: AtomicU64,
    let_go: AtomicU64,
}

impl Gated {
    fn has_gone_to_sleep(&self, times: u64) {
        while self.slept.load(Ordering::SeqCst) < times {
            thread::sleep(Duration::from_millis(1));
        }
    }
}

impl Platform for Gated {
    fn now(&self) -> u64 {
        0
    }

    fn relax(&self) {}

    fn give_way(&self) {}

    fn sleep(&self, _: &AtomicU64) -> Result<(), Gone> {
        let mine = self.slept.fetch_add(1, Ordering::SeqCst);
        while self.let_go.load(Ordering::SeqCst) <= mine {
            thread::sleep(Duration::from_millis(1));
        }
        Ok(())
    }

    fn wake(&self, _: &AtomicU64) {}
}

/// The leader waits for a slot, and another thread does. Two become free while the leader sleeps: each has one.
#[test]
fn two_slots_are_free_for_two_that_wait() {
    let geometry = Geometry::new(2, 64).unwrap();
    let words: Arc<[AtomicU64]> = (0..geometry.words()).map(|_| AtomicU64::new(0)).collect();
    let mut server = server::Server::new(words.clone(), geometry);
    let platform = Arc::new(Gated::default());
    let client = client::Client::new(words, geometry);
    let caller = threads::Caller::new(client, platform.clone(), Patience { spin: 0, yields: 0 });
    let (first, second) = (caller.send(0, &[]).unwrap(), caller.send(0, &[]).unwrap());
    thread::scope(|scope| {
        let leading = scope.spawn(|| caller.call(1, &[], &mut []));
        platform.has_gone_to_sleep(1);
        let waiting = scope.spawn(|| caller.call(2, &[], &mut []));
        // Should it not stand in the crowd by then, it finds a slot by itself.
        thread::sleep(Duration::from_millis(50));
        for _ in 0..2 {
            let request = server.take().unwrap().unwrap();
            server.answer(request, 0, &[]);
        }
        platform.let_go.store(1, Ordering::SeqCst);
        // It has taken both replies, which keep their slots, and leads again.
        platform.has_gone_to_sleep(2);
        drop((first, second));
        platform.let_go.store(2, Ordering::SeqCst);
        let deadline = Instant::now() + Duration::from_secs(60);
        let (mut asked, mut is_late) = (Vec::new(), false);
        while asked.len() < 2 && !is_late {
            asked.extend(server.take().unwrap());
            is_late = Instant::now() > deadline;
            thread::yield_now();
        }
        // Whoever waits still is let go before this may fail.
        platform.let_go.store(u64::MAX, Ordering::SeqCst);
        let mut answered = 0;
        while answered < 2 {
            for request in std::mem::take(&mut asked) {
                let tag = request.tag();
                server.answer(request, tag, &[]);
                answered += 1;
            }
            asked.extend(server.take().unwrap());
            thread::yield_now();
        }
        assert_eq!((leading.join().unwrap(), waiting.join().unwrap()), (Ok((1, 0)), Ok((2, 0))));
        assert!(!is_late, "a slot is free, and nobody is told");
    });
}

#[test]
fn all_are_told_that_the_server_is_gone() {
    for notice in [Notice::Futex, Notice::Eventfd] {
        let (caller, server) = meet(2, notice, SLEEPY);
        thread::scope(|scope| {
            // Two have slots, three wait for one.
            let waiting: Vec<_> = (0..5).map(|_| scope.spawn(|| caller.call(0, &[], &mut []))).collect();
            thread::sleep(Duration::from_millis(50));
            drop(server);
            for waiting in waiting {
                assert_eq!(waiting.join().unwrap(), Err(Failed::Gone));
            }
        });
        assert_eq!(caller.call(0, &[], &mut []), Err(Failed::Gone));
    }
}

/// A platform whose first sleeper never comes back.
struct Faulty {
    has_failed: AtomicBool,
}

impl Platform for Faulty {
    fn now(&self) -> u64 {
        0
    }

    fn relax(&self) {}

    fn give_way(&self) {}

    fn sleep(&self, _: &AtomicU64) -> Result<(), Gone> {
        if self.has_failed.swap(true, Ordering::SeqCst) {
            thread::sleep(Duration::from_millis(1));
            return Ok(());
        }
        thread::sleep(Duration::from_millis(50));
        std::panic::resume_unwind(Box::new(()));
    }

    fn wake(&self, _: &AtomicU64) {}
}

#[test]
fn a_leader_that_panics_hands_the_lead_on() {
    let geometry = Geometry::new(4, 64).unwrap();
    let words: Arc<[AtomicU64]> = (0..geometry.words()).map(|_| AtomicU64::new(0)).collect();
    let mut server = server::Server::new(words.clone(), geometry);
    let platform = Arc::new(Faulty { has_failed: AtomicBool::new(false) });
    let caller = threads::Caller::new(
        client::Client::new(words, geometry),
        platform.clone(),
        Patience { spin: 0, yields: 0 },
    );
    thread::scope(|scope| {
        let calls: Vec<_> = (0..3)
            .map(|number| {
                scope.spawn({
                    let caller = &caller;
                    move || caller.call(number, &[], &mut [])
                })
            })
            .collect();
        while !platform.has_failed.load(Ordering::SeqCst) {
            thread::yield_now();
        }
        let mut answered = 0;
        while answered < 3 {
            if let Some(request) = server.take().unwrap() {
                let tag = request.tag();
                server.answer(request, tag, &[]);
                answered += 1;
            }
            thread::yield_now();
        }
        let ended: Vec<_> = calls.into_iter().map(|call| call.join()).collect();
        assert_eq!(ended.iter().filter(|ended| ended.is_err()).count(), 1);
        for (number, ended) in (0..).zip(ended) {
            assert!(ended.is_err() || ended.unwrap() == Ok((number, 0)));
        }
    });
}
