//! How long a tenant had to wait for its turns, as the card tells it: beside a neighbour that keeps the card from ever sleeping.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use tollway_cipher::engine::device::Options as CardOptions;
use tollway_cipher::engine::driver::{Driver, Handle, Options, Through, Waiting};
use tollway_cipher::engine::protocol::Status;
use tollway_virtio::Span;

use crate::KEY;
use crate::asleep::Thread;
use crate::fairness::Ends;
use crate::pause::pause;
use crate::tenancy::{ENCRYPT, PATIENCE, Served, operation};

/// For how long the neighbour is busy.
const BUSY: Duration = Duration::from_millis(600);

/// Bytes of its requests: what it has on its way keeps the card for milliseconds, in which it may be away.
const LARGE: u32 = 256 << 10;

fn submit(driver: &mut Driver, session: Handle, bytes: u32) {
    let span = [Span { at: driver.free(), bytes }];
    assert!(driver.queues[0].submit(0, &operation(session, &[0; 16], &span, &span)).unwrap());
    driver.queues[0].kick();
}

/// Takes one that is done, if it is.
fn take(driver: &mut Driver) -> bool {
    let done = driver.queues[0].take().unwrap();
    done.inspect(|done| assert_eq!(done.status, Status::Ok)).is_some()
}

/// Has one request done; how long it took.
fn ask(driver: &mut Driver, session: Handle) -> Duration {
    let begun = Instant::now();
    submit(driver, session, 64);
    while !take(driver) {
        assert!(begun.elapsed() < PATIENCE, "nothing came");
        thread::yield_now();
    }
    begun.elapsed()
}

#[test]
fn a_kick_of_long_ago_is_not_taken_for_a_wait() {
    let mut served = Served::start(1, &CardOptions { engines: 0, lent: 1, ..CardOptions::default() });
    let mut engine = served.card.engine().unwrap();
    let options = Options { waiting: Waiting::Busy, sessions: Through::Messages, ..Options::default() };
    let [mut driver, mut neighbour] = [0, 1].map(|function| served.driver(function, &options));
    let [session, other] =
        [&mut driver, &mut neighbour].map(|tenant| tenant.open(ENCRYPT, &KEY).unwrap().unwrap());
    let (is_busy, is_over, has_gone) =
        (AtomicBool::new(false), AtomicBool::new(false), AtomicBool::new(false));
    let mut longest = Duration::ZERO;
    thread::scope(|scope| {
        let _ends = [Ends(&is_over), Ends(&has_gone)];
        let (tells, told) = mpsc::channel();
        let is_gone = &has_gone;
        scope.spawn(move || {
            tells.send(Thread::here()).unwrap();
            engine.work(|| !is_gone.load(Ordering::Acquire)).unwrap();
        });
        let card = told.recv().unwrap();
        // Both have asked before, and the card sleeps.
        longest = longest.max(ask(&mut driver, session));
        ask(&mut neighbour, other);
        card.falls_asleep();
        let (is_busy, is_over) = (&is_busy, &is_over);
        scope.spawn(move || {
            for _ in 0..32 {
                submit(&mut neighbour, other, LARGE);
            }
            is_busy.store(true, Ordering::Release);
            while !is_over.load(Ordering::Acquire) {
                while take(&mut neighbour) {
                    submit(&mut neighbour, other, LARGE);
                }
                thread::yield_now();
            }
        });
        while !is_busy.load(Ordering::Acquire) {
            thread::yield_now();
        }
        // The first of these kicks, and is served by an engine that looks for itself.
        let begun = Instant::now();
        while begun.elapsed() < BUSY {
            longest = longest.max(ask(&mut driver, session));
            pause(Duration::from_millis(2));
        }
        is_over.store(true, Ordering::Release);
        // The neighbour's are done, and the card sleeps again, or has.
        served.wait_until(|card| card.status().standing.now == 0);
        card.falls_asleep();
        longest = longest.max(ask(&mut driver, session));
    });
    let told = Duration::from_nanos(served.card.status().functions[0].waits.longest);
    assert!(
        told < longest + BUSY / 4,
        "the card tells {told:?}, and no request took longer than {longest:?}"
    );
}
