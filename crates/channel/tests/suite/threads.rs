//! Several threads at one client's end: each has its own reply, and none waits for one that has gone.

use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;

use tollway_channel::Failed;
use tollway_channel::linux::{Caller, Client, Limits, Notice, Options, Server};
use tollway_channel::ring::client::{self, Refused};
use tollway_channel::ring::layout::Geometry;
use tollway_channel::ring::server;
use tollway_channel::threads;
use tollway_channel::wait::{Gone, Patience, Platform, Waits};

use crate::asleep::Thread;
use crate::eventually::eventually;

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
        let sends = || {
            let mut sent = Err(Failed::Refused(Refused::Full));
            eventually("a slot is free", || {
                sent = caller.send(0, &[]).map(drop);
                sent != Err(Failed::Refused(Refused::Full))
            });
            sent
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
            let (tell, told) = channel();
            let third = scope.spawn({
                let caller = &caller;
                move || {
                    tell.send(Thread::here()).unwrap();
                    caller.call(0, &[3], &mut [0])
                }
            });
            // It leads, takes the first's reply, and leads again.
            eventually("it has led", || caller.waits_of_leaders() != Waits::default());
            told.recv().unwrap().falls_asleep();
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
    sleeps: Mutex<Sleeps>,
    changed: Condvar,
}

#[derive(Default)]
struct Sleeps {
    begun: u64,
    let_go: u64,
}

impl Gated {
    fn has_gone_to_sleep(&self, times: u64) {
        let sleeps = self.sleeps.lock().unwrap();
        drop(self.changed.wait_while(sleeps, |sleeps| sleeps.begun < times).unwrap());
    }

    fn lets_go(&self, times: u64) {
        self.sleeps.lock().unwrap().let_go = times;
        self.changed.notify_all();
    }
}

impl Platform for Gated {
    fn now(&self) -> u64 {
        0
    }

    fn relax(&self) {}

    fn give_way(&self) {}

    fn sleep(&self, _: &AtomicU64) -> Result<(), Gone> {
        let mut sleeps = self.sleeps.lock().unwrap();
        let mine = sleeps.begun;
        sleeps.begun += 1;
        self.changed.notify_all();
        drop(self.changed.wait_while(sleeps, |sleeps| sleeps.let_go <= mine).unwrap());
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
        let (tell, told) = channel();
        let waiting = scope.spawn({
            let caller = &caller;
            move || {
                tell.send(Thread::here()).unwrap();
                caller.call(2, &[], &mut [])
            }
        });
        // It stands in the crowd.
        told.recv().unwrap().falls_asleep();
        for _ in 0..2 {
            let request = server.take().unwrap().unwrap();
            server.answer(request, 0, &[]);
        }
        platform.lets_go(1);
        // It has taken both replies, which keep their slots, and leads again.
        platform.has_gone_to_sleep(2);
        drop((first, second));
        platform.lets_go(2);
        let mut asked = Vec::new();
        eventually("both slots are taken: where one is free, somebody is told", || {
            asked.extend(server.take().unwrap());
            asked.len() == 2
        });
        platform.lets_go(u64::MAX);
        for request in asked {
            let tag = request.tag();
            server.answer(request, tag, &[]);
        }
        assert_eq!((leading.join().unwrap(), waiting.join().unwrap()), (Ok((1, 0)), Ok((2, 0))));
    });
}

#[test]
fn all_are_told_that_the_server_is_gone() {
    for notice in [Notice::Futex, Notice::Eventfd] {
        let (caller, server) = meet(2, notice, SLEEPY);
        thread::scope(|scope| {
            // Two have slots, three wait for one.
            let (tell, told) = channel();
            let waits = |tell: Sender<Thread>| {
                tell.send(Thread::here()).unwrap();
                caller.call(0, &[], &mut [])
            };
            let waiting: Vec<_> = (0..5)
                .map(|_| {
                    let tell = tell.clone();
                    scope.spawn(move || waits(tell))
                })
                .collect();
            told.iter().take(5).for_each(|thread| thread.falls_asleep());
            drop(server);
            for waiting in waiting {
                assert_eq!(waiting.join().unwrap(), Err(Failed::Gone));
            }
        });
        assert_eq!(caller.call(0, &[], &mut []), Err(Failed::Gone));
    }
}

/// A platform whose first sleeper never comes back: it panics once two others wait for it.
struct Faulty {
    has_failed: AtomicBool,
    threads: Mutex<Vec<Thread>>,
}

impl Platform for Faulty {
    fn now(&self) -> u64 {
        0
    }

    fn relax(&self) {}

    fn give_way(&self) {}

    fn sleep(&self, _: &AtomicU64) -> Result<(), Gone> {
        if self.has_failed.swap(true, Ordering::SeqCst) {
            thread::yield_now();
            return Ok(());
        }
        let me = Thread::here();
        eventually("the others wait", || {
            let threads = self.threads.lock().unwrap();
            threads.len() == 3 && threads.iter().all(|thread| *thread == me || thread.is_asleep())
        });
        std::panic::resume_unwind(Box::new(()));
    }

    fn wake(&self, _: &AtomicU64) {}
}

#[test]
fn a_leader_that_panics_hands_the_lead_on() {
    let geometry = Geometry::new(4, 64).unwrap();
    let words: Arc<[AtomicU64]> = (0..geometry.words()).map(|_| AtomicU64::new(0)).collect();
    let mut server = server::Server::new(words.clone(), geometry);
    let platform = Arc::new(Faulty { has_failed: AtomicBool::new(false), threads: Mutex::default() });
    let caller = threads::Caller::new(
        client::Client::new(words, geometry),
        platform.clone(),
        Patience { spin: 0, yields: 0 },
    );
    thread::scope(|scope| {
        let calls: Vec<_> = (0..3)
            .map(|number| {
                scope.spawn({
                    let (caller, platform) = (&caller, &platform);
                    move || {
                        platform.threads.lock().unwrap().push(Thread::here());
                        caller.call(number, &[], &mut [])
                    }
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
