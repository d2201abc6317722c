//! When a whole card tells a tenant of several queues: what is held back for each of them, what for all.

use std::thread;
use std::time::{Duration, Instant};

use tollway_cipher::engine::device::{Delivery, Options as CardOptions};
use tollway_cipher::engine::driver::{DataQueue, Driver, Handle, Options, Waiting};
use tollway_virtio::Span;
use tollway_virtio::order::Share;

use super::KEY;
use super::tenancy::{ENCRYPT, PATIENCE, Served, operation};

const QUEUES: usize = 4;

fn served(delivery: &Delivery) -> Served {
    let options = CardOptions { queues: QUEUES, ..CardOptions::default() };
    Served::with(0, &options, |_, function| function.delivery = delivery.clone())
}

fn tenant(served: &Served) -> (Driver, Handle) {
    let options = Options { queues: QUEUES, waiting: Waiting::Interrupt, ..Options::default() };
    let mut driver = served.driver(0, &options);
    let session = driver.open(ENCRYPT, &KEY).unwrap().unwrap();
    (driver, session)
}

fn asks(queue: &mut DataQueue, session: Handle, at: usize, token: u64) {
    let span = [Span { at, bytes: 64 }];
    assert!(queue.submit(token, &operation(session, &[1; 16], &span, &span)).unwrap());
    queue.kick();
}

fn interrupts(served: &Served) -> u64 {
    served.card.status().functions[0].counts.interrupts
}

/// Each queue with a thread of its own that always has a request on its way: how often each was called out of its sleep, and how
/// often the function was.
fn driven(delivery: &Delivery, time: Duration) -> (Vec<u64>, u64) {
    let served = served(delivery);
    let (mut driver, session) = tenant(&served);
    let (free, before) = (driver.free(), interrupts(&served));
    let begun = Instant::now();
    let told = thread::scope(|scope| {
        let drives = |(number, queue): (usize, &mut DataQueue)| {
            let mut token = 0;
            while begun.elapsed() < time {
                asks(queue, session, free + 64 * number, token);
                assert!(queue.wait(PATIENCE).unwrap().is_some(), "queue {number} is never told");
                token += 1;
            }
            queue.looks().wakes
        };
        let threads: Vec<_> =
            driver.queues.iter_mut().enumerate().map(|one| scope.spawn(move || drives(one))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    (told, interrupts(&served) - before)
}

#[test]
fn a_cap_is_one_of_the_function_and_its_queues_have_it_in_turns() {
    let capped = Delivery::Capped { gap: Duration::from_millis(5) };
    let time = Duration::from_secs(1);
    let (told, interrupts) = driven(&capped, time);
    println!("{told:?} {interrupts}");
    // One at once, and what each had on its way when the time was over.
    assert!(interrupts <= 200 + 1 + QUEUES as u64, "{interrupts} interrupts in a second, of 200");
    // Who has no processor is told less often, but told.
    assert!(interrupts >= 20, "{interrupts} interrupts in a second, of 200");
    let (least, most) = (told.iter().min().unwrap(), told.iter().max().unwrap());
    assert!(2 * least >= *most, "some queues are told less often than others: {told:?}");
}

#[test]
fn requests_are_counted_and_held_for_each_queue() {
    let served = served(&Delivery::Coalesced { count: 4, hold: None });
    let (mut driver, session) = tenant(&served);
    let free = driver.free();
    let before = interrupts(&served);
    // Three in each of two queues are six, and not four of any.
    for token in 0..3 {
        (0..2).for_each(|number| asks(&mut driver.queues[number], session, free + 64 * number, token));
    }
    served.wait_until(|card| card.status().functions[0].counts.requests == 6);
    assert_eq!(interrupts(&served), before);
    asks(&mut driver.queues[1], session, free + 64, 3);
    served.wait_until(|_| interrupts(&served) == before + 1);
}

/// The new rule says when, and what the old one held is not forgotten.
#[test]
fn what_was_held_is_told_when_the_rule_changes() {
    let held = Delivery::Coalesced { count: 8, hold: None };
    let served = served(&held);
    let (mut driver, session) = tenant(&served);
    let (at, queue) = (driver.free(), &mut driver.queues[0]);
    for (round, delivery) in [Delivery::Each, held.clone(), Delivery::Never].into_iter().enumerate() {
        served.card.change(0, Share::default(), held.clone());
        let before = interrupts(&served);
        asks(queue, session, at, 5);
        served.wait_until(|card| card.status().functions[0].counts.requests == round as u64 + 1);
        thread::sleep(Duration::from_millis(20));
        assert_eq!(interrupts(&served), before, "told of one, where it is to be eight");
        served.card.change(0, Share::default(), delivery);
        served.wait_until(|_| interrupts(&served) == before + 1);
        assert_eq!(queue.take().unwrap().map(|found| found.token), Some(5));
    }
}

/// Sessions are answered at once, whatever the rule of requests.
#[test]
fn the_control_queue_is_told_at_once() {
    for delivery in [
        Delivery::Never,
        Delivery::Coalesced { count: 8, hold: None },
        Delivery::Capped { gap: Duration::from_secs(2) },
    ] {
        let served = served(&delivery);
        let begun = Instant::now();
        let (mut driver, session) = tenant(&served);
        for _ in 0..20 {
            let other = driver.open(ENCRYPT, &KEY).unwrap().unwrap();
            driver.close(other).unwrap();
        }
        driver.close(session).unwrap();
        // By the rule of requests it would take 40 s, or never end.
        assert!(begun.elapsed() < Duration::from_secs(20), "{delivery:?}: {:?}", begun.elapsed());
    }
}
