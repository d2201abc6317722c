//! How long a tenant had to wait for its turns, as the card tells it: beside a neighbour that keeps the card from ever sleeping.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use tollway_cipher::engine::device::Options as CardOptions;
use tollway_cipher::engine::driver::{Driver, Handle, Options, Waiting};
use tollway_cipher::engine::protocol::Status;
use tollway_virtio::Span;

use super::KEY;
use super::tenancy::{ENCRYPT, PATIENCE, Served, operation};

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
    let served = Served::start(1, &CardOptions::default());
    let options = Options { waiting: Waiting::Busy, ..Options::default() };
    let [mut driver, mut neighbour] = [0, 1].map(|function| served.driver(function, &options));
    let [session, other] =
        [&mut driver, &mut neighbour].map(|tenant| tenant.open(ENCRYPT, &KEY).unwrap().unwrap());
    // Both have asked before, and the card sleeps.
    ask(&mut driver, session);
    ask(&mut neighbour, other);
    thread::sleep(Duration::from_millis(20));
    let (is_busy, is_over) = (AtomicBool::new(false), AtomicBool::new(false));
    let mut longest = Duration::ZERO;
    thread::scope(|scope| {
        scope.spawn(|| {
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
            thread::sleep(Duration::from_millis(2));
        }
        is_over.store(true, Ordering::Release);
    });
    // The neighbour's are done, and the card sleeps again, or has.
    served.wait_until(|card| card.status().standing.now == 0);
    thread::sleep(Duration::from_millis(20));
    longest = longest.max(ask(&mut driver, session));
    let told = Duration::from_nanos(served.card.status().functions[0].waits.longest);
    assert!(
        told < longest + BUSY / 4,
        "the card tells {told:?}, and no request took longer than {longest:?}"
    );
}
