//! Several cards behind one front: who is put where, and what tenants notice when a card fails.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use tollway_cipher::engine::device::{Card, NewFunction, Options as CardOptions, Told};
use tollway_cipher::engine::driver::{Driver, Handle, Options};
use tollway_cipher::engine::protocol::Status;
use tollway_virtio::Span;
use tollway_virtio::socket::{Listener, Meeting};

use crate::KEY;
use crate::tenancy::{ENCRYPT, Served, ask, encrypts, operation, until};

fn cards(cards: usize) -> CardOptions {
    CardOptions { cards, ..CardOptions::default() }
}

fn tenant(served: &Served, function: usize) -> (Driver, Handle) {
    let mut driver = served.driver(function, &Options::default());
    let session = driver.open(ENCRYPT, &KEY).unwrap().unwrap();
    (driver, session)
}

/// The card of each function.
fn places(card: &Card) -> Vec<Option<usize>> {
    card.status().functions.iter().map(|function| function.card).collect()
}

/// The requests that each card has done, by the time that its engines worked.
fn have_worked(card: &Card) -> Vec<bool> {
    card.status().cards.iter().map(|card| card.engines.iter().sum::<f64>() > 0.0).collect()
}

#[test]
fn who_comes_is_put_on_the_card_of_which_the_least_is_entitled_to() {
    let weights = [4, 1, 1, 1, 1, 2];
    let served = Served::with(5, &cards(2), |number, function| function.share.weight = weights[number]);
    assert_eq!(places(&served.card), [None; 6]);
    let mut tenants: Vec<_> = (0..5).map(|function| Some(tenant(&served, function))).collect();
    // The first has as much as the four that came after it.
    assert_eq!(places(&served.card), [Some(0), Some(1), Some(1), Some(1), Some(1), None]);
    // In this process the same: both have four, and it was on neither.
    let inside = tenant(&served, 5);
    assert_eq!(places(&served.card)[5], Some(0));
    // Two that go make room there; who comes again is back where it was, unless elsewhere is less.
    tenants[1] = None;
    tenants[2] = None;
    served.wait_until(|card| places(card)[1..3] == [None, None]);
    assert_eq!(places(&served.card), [Some(0), None, None, Some(1), Some(1), Some(0)]);
    drop(inside);
    served.wait_until(|card| places(card)[5].is_none());
    let (mut driver, session) = tenant(&served, 5);
    assert_eq!(places(&served.card)[5], Some(1));
    encrypts(&mut driver, 0, &KEY, session, 64, 100, 8);
    assert_eq!(have_worked(&served.card), [true, true]);
}

/// All tenants of all cards at once, each card with two engines: every answer is compared.
#[test]
fn everybody_is_served_by_the_card_that_it_is_on() {
    let options = CardOptions { engines: 2, ..cards(2) };
    let served = Served::start(5, &options);
    thread::scope(|scope| {
        for function in 0..6 {
            let served = &served;
            scope.spawn(move || {
                let (mut driver, session) = tenant(served, function);
                encrypts(&mut driver, 0, &KEY, session, 1024, 400, 8);
            });
        }
    });
    // The card counts what it has done after the tenant may have it.
    served.wait_until(|card| card.status().standing.now == 0);
    let status = served.card.status();
    assert!(status.functions.iter().all(|function| function.counts.requests == 400), "{status:?}");
    assert_eq!(have_worked(&served.card), [true, true]);
    assert_eq!(status.engines().len(), 4);
}

/// A limit is one of the function: whoever goes from card to card has no more for it.
#[test]
fn tokens_go_along() {
    // Thirty at once, and then one a second.
    let served = Served::with(1, &cards(2), |number, function| {
        function.share.limit = (number == 0).then_some((1, 30));
    });
    let (mut driver, session) = tenant(&served, 0);
    encrypts(&mut driver, 0, &KEY, session, 64, 20, 1);
    drop(driver);
    served.wait_until(|card| places(card)[0].is_none());
    let _other = tenant(&served, 1);
    let (mut driver, session) = tenant(&served, 0);
    assert_eq!(places(&served.card), [Some(1), Some(0)]);
    let span = [Span { at: driver.free(), bytes: 16 }];
    for token in 0..25 {
        assert!(driver.queues[0].submit(token, &operation(session, &[0; 16], &span, &span)).unwrap());
    }
    driver.queues[0].kick();
    // Ten were left of the thirty.
    served.wait_until(|card| card.status().functions[0].waits.limited > 10_000_000);
}

/// What happens to a card whose engine fails; it does where whoever is told of a refused buffer panics.
struct Failing {
    card: Card,
    folder: tempfile::TempDir,
    over: Arc<AtomicBool>,
}

impl Failing {
    fn start(functions: usize, options: &CardOptions) -> Failing {
        let folder = tempfile::tempdir().unwrap();
        let functions = (0..functions).map(|number| {
            let path = folder.path().join(format!("{number}.sock"));
            NewFunction::new(format!("f{number}"), Meeting::Listen(Listener::bind(&path, 0o600).unwrap()))
        });
        let over = Arc::new(AtomicBool::new(false));
        let told = over.clone();
        let card = Card::start(functions.collect(), options, move |event| match event {
            Told::Over => told.store(true, Ordering::Release),
            Told::Refused(..) if !thread::panicking() => panic!("an engine that fails"),
            _ => {}
        });
        Failing { card: card.unwrap(), folder, over }
    }

    fn tenant(&self, function: usize) -> (Driver, Handle) {
        let socket = self.folder.path().join(format!("{function}.sock"));
        let mut driver = Driver::connect(&socket, &Options::default()).unwrap();
        let session = driver.open(ENCRYPT, &KEY).unwrap().unwrap();
        (driver, session)
    }

    fn wait_until(&self, wanted: impl Fn(&Card) -> bool) {
        until(|| wanted(&self.card), || format!("{:?}", self.card.status()));
    }
}

/// Its queues say that far more is there than they have room for.
fn spoil(driver: &Driver) {
    driver.area().write(0, &vec![0xff; driver.free()]);
}

#[test]
fn who_is_on_a_card_that_fails_goes_on_elsewhere_and_need_not_know() {
    let front = Failing::start(4, &cards(2));
    let mut tenants: Vec<_> = (0..4).map(|function| Some(front.tenant(function))).collect();
    assert_eq!(places(&front.card), [Some(0), Some(1), Some(0), Some(1)]);
    let on = |number: usize| front.card.status().functions[number].clone();
    // It is met when the card asks everybody for kicks, having served the first.
    spoil(&tenants[2].as_ref().unwrap().0);
    let (first, session) = tenants[0].as_mut().unwrap();
    encrypts(first, 0, &KEY, *session, 512, 200, 4);
    front.wait_until(|card| places(card) == [Some(1); 4]);
    encrypts(first, 0, &KEY, *session, 512, 200, 4);
    let status = front.card.status();
    assert_eq!(status.cards.iter().map(|card| card.runs).collect::<Vec<_>>(), [false, true]);
    assert_eq!((on(0).counts.requests, on(0).counts.connections, on(0).sessions), (400, 1, 1));
    // The data queue and that of control.
    assert_eq!(on(2).counts.refused_chains, 2);
    let (second, session) = tenants[1].as_mut().unwrap();
    encrypts(second, 0, &KEY, *session, 512, 100, 4);
    // Who spoilt its queues sets them up anew, and is served there.
    tenants[2] = None;
    front.wait_until(|card| places(card)[2].is_none());
    let (mut third, session) = front.tenant(2);
    encrypts(&mut third, 0, &KEY, session, 512, 100, 4);
    assert_eq!(places(&front.card), [Some(1); 4]);
    assert!(!front.over.load(Ordering::Acquire));

    // The last one fails.
    spoil(&third);
    let (first, session) = tenants[0].as_mut().unwrap();
    let span = [Span { at: first.free(), bytes: 16 }];
    assert_eq!(ask(first, &operation(*session, &[0; 16], &span, &span)).status, Status::Ok);
    front.wait_until(|_| front.over.load(Ordering::Acquire));
    assert!(front.card.status().cards.iter().all(|card| !card.runs));
}
