//! When a whole card tells a tenant of several queues: what is held back for each of them, what for all.

use std::thread;
use std::time::{Duration, Instant};

use tollway_cipher::engine::device::{Delivery, Options as CardOptions};
use tollway_cipher::engine::driver::{DataQueue, Driver, Handle, Options, Waiting};
use tollway_virtio::Span;
use tollway_virtio::order::Share;

use crate::KEY;
use crate::tenancy::{ENCRYPT, PATIENCE, Served, encrypts, operation};

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
/// often the function was, which is so often at least.
fn driven(delivery: &Delivery, wanted: u64) -> (Vec<u64>, u64) {
    let served = served(delivery);
    let (mut driver, session) = tenant(&served);
    let (free, before) = (driver.free(), interrupts(&served));
    let is_wanted = || interrupts(&served) < before + wanted;
    let told = thread::scope(|scope| {
        let drives = |(number, queue): (usize, &mut DataQueue)| {
            let mut token = 0;
            while is_wanted() {
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
    let gap = Duration::from_millis(5);
    let capped = Delivery::Capped { gap };
    let begun = Instant::now();
    let (told, interrupts) = driven(&capped, 200);
    let gaps = (begun.elapsed().as_nanos() / gap.as_nanos()) as u64;
    println!("{told:?} {interrupts} in {gaps} gaps");
    // One at once, and the answer to the request for a session.
    assert!(interrupts <= gaps + 2, "{interrupts} interrupts in {gaps} gaps");
    // Whose thread has no processor for a while is told less often; a queue that has no turn would hardly be told at all.
    let (least, most) = (told.iter().min().unwrap(), told.iter().max().unwrap());
    assert!(4 * least >= *most, "some queues are told less often than others: {told:?}");
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
    let options = CardOptions { queues: QUEUES, ..CardOptions::default() };
    let served = Served::with(1, &options, |_, function| function.delivery = held.clone());
    let (mut driver, session) = tenant(&served);
    let (at, queue) = (driver.free(), &mut driver.queues[0]);
    served.card.change(1, Share::default(), Delivery::Each);
    let mut witness = served.driver(1, &Options { queues: QUEUES, ..Options::default() });
    let asked_after = witness.open(ENCRYPT, &KEY).unwrap().unwrap();
    for (round, delivery) in [Delivery::Each, held.clone(), Delivery::Never].into_iter().enumerate() {
        served.card.change(0, Share::default(), held.clone());
        let before = interrupts(&served);
        asks(queue, session, at, 5);
        served.wait_until(|card| card.status().functions[0].counts.requests == round as u64 + 1);
        // Whoever asks after it is served in a later turn of the engine: it has told by then what it tells at once.
        encrypts(&mut witness, 0, &KEY, asked_after, 64, 2, 1);
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
        Delivery::Capped { gap: Duration::from_secs(1000) },
    ] {
        let served = served(&delivery);
        // By the rule of requests the first of these would not end within the time that a tenant waits.
        let (mut driver, session) = tenant(&served);
        for _ in 0..20 {
            let other = driver.open(ENCRYPT, &KEY).unwrap().unwrap();
            driver.close(other).unwrap();
        }
        driver.close(session).unwrap();
    }
}
