//! The rings, the bell and the waiting under every interleaving and every order of memory that the language allows.
//!
//! `src/ring`, `src/wait.rs`, `src/rouse.rs`, `src/threads.rs` and `src/coroutine/woken.rs` are compiled once more here, with loom's atomics in the place of
//! the processor's: the code that is checked is the code that runs.
#![allow(dead_code)]

extern crate alloc;

use std::sync::Arc;

use loom::sync::{self, atomic};
use loom::thread;

#[path = "../../src/failed.rs"]
mod failed;
mod futex;
#[path = "../../src/ring/mod.rs"]
mod ring;
#[path = "../../src/rouse.rs"]
mod rouse;
#[path = "../../src/threads.rs"]
mod threads;
#[path = "../../src/time_limit.rs"]
mod time_limit;
mod turns;
#[path = "../../src/wait.rs"]
mod wait;
#[path = "../../src/coroutine/woken.rs"]
mod woken;

use atomic::{AtomicU64, Ordering};
use futex::Futex;
use ring::Watched;
use ring::bell::{ASLEEP, Bell};
use ring::client::Client;
use ring::layout::Geometry;
use ring::server::Server;
use rouse::{DOWN, Rouse};
use threads::Caller;
use wait::{Gone, Patience, Platform, Waiter};
use woken::{Turns, Woken};

fn memory(slots: usize) -> (Arc<[AtomicU64]>, Geometry) {
    let geometry = Geometry::new(slots, 8).unwrap();
    ((0..geometry.words()).map(|_| AtomicU64::new(0)).collect(), geometry)
}

impl Platform for Futex {
    fn now(&self) -> u64 {
        0
    }

    fn relax(&self) {}

    fn give_way(&self) {
        thread::yield_now();
    }

    fn sleep(&self, bell: &AtomicU64) -> Result<(), Gone> {
        self.sleeps_while(|| bell.load(Ordering::Relaxed) == ASLEEP);
        Ok(())
    }

    fn wake(&self, _: &AtomicU64) {
        self.wakes();
    }
}

/// A futex of two words: who sleeps by it may be roused by threads of its own.
#[derive(Default)]
struct Pair {
    futex: Futex,
    own: Rouse,
}

impl Platform for Pair {
    fn now(&self) -> u64 {
        0
    }

    fn relax(&self) {}

    fn give_way(&self) {
        thread::yield_now();
    }

    fn sleep(&self, bell: &AtomicU64) -> Result<(), Gone> {
        if !self.own.lies_down()? {
            return Ok(());
        }
        let own = self.own.word();
        self.futex
            .sleeps_while(|| bell.load(Ordering::Relaxed) == ASLEEP && own.load(Ordering::Relaxed) == DOWN);
        self.own.rises();
        Ok(())
    }

    fn wake(&self, _: &AtomicU64) {
        self.futex.wakes();
    }

    fn rouse(&self) {
        if self.own.rouse() {
            self.futex.wakes();
        }
    }
}

/// Who sleeps at once.
const SLEEPER: Patience = Patience { spin: 0, yields: 0 };

/// In every order with that number of preemptions at most; with one more if TOLLWAY_LONG is set (`make soak orderings`).
fn check(preemptions: usize, model: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions + usize::from(std::env::var_os("TOLLWAY_LONG").is_some()));
    builder.check(model);
}

/// Somebody writes and looks at the bell, somebody asks and looks: were the fences not there, both could look too early.
#[test]
fn no_wake_up_is_lost() {
    check(4, || {
        let words: Arc<[AtomicU64; 2]> = Arc::new([AtomicU64::new(0), AtomicU64::new(0)]);
        let futex = Arc::new(Futex::default());
        let writer = thread::spawn({
            let (words, futex) = (words.clone(), futex.clone());
            move || {
                words[1].store(7, Ordering::Release);
                if Bell(&words[0]).answer() {
                    futex.wake(&words[0]);
                }
            }
        });
        // Loom finds a deadlock where nobody wakes it.
        let mut waiter = Waiter::new(futex, SLEEPER);
        waiter.wait(Bell(&words[0]), || words[1].load(Ordering::Acquire) == 7).unwrap();
        writer.join().unwrap();
    });
}

/// Another thread of its process rouses who sleeps by a bell, which a hostile end silences meanwhile, and says again that it is to be rung.
#[test]
fn no_rousing_is_lost_whatever_stands_in_the_bell() {
    check(3, || {
        let pair = Arc::new(Pair::default());
        let words: Arc<[AtomicU64; 2]> = Arc::new([AtomicU64::new(0), AtomicU64::new(0)]);
        let hostile = thread::spawn({
            let words = words.clone();
            move || {
                words[0].store(0, Ordering::Relaxed);
                words[0].store(ASLEEP, Ordering::Relaxed);
            }
        });
        let rousing = thread::spawn({
            let (pair, words) = (pair.clone(), words.clone());
            move || {
                words[1].store(7, Ordering::Relaxed);
                if pair.own.rouse() {
                    pair.futex.wakes();
                }
            }
        });
        let mut waiter = Waiter::new(pair, SLEEPER);
        waiter.wait(Bell(&words[0]), || words[1].load(Ordering::Relaxed) == 7).unwrap();
        rousing.join().unwrap();
        hostile.join().unwrap();
    });
}

/// The other end goes while one is about to sleep, and has left something or nothing.
#[test]
fn nobody_sleeps_on_when_the_other_is_gone() {
    check(4, || {
        let pair = Arc::new(Pair::default());
        let word = AtomicU64::new(0);
        let going = thread::spawn({
            let pair = pair.clone();
            move || {
                if pair.own.ends() {
                    pair.futex.wakes();
                }
            }
        });
        let mut waiter = Waiter::new(pair, SLEEPER);
        assert_eq!(waiter.wait(Bell(&word), || false), Err(Gone));
        going.join().unwrap();
    });
}

/// Requests go there and replies come back through a ring that is used again, each end asleep whenever it has nothing to do.
#[test]
fn every_request_is_answered_once_by_what_it_asked() {
    const REQUESTS: u64 = 3;
    check(2, || {
        let (memory, geometry) = memory(1);
        let futexes = [(); 2].map(|()| Arc::new(Futex::default()));
        let mut client = Client::new(memory.clone(), geometry);
        let answering = thread::spawn({
            let mut server = Server::new(memory, geometry);
            let [mine, theirs] = futexes.clone();
            move || {
                let mut waiter = Waiter::new(mine, SLEEPER);
                for _ in 0..REQUESTS {
                    waiter.wait(server.bell(), || server.has_some()).unwrap();
                    let request = server.take().unwrap().unwrap();
                    let mut number = [0; 8];
                    assert_eq!(server.read(&request, &mut number), 8);
                    let answer = u64::from_ne_bytes(number) + 100;
                    server.answer(request, 1, &answer.to_ne_bytes());
                    if server.theirs().answer() {
                        theirs.wake(server.theirs().0);
                    }
                }
            }
        });
        let [theirs, mine] = futexes;
        let mut waiter = Waiter::new(mine, SLEEPER);
        for number in 0..REQUESTS {
            client.send(0, &number.to_ne_bytes()).unwrap();
            if client.theirs().answer() {
                theirs.wake(client.theirs().0);
            }
            waiter.wait(client.bell(), || client.has_some()).unwrap();
            let reply = client.take().unwrap().unwrap();
            let mut answer = [0; 8];
            assert_eq!(client.read(&reply, &mut answer), 8);
            assert_eq!(u64::from_ne_bytes(answer), number + 100);
            client.release(reply);
        }
        answering.join().unwrap();
    });
}

/// Several are on their way at a time, and answered in another order.
#[test]
fn several_at_a_time_are_told_apart() {
    check(3, || {
        let (memory, geometry) = memory(2);
        let mut client = Client::new(memory.clone(), geometry);
        let answering = thread::spawn(move || {
            let mut server = Server::new(memory, geometry);
            let mut requests = Vec::new();
            while requests.len() < 2 {
                match server.take().unwrap() {
                    Some(request) => requests.push(request),
                    None => thread::yield_now(),
                }
            }
            while let Some(request) = requests.pop() {
                let mut number = [0; 8];
                server.read(&request, &mut number);
                server.answer(request, number[0].into(), &[number[0] + 1]);
            }
        });
        let slots = [10, 20].map(|number| client.send(0, &[number]).unwrap());
        let mut seen = 0;
        while seen < 2 {
            let Some(reply) = client.take().unwrap() else {
                thread::yield_now();
                continue;
            };
            let mut answer = [0];
            client.read(&reply, &mut answer);
            let asked = if reply.slot() == slots[0] { 10 } else { 20 };
            assert_eq!((answer[0], reply.tag()), (asked + 1, asked.into()));
            client.release(reply);
            seen += 1;
        }
        answering.join().unwrap();
    });
}

/// Two threads wake tasks of one word, and of two, while the executor takes what there is and sleeps whenever that is nothing.
#[test]
fn every_task_that_is_woken_is_polled() {
    for numbers in [[(0, 3), (0, 4)], [(1, 3), (1, 64)], [(2, 3), (5, 3)]] {
        check(1, move || {
            let pair = Arc::new(Pair::default());
            let woken = Arc::new(Woken::new(65));
            let waking = numbers.map(|(priority, number)| {
                let (pair, woken) = (pair.clone(), woken.clone());
                thread::spawn(move || {
                    if woken.wake_from_elsewhere(priority, number) && pair.own.rouse() {
                        pair.futex.wakes();
                    }
                })
            });
            let bell = AtomicU64::new(0);
            let mut waiter = Waiter::new(pair, SLEEPER);
            let mut turns = Turns::default();
            let mut polled = Vec::new();
            while polled.len() < 2 {
                match woken.next(&mut turns) {
                    Some(number) => polled.push(number),
                    None => {
                        woken.waits();
                        waiter.wait(Bell(&bell), || woken.is_any()).unwrap();
                        woken.waits_no_more();
                    }
                }
            }
            polled.sort_unstable();
            assert_eq!(polled, numbers.map(|(_, number)| number));
            assert_eq!(woken.next(&mut turns), None);
            waking.into_iter().for_each(|waking| waking.join().unwrap());
        });
    }
}

/// A server that answers so many requests with what they asked, plus 100, and sleeps in between.
fn answers(
    requests: usize,
    memory: Arc<[AtomicU64]>,
    geometry: Geometry,
    mine: Arc<Pair>,
    theirs: Arc<Pair>,
) {
    let mut server = Server::new(memory, geometry);
    let mut waiter = Waiter::new(mine, SLEEPER);
    for _ in 0..requests {
        waiter.wait(server.bell(), || server.has_some()).unwrap();
        let request = server.take().unwrap().unwrap();
        let mut number = [0];
        server.read(&request, &mut number);
        server.answer(request, 0, &[number[0] + 100]);
        if server.theirs().answer() {
            theirs.wake(server.theirs().0);
        }
    }
}

/// What [`Caller`] needs of a platform: it wakes the server, and sleeps for the client.
struct Both {
    mine: Arc<Pair>,
    theirs: Arc<Pair>,
}

impl Platform for Both {
    fn now(&self) -> u64 {
        0
    }

    fn relax(&self) {}

    fn give_way(&self) {
        thread::yield_now();
    }

    fn sleep(&self, bell: &AtomicU64) -> Result<(), Gone> {
        self.mine.sleep(bell)
    }

    fn wake(&self, bell: &AtomicU64) {
        self.theirs.wake(bell);
    }

    fn rouse(&self) {
        self.mine.rouse();
    }
}

/// Two threads at one client's end, with a slot for each or one for both, and a server that sleeps: each has its own reply.
#[test]
fn threads_at_one_end_have_their_own_replies() {
    for slots in [1, 2] {
        check(1, move || {
            let (memory, geometry) = memory(slots);
            let [servers, clients] = [(); 2].map(|()| Arc::new(Pair::default()));
            let both = Arc::new(Both { mine: clients.clone(), theirs: servers.clone() });
            let caller = Arc::new(Caller::new(Client::new(memory.clone(), geometry), both, SLEEPER));
            let answering = thread::spawn(move || answers(2, memory, geometry, servers, clients));
            let asks = |caller: &Caller<_, _>, number: u8| {
                let mut reply = [0];
                assert_eq!(caller.call(0, &[number], &mut reply), Ok((0, 1)));
                assert_eq!(reply[0], number + 100);
            };
            let other = thread::spawn({
                let caller = caller.clone();
                move || asks(&caller, 1)
            });
            asks(&caller, 2);
            other.join().unwrap();
            answering.join().unwrap();
        });
    }
}

/// One thread drops its request while another waits for the only slot.
#[test]
fn a_thread_that_goes_leaves_its_slot() {
    check(2, || {
        let (memory, geometry) = memory(1);
        let [servers, clients] = [(); 2].map(|()| Arc::new(Pair::default()));
        let both = Arc::new(Both { mine: clients.clone(), theirs: servers.clone() });
        let caller = Arc::new(Caller::new(Client::new(memory.clone(), geometry), both, SLEEPER));
        drop(caller.send(0, &[1]).unwrap());
        let answering = thread::spawn(move || answers(2, memory, geometry, servers, clients));
        assert_eq!(caller.call(0, &[2], &mut [0]), Ok((0, 1)));
        answering.join().unwrap();
    });
}
