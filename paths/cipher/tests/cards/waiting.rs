//! Every way to learn of completions, by both doors, with event indices and without.

use std::time::{Duration, Instant};

use tollway_cipher::engine::device::Options as CardOptions;
use tollway_cipher::engine::driver::{Looks, Options, Waiting};
use tollway_virtio::order::Share;

use crate::KEY;
use crate::quiet::is_quiet;
use crate::tenancy::{ENCRYPT, PATIENCE, Served, encrypts};

/// What 500 requests of 256 bytes cost, `depth` at a time; and how often the card interrupted.
fn looks(waiting: Waiting, event_index: bool, indirect: usize, depth: u64) -> Vec<(Looks, u64)> {
    let options = Options { waiting, event_index, indirect, ..Options::default() };
    play(&options, Share::default(), 500, depth)
}

fn play(options: &Options, share: Share, rounds: u64, depth: u64) -> Vec<(Looks, u64)> {
    let served = Served::with(1, &CardOptions::default(), |_, function| function.share = share);
    let each = (0..2).map(|function| {
        let mut driver = served.driver(function, options);
        let session = driver.open(ENCRYPT, &KEY).unwrap().unwrap();
        let before = served.card.status().functions[function].counts.interrupts;
        encrypts(&mut driver, 0, &KEY, session, 256, rounds, depth);
        let interrupts = served.card.status().functions[function].counts.interrupts - before;
        assert_eq!(driver.queues[0].waiting(), options.waiting);
        (driver.queues[0].looks(), interrupts)
    });
    let each = each.collect();
    println!("{:?} {} {depth}: {each:?}", options.waiting, options.event_index);
    each
}

/// One request at a time, and no more than 500 a second: the tenant sleeps for each but the first.
fn slowly(waiting: Waiting, event_index: bool) -> Vec<(Looks, u64)> {
    let options = Options { waiting, event_index, ..Options::default() };
    play(&options, Share { limit: Some((500, 1)), ..Share::default() }, 30, 1)
}

fn sleeps(waiting: Waiting, event_index: bool) {
    for (looks, interrupts) in slowly(waiting, event_index) {
        assert!((20..=35).contains(&looks.wakes) && (20..=35).contains(&looks.sleeps), "{looks:?}");
        assert!((20..=30).contains(&interrupts), "{interrupts}");
    }
}

#[test]
fn by_interrupt() {
    for event_index in [true, false] {
        sleeps(Waiting::Interrupt, event_index);
        for (_, interrupts) in looks(Waiting::Interrupt, event_index, 8, 1) {
            // Nearly every request by itself: the card may have looked at the wish for the last one.
            assert!((450..=500).contains(&interrupts), "{interrupts}");
        }
        looks(Waiting::Interrupt, event_index, 0, 32);
    }
}

#[test]
fn by_events() {
    for event_index in [true, false] {
        sleeps(Waiting::Epoll, event_index);
        for (looks, _) in looks(Waiting::Epoll, event_index, 8, 32) {
            // Before each sleep it looks twice, and once after each of the 16 batches: never more.
            assert!(looks.wakes <= looks.sleeps, "{looks:?}");
            assert!(looks.vain <= 2 * looks.sleeps + 32, "{looks:?}");
        }
    }
}

#[test]
fn now_and_then() {
    for event_index in [true, false] {
        looks(Waiting::Periodic(Duration::from_micros(100)), event_index, 8, 32);
        for (looks, interrupts) in slowly(Waiting::Periodic(Duration::from_micros(100)), event_index) {
            // Who sleeps for longer than it wanted to finds the answer there at once.
            let least = if is_quiet() { 30 } else { 10 };
            assert!(looks.sleeps > least && looks.wakes == 0, "{looks:?}");
            assert_eq!(interrupts, 0, "it wants no calls");
        }
    }
}

#[test]
fn first_looking_then_sleeping() {
    for event_index in [true, false] {
        looks(Waiting::Hybrid(Duration::from_micros(20)), event_index, 8, 4);
        sleeps(Waiting::Hybrid(Duration::from_micros(20)), event_index);
        // Longer than anything takes: it never sleeps.
        for (looks, interrupts) in looks(Waiting::Hybrid(Duration::from_secs(10)), event_index, 8, 4) {
            assert_eq!((looks.sleeps, looks.wakes, interrupts), (0, 0, 0));
        }
    }
}

#[test]
fn looking_without_end() {
    for event_index in [true, false] {
        for (looks, interrupts) in looks(Waiting::Busy, event_index, 8, 4) {
            assert_eq!((looks.sleeps, looks.wakes, interrupts), (0, 0, 0));
        }
    }
}

#[test]
fn nobody_waits_longer_than_was_said() {
    let served = Served::start(1, &CardOptions::default());
    for waiting in [
        Waiting::Interrupt,
        Waiting::Epoll,
        Waiting::Periodic(Duration::from_millis(1)),
        Waiting::Hybrid(Duration::from_millis(5)),
        Waiting::Busy,
    ] {
        for function in 0..2 {
            let mut driver = served.driver(function, &Options { waiting, ..Options::default() });
            let begun = Instant::now();
            assert_eq!(driver.queues[0].wait(Duration::from_millis(30)).unwrap(), None);
            let took = begun.elapsed();
            assert!(took >= Duration::from_millis(29) && took < PATIENCE, "{waiting:?}: {took:?}");
        }
    }
}
