//! Threads that fail: an engine in the middle of a turn, under all locks that a turn has, and the one that answers messages.

use std::cell::Cell;
use std::io::Read;
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use tollway_virtio::Span;
use tollway_virtio::backend::Refused;
use tollway_virtio::socket::{Listener, Meeting};

use super::*;
use crate::engine::driver::{Driver, Handle, Operation, Options as DriverOptions, Through};
use crate::engine::protocol::{Status as Outcome, Work};
use crate::engine::suite::{Algorithm, CipherMode, Direction};

const ENCRYPT: Algorithm = Algorithm::Cipher(CipherMode::Cbc, Direction::Encrypt);

/// Requests of each tenant, so long that the engine looks at the time after each.
const REQUESTS: u32 = 3;
const BYTES: u32 = 8192;

/// How long anything may take.
const LONG: Duration = Duration::from_secs(20);

/// A card of which tenants of this process are the functions; its user lends all engines.
fn card(functions: usize, options: &Options) -> (Card, Receiver<Told>) {
    let function = |number: usize| NewFunction::new(format!("f{number}"), Meeting::Inside);
    let (sender, told) = channel();
    let tell = move |told| _ = sender.send(told);
    (Card::start((0..functions).map(function).collect(), options, tell).unwrap(), told)
}

fn tenant(card: &Card, function: usize) -> (Driver, Handle) {
    // By messages: nobody serves control queues here.
    let options = DriverOptions { sessions: Through::Messages, ..DriverOptions::default() };
    let mut driver = Driver::inside(card.inside(function).unwrap(), &options).unwrap();
    let session = driver.open(ENCRYPT, &[7; 16]).unwrap().unwrap();
    (driver, session)
}

fn submit((driver, session): &mut (Driver, Handle)) {
    let (at, session) = (driver.free(), *session);
    let span = |at: usize| [Span { at, bytes: BYTES }];
    let (source, result) = (span(at), span(at + BYTES as usize));
    let (iv, associated) = (&[1; 16], &[]);
    let (source, result) = (&source, &result);
    let operation = Operation { session, work: Work::Encrypt, iv, source, associated, result, digest: 0 };
    for token in 0..REQUESTS.into() {
        assert!(driver.queues[0].submit(token, &operation).unwrap());
    }
    driver.queues[0].kick();
}

/// The outcome of all that was submitted, and the last result.
fn taken((driver, _): &mut (Driver, Handle)) -> (Vec<Outcome>, Vec<u8>) {
    let mut found = Vec::new();
    while let Some(done) = driver.queues[0].take().unwrap() {
        found.push(done.status);
    }
    let mut result = vec![0; BYTES as usize];
    driver.area().read(driver.free() + BYTES as usize, &mut result);
    (found, result)
}

/// An engine of a card has its turn with a function, and panics when it looks at the time for so manieth a time: then it has the
/// function's queues, counts and sessions.
fn fails(card: &Card, engine: (usize, usize), function: usize, looks: u32) {
    let runs = Runs { front: card.front.clone(), card: engine.0, engine: engine.1 };
    let turn = move || {
        let pool = &runs.front.cards[runs.card];
        let left = Cell::new(looks);
        let now = || {
            assert!(left.replace(left.get().saturating_sub(1)) > 0, "an engine that fails in a turn");
            pool.now()
        };
        pool.serves(runs.engine, Some(function));
        runs.front.functions[function].serve(usize::MAX, None, &now);
    };
    thread::spawn(turn).join().expect_err("it has not failed");
}

#[test]
fn an_engine_that_fails_in_a_turn_harms_whom_it_served_and_nobody_else() {
    // At the turn's beginning, after each request, and at its end.
    for looks in 0..REQUESTS + 2 {
        let options = Options { cards: 2, engines: 0, lent: 1, ..Options::default() };
        let (mut card, told) = card(4, &options);
        let mut tenants: Vec<_> = (0..4).map(|function| tenant(&card, function)).collect();
        let _failed = card.engine().unwrap();
        let mut engine = card.engine().unwrap();
        tenants.iter_mut().for_each(submit);
        fails(&card, (0, 0), 2, looks);
        assert_eq!(engine.turn(), 3 * REQUESTS as usize, "the others'");
        let (all, right) = taken(&mut tenants[1]);
        assert_eq!(all, [Outcome::Ok; REQUESTS as usize]);
        assert_ne!(right, [0; BYTES as usize]);
        for other in [0, 3] {
            assert_eq!(taken(&mut tenants[other]), (all.clone(), right.clone()), "of {other}");
        }
        let found = |card: &Card, number: usize| {
            let function = &card.status().functions[number];
            (function.card, function.served, function.counts.refused_chains)
        };
        let one = Some(1);
        assert_eq!(
            [0, 1, 2, 3].map(|number| found(&card, number)),
            [(one, true, 0), (one, true, 0), (one, false, 1), (one, true, 0)]
        );
        // Whom it served sets its queues up anew.
        tenants.remove(2);
        let mut again = tenant(&card, 2);
        submit(&mut again);
        assert_eq!(engine.turn(), REQUESTS as usize);
        assert_eq!(taken(&mut again), (all, right));
        let told: Vec<Told> = told.try_iter().collect();
        let failed = [Told::Failed(0), Told::Refused(2, None, Refused::Failed)];
        assert!(failed.iter().all(|event| told.contains(event)), "{told:?}");
        assert!(!told.contains(&Told::Over), "{told:?}");
    }
}

/// A table can be long where there is little to do: a turn of many such is no longer than another.
#[test]
fn a_turn_looks_at_the_time_after_each_long_table() {
    let (card, _told) = card(1, &Options { engines: 0, lent: 1, ..Options::default() });
    let (sessions, indirect) = (Through::Messages, 1100);
    let options = DriverOptions { sessions, indirect, bytes: 1 << 16, ..DriverOptions::default() };
    let mut driver = Driver::inside(card.inside(0).unwrap(), &options).unwrap();
    let session = driver.open(ENCRYPT, &[7; 16]).unwrap().unwrap();
    let at = driver.free();
    let result = [Span { at: at + 4096, bytes: 16 }];
    for (pieces, most) in [(16, 8), (1008, 1)] {
        let source: Vec<Span> = (0..pieces).map(|byte| Span { at: at + byte, bytes: 1 }).collect();
        let result = [Span { bytes: pieces as u32, ..result[0] }];
        for token in 0..16 {
            let operation = Operation::new(session, Work::Encrypt, &[1; 16], &source, &result);
            assert!(driver.queues[0].submit(token, &operation).unwrap());
        }
        driver.queues[0].kick();
        // A time that is over at the first look.
        let looks = Cell::new(0);
        let now = || looks.replace(looks.get() + 1) * 100;
        let turn = card.front.functions[0].serve(usize::MAX, Some(1), &now);
        assert!((1..=most).contains(&turn.requests), "{} requests of {pieces} pieces", turn.requests);
        card.front.functions[0].serve(usize::MAX, None, &now);
        for _ in 0..16 {
            assert_eq!(driver.queues[0].take().unwrap().unwrap().status, Outcome::Ok);
        }
    }
}

#[test]
fn a_card_without_another_is_over_when_it_fails_and_ends_when_it_is_told_to() {
    let (card, told) = card(2, &Options { lent: 1, ..Options::default() });
    let mut tenants: Vec<_> = (0..2).map(|function| tenant(&card, function)).collect();
    fails(&card, (0, 1), 0, 0);
    assert!(told.try_iter().any(|event| event == Told::Over));
    // What the failed one had can be asked for, and its tenant goes.
    let status = card.status();
    assert_eq!((status.cards[0].runs, status.functions[0].served), (false, false));
    assert_eq!(status.functions[0].sessions, 1);
    tenants.remove(0);
    assert_eq!(card.status().functions[0].sessions, 0);
    let begun = Instant::now();
    card.stop();
    // Threads that do not end are left after two seconds.
    assert!(begun.elapsed() < Duration::from_secs(2), "it waited for a thread that does not end");
}

/// Without it nobody is taken in any more: whoever has the card ends it, so that it can be started again.
#[test]
fn the_end_of_what_answers_messages_is_told_unless_it_was_told_to() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.sock");
    for fails in [true, false] {
        let meeting = Meeting::Listen(Listener::bind(&path, 0o600).unwrap());
        let (sender, told) = channel();
        let tell = move |event| {
            let is_last = fails && matches!(event, Told::Connected(_));
            let _ = sender.send(event);
            assert!(!is_last, "a thread for messages that fails");
        };
        let card = Card::start(vec![NewFunction::new("f", meeting)], &Options::default(), tell).unwrap();
        let mut peer = UnixStream::connect(&path).unwrap();
        assert_eq!(told.recv_timeout(LONG), Ok(Told::Connected(0)));
        if fails {
            assert_eq!(told.recv_timeout(LONG), Ok(Told::Over));
            // Nor does its peer wait for an answer.
            peer.set_read_timeout(Some(LONG)).unwrap();
            assert_eq!(peer.read(&mut [0]).unwrap(), 0);
        }
        card.stop();
        let rest: Vec<Told> = told.try_iter().collect();
        assert!(!rest.contains(&Told::Over), "{rest:?}");
    }
}
