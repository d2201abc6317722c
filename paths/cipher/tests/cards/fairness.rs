//! A tenant whose queue is full of the smallest requests, and fifteen others that ask for more at a time: who is served how often,
//! driven by one thread. `scripts/bench` holds the same to the bar, by `examples/card`, on a machine that does nothing else: the one
//! of the fifteen that has it worst keeps nine tenths of its share, and its p99 within twice what it was.
//!
//! Here other programs have processors, too. So an engine is lent, and what is shared is the processor time that it had.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use tollway_cipher::engine::device::{Engine, Options as CardOptions};
use tollway_cipher::engine::driver::{Driver, Handle, Options, Through, Waiting};
use tollway_cipher::engine::protocol::Status;
use tollway_host::cpu::{allowed_cpus, pin_current_thread};
use tollway_host::samplers::thread_time;
use tollway_virtio::Span;

use crate::KEY;
use crate::pause::pause;
use crate::tenancy::{ENCRYPT, PATIENCE, Served, ask, encrypts, operation};
use crate::turn::turn;

const TENANTS: usize = 16;
/// How often it is looked in turns, and rounds of the engine in each: a millisecond of turns, or one turn.
const TURNS: u32 = 5;
const ROUNDS: u32 = 100;

/// What each must keep of its share. The bar is 0.9, and asks for a machine that does nothing else (`scripts/bench`): here what others
/// leave in caches is paid by tenants.
const KEPT: f64 = 0.5;

struct Tenant {
    driver: Driver,
    session: Handle,
    bytes: u32,
    free: Vec<u64>,
    done: u64,
}

impl Tenant {
    fn new(served: &Served, function: usize, bytes: u32, depth: u16, sessions: Through) -> Tenant {
        let options = Options {
            waiting: Waiting::Busy,
            bytes: 2 * bytes as usize * usize::from(depth),
            depth,
            sessions,
            ..Options::default()
        };
        let mut driver = served.driver(function, &options);
        let session = driver.open(ENCRYPT, &KEY).unwrap().unwrap();
        Tenant { driver, session, bytes, free: (0..depth.into()).collect(), done: 0 }
    }

    /// Takes what is done, and asks for as much again.
    fn drive(&mut self) {
        let (first, queue) = (self.driver.free(), &mut self.driver.queues[0]);
        while let Some(done) = queue.take().unwrap() {
            assert_eq!(done.status, Status::Ok);
            self.free.push(done.token);
            self.done += 1;
        }
        while let Some(place) = self.free.pop() {
            let at = first + 2 * self.bytes as usize * place as usize;
            let source = [Span { at, bytes: self.bytes }];
            let result = [Span { at: at + self.bytes as usize, bytes: self.bytes }];
            assert!(queue.submit(place, &operation(self.session, &[1; 16], &source, &result)).unwrap());
        }
        queue.kick();
    }
}

/// Requests of each but the last, who is like them or floods, in a second of the engine's processor time. All have so much on its way
/// that they want something all the time: the engine works only where they have been driven.
fn others(served: &Served, engine: &mut Engine, floods: bool) -> [f64; TENANTS - 1] {
    let tenant = |number: usize| {
        let (bytes, depth) = if floods && number == TENANTS - 1 { (16, 512) } else { (4096, 128) };
        Tenant::new(served, number, bytes, depth, Through::Messages)
    };
    let mut tenants: [Tenant; TENANTS] = std::array::from_fn(tenant);
    let all = || served.card.status().functions.iter().map(|function| function.counts.requests).sum::<u64>();
    let mut worked = Duration::ZERO;
    for _ in 0..ROUNDS {
        tenants.iter_mut().for_each(Tenant::drive);
        let (before, begun) = (all(), thread_time::thread());
        engine.work(|| all() == before).unwrap();
        worked += thread_time::thread() - begun;
    }
    tenants.iter_mut().for_each(Tenant::drive);
    std::array::from_fn(|number| tenants[number].done as f64 / worked.as_secs_f64())
}

/// An engine that is lent goes back when it is not wanted any more, though there is always something to do.
#[test]
fn an_engine_goes_back_while_everybody_always_wants_more() {
    let _turn = turn();
    let options = CardOptions { engines: 0, lent: 1, ..CardOptions::default() };
    let mut served = Served::start(TENANTS, &options);
    let mut engine = served.card.engine().unwrap();
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        let asks = scope.spawn(|| {
            let _ends = Ends(&is_over);
            // By messages: nobody serves the control queue yet.
            let sessions = Through::Messages;
            let tenant = |number| Tenant::new(&served, number, 4096, 256, sessions);
            let mut tenants: Vec<Tenant> = (0..TENANTS).map(tenant).collect();
            let begun = Instant::now();
            while !is_over.load(Ordering::Relaxed) {
                assert!(begun.elapsed() < PATIENCE, "the engine does not come back");
                tenants.iter_mut().for_each(Tenant::drive);
            }
        });
        let lacks = || {
            let functions = &served.card.status().functions[..TENANTS];
            functions.iter().any(|function| function.counts.requests == 0)
        };
        engine.work(|| lacks() && !is_over.load(Ordering::Relaxed)).unwrap();
        // It is back, though they want more.
        assert!(!lacks() && !is_over.load(Ordering::Relaxed), "{:?}", served.card.status());
        is_over.store(true, Ordering::Relaxed);
        asks.join().unwrap();
    });
}

/// Sets it at its end, however that comes.
pub struct Ends<'e>(pub &'e AtomicBool);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Bytes that are done while an engine is displaced.
const DISPLACED: u64 = 1 << 30;

/// An engine is displaced again and again, in the midst of long requests: these are charged what it worked, and not a turn each. One
/// that asks for 16 times as much at a time has no more of the card's time than another.
#[test]
fn whose_requests_are_displaced_has_no_more_than_its_share() {
    let _turn = turn();
    let cpus = allowed_cpus().unwrap();
    let options = CardOptions { engines: 0, lent: 1, ..CardOptions::default() };
    let mut served = Served::start(2, &options);
    let mut engine = served.card.engine().unwrap();
    let is_over = AtomicBool::new(false);
    let kept = thread::scope(|scope| {
        let _ends = Ends(&is_over);
        scope.spawn(|| {
            pin_current_thread(cpus[0]).unwrap();
            engine.work(|| !is_over.load(Ordering::Relaxed)).unwrap();
        });
        scope.spawn(|| {
            pin_current_thread(cpus[0]).unwrap();
            while !is_over.load(Ordering::Relaxed) {
                pause(Duration::from_micros(100));
            }
        });
        pin_current_thread(*cpus.last().unwrap()).unwrap();
        let tenant = |(number, bytes, depth)| Tenant::new(&served, number, bytes, depth, Through::Messages);
        let mut tenants = [(0, 1 << 20, 4), (1, 1 << 16, 64)].map(tenant);
        let bytes = |tenant: &Tenant| tenant.done * u64::from(tenant.bytes);
        while tenants.iter().map(bytes).sum::<u64>() < DISPLACED {
            tenants.iter_mut().for_each(Tenant::drive);
        }
        println!("{} bytes at a MiB, {} at 64 KiB", bytes(&tenants[0]), bytes(&tenants[1]));
        bytes(&tenants[1]) as f64 / bytes(&tenants[0]).max(1) as f64
    });
    // 0.695 beside four busy programs and real-time bursts; by a turn each it would have a sixteenth.
    assert!(kept >= 0.3, "{kept} of what the other has");
}

/// How often somebody else asks for something meanwhile.
const ASKED: u64 = 200;

/// Requests of a MiB that the card does in the mean until it has answered two messages, at most. Most of them it does because who is to
/// ask or to answer has no processor: where messages wait until the tenant rests there is no end of them.
const MEANWHILE: u64 = 32;

/// A tenant keeps the card busy with the longest requests there are, and makes and closes sessions meanwhile: others' messages are answered
/// after a turn of it, and not when it rests. That who waits is the next is a test of the lock (`tollway_virtio::courtesy`).
#[test]
fn who_always_wants_more_keeps_nobodys_messages_waiting() {
    let _turn = turn();
    let served = Served::start(2, &CardOptions::default());
    let is_over = AtomicBool::new(false);
    let by_messages = Options { sessions: Through::Messages, ..Options::default() };
    let meanwhile: u64 = thread::scope(|scope| {
        let _ends = Ends(&is_over);
        let Tenant { driver, session, .. } = Tenant::new(&served, 0, 1 << 20, 8, Through::Messages);
        let first = driver.free();
        let Driver { mut sessions, mut queues, .. } = driver;
        let mut queue = queues.remove(0);
        let is_over = &is_over;
        scope.spawn(move || {
            let (mut free, bytes): (Vec<u64>, u32) = ((0..8).collect(), 1 << 20);
            while !is_over.load(Ordering::Relaxed) {
                while let Some(done) = queue.take().unwrap() {
                    free.push(done.token);
                }
                while let Some(place) = free.pop() {
                    let at = first + 2 * bytes as usize * place as usize;
                    let source = [Span { at, bytes }];
                    let result = [Span { at: at + bytes as usize, bytes }];
                    assert!(queue.submit(place, &operation(session, &[1; 16], &source, &result)).unwrap());
                }
                queue.kick();
                thread::yield_now();
            }
        });
        scope.spawn(move || {
            while !is_over.load(Ordering::Relaxed) {
                let session = sessions.open(ENCRYPT, &KEY).unwrap().unwrap();
                assert_eq!(sessions.close(session).unwrap(), Status::Ok);
                pause(Duration::from_millis(2));
            }
        });
        let mut other = served.driver(1, &by_messages);
        let done = || served.card.status().functions[0].counts.requests;
        let ask = |_| {
            pause(Duration::from_millis(2));
            let before = done();
            let session = other.open(ENCRYPT, &KEY).unwrap().unwrap();
            other.close(session).unwrap();
            done() - before
        };
        (0..ASKED).map(ask).sum()
    });
    println!("{meanwhile} requests of a MiB while {ASKED} were answered");
    assert!(meanwhile <= MEANWHILE * ASKED, "{meanwhile} requests while {ASKED} were answered");
}

/// In turns beside a like one and beside a flood: the one that has it worst beside the flood has nearly what each has beside a like one.
#[test]
fn one_that_floods_leaves_each_of_the_others_its_share() {
    let _turn = turn();
    let options = CardOptions { engines: 0, lent: 1, ..CardOptions::default() };
    let mut served = Served::start(TENANTS, &options);
    let mut engine = served.card.engine().unwrap();
    let (mut share, mut kept) = (0.0, [0.0; TENANTS - 1]);
    for _ in 0..TURNS {
        share += others(&served, &mut engine, false).iter().sum::<f64>() / (TENANTS - 1) as f64;
        let beside = others(&served, &mut engine, true);
        kept.iter_mut().zip(&beside).for_each(|(all, rate)| *all += rate);
    }
    let worst = kept.iter().copied().fold(f64::INFINITY, f64::min) / share;
    println!("who has it worst keeps {worst:.2} of its share");
    assert!(worst >= KEPT, "who has it worst keeps {worst:.2} of its share");
    // And what is done is right, for whoever comes next.
    served.wait_until(|card| card.status().functions.iter().all(|function| !function.connected));
    let mut driver = served.driver(0, &Options { sessions: Through::Messages, ..Options::default() });
    let session = driver.open(ENCRYPT, &KEY).unwrap().unwrap();
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        let _ends = Ends(&is_over);
        scope.spawn(|| engine.work(|| !is_over.load(Ordering::Relaxed)).unwrap());
        encrypts(&mut driver, 0, &KEY, session, 64, 100, 8);
        let span = [Span { at: driver.free(), bytes: 16 }];
        assert_eq!(ask(&mut driver, &operation(session, &[0; 16], &span, &span)).status, Status::Ok);
    });
}
