//! The orders of service, on a card: by arrival, by rank, by weight, and by several engines. What is judged is what the card has
//! counted when its engine is given back, which it is after a round of a millisecond: so no figure here is one of time.

use std::thread;

use tollway_cipher::engine::device::{Counts, Engine, Options as CardOptions};
use tollway_cipher::engine::driver::{Driver, Handle, Options, Through, Waiting};
use tollway_cipher::engine::protocol::Status;
use tollway_virtio::Span;
use tollway_virtio::order::{Discipline, Share};

use crate::KEY;
use crate::eventually::eventually;
use crate::tenancy::{ENCRYPT, Served, ask, encrypted, encrypts, operation};

/// A card with an engine that is lent, and a share for each function.
fn card(discipline: Discipline, shares: &[Share]) -> (Served, Engine) {
    let options = CardOptions { engines: 0, lent: 1, discipline, ..CardOptions::default() };
    let mut served = Served::with(shares.len(), &options, |number, function| {
        function.share = shares.get(number).copied().unwrap_or_default();
    });
    let engine = served.card.engine().unwrap();
    (served, engine)
}

/// A tenant with as many requests on their way as it may have, all alike.
struct Backlog {
    driver: Driver,
    session: Handle,
    bytes: usize,
    depth: u64,
    /// Those that came back, in the order in which they did.
    back: Vec<u64>,
}

impl Backlog {
    fn new(served: &Served, function: usize, bytes: usize, depth: u16) -> Backlog {
        // By messages: nobody serves the control queue yet.
        let options = Options {
            waiting: Waiting::Busy,
            bytes: 2 * bytes * usize::from(depth),
            depth,
            sessions: Through::Messages,
            ..Options::default()
        };
        let mut driver = served.driver(function, &options);
        let session = driver.open(ENCRYPT, &KEY).unwrap().unwrap();
        Backlog { driver, session, bytes, depth: depth.into(), back: Vec::new() }
    }

    fn iv(token: u64) -> [u8; 16] {
        (u128::from(token) + 1).to_ne_bytes()
    }

    /// Asks for one, in the place of the last that had it.
    fn ask(&mut self, token: u64) {
        let at = self.driver.free() + 2 * self.bytes * (token % self.depth) as usize;
        let source = [Span { at, bytes: self.bytes as u32 }];
        let result = [Span { at: at + self.bytes, bytes: self.bytes as u32 }];
        let iv = Backlog::iv(token);
        assert!(
            self.driver.queues[0].submit(token, &operation(self.session, &iv, &source, &result)).unwrap()
        );
    }

    fn fill(&mut self) {
        (0..self.depth).for_each(|token| self.ask(token));
        self.driver.queues[0].kick();
    }

    /// Takes what is done. Each comes once, in its turn, and is what another library makes of nothing but zeros.
    fn take(&mut self) {
        while let Some(done) = self.driver.queues[0].take().unwrap() {
            assert_eq!((done.status, done.token), (Status::Ok, self.back.len() as u64));
            let at = self.driver.free() + 2 * self.bytes * (done.token % self.depth) as usize;
            let mut result = vec![0; self.bytes.min(256)];
            self.driver.area().read(at + self.bytes, &mut result);
            assert_eq!(result, encrypted(&KEY, &Backlog::iv(done.token), &vec![0; result.len()]));
            self.back.push(done.token);
        }
    }

    /// The same, and asks for as many again.
    fn again(&mut self) {
        let before = self.back.len() as u64;
        self.take();
        (before..self.back.len() as u64).for_each(|token| self.ask(token + self.depth));
        self.driver.queues[0].kick();
    }
}

/// Rounds of the engine until one has brought something: in the first it may only notice who has come.
fn round(served: &Served, engine: &mut Engine) {
    let all = || requests(served).iter().sum::<u64>();
    let before = all();
    engine.work(|| all() == before).unwrap();
}

fn counts(served: &Served) -> Vec<Counts> {
    served.card.status().functions.iter().map(|function| function.counts).collect()
}

fn requests(served: &Served) -> Vec<u64> {
    counts(served).iter().map(|counts| counts.requests).collect()
}

/// Rounds until all of theirs is done.
fn finish(served: &Served, engine: &mut Engine, tenants: &mut [&mut Backlog]) {
    let all: u64 = tenants.iter().map(|tenant| tenant.depth).sum();
    engine.work(|| requests(served).iter().sum::<u64>() < all).unwrap();
    for tenant in tenants {
        tenant.take();
        assert_eq!(tenant.back.len() as u64, tenant.depth);
    }
}

/// More than a round takes: 1000 times 16 KiB.
const LONG: (usize, u16) = (16384, 1000);

#[test]
fn by_arrival_who_came_first_is_served_with_all_that_it_has_come_with() {
    // Neither the numbers nor the ranks are in the order in which they come.
    let share = |rank| Share { rank, ..Share::default() };
    let (served, mut engine) = card(Discipline::Arrival, &[share(0), share(1)]);
    let mut first = Backlog::new(&served, 1, LONG.0, 1024);
    let mut second = Backlog::new(&served, 0, LONG.0, 1024);
    second.fill();
    first.fill();
    round(&served, &mut engine);
    assert_eq!(requests(&served)[..2], [0, 1024], "in one turn, however long it is");
    round(&served, &mut engine);
    assert_eq!(requests(&served)[..2], [1024, 1024]);
    finish(&served, &mut engine, &mut [&mut first, &mut second]);
}

#[test]
fn by_rank_the_first_has_all_until_it_wants_no_more() {
    let share = |rank| Share { rank, ..Share::default() };
    let (served, mut engine) = card(Discipline::Rank, &[share(7), share(0), share(3)]);
    let mut tenants = [0, 1, 2].map(|function| Backlog::new(&served, function, LONG.0, 512));
    tenants.iter_mut().for_each(Backlog::fill);
    // The ranks are served one after the other, though all wait.
    let mut seen = Vec::new();
    engine
        .work(|| {
            let done = requests(&served);
            seen.push([done[1], done[2], done[0]]);
            done.iter().sum::<u64>() < 3 * 512
        })
        .unwrap();
    assert!(seen.len() > 3, "{seen:?}");
    for [first, second, third] in &seen {
        assert!((*first == 512 || *second == 0) && (*second == 512 || *third == 0), "{seen:?}");
    }
    // Who has the first rank begins though another has asked before. (Where somebody else takes the processor during its turn, that
    // ends early and the round goes on with the next.)
    let [last, first, _] = &mut tenants;
    for _ in 0..5 {
        let before = requests(&served);
        [&mut *last, &mut *first].into_iter().for_each(Backlog::again);
        let has_waited = || {
            let done = requests(&served);
            assert!(done[0] == before[0] || done[1] > before[1], "{before:?}, then {done:?}");
            done.iter().sum::<u64>() < before.iter().sum::<u64>() + 2 * 512
        };
        engine.work(has_waited).unwrap();
    }
}

/// Requests that are looked at: so many that a turn more or less is next to nothing of the smallest share.
const SHARED: u64 = 150_000;

/// How far off a share may be: less than it would be without weights. Somebody else who takes the processor for a moment is charged to
/// whoever had the turn.
const OFF: f64 = 0.35;

#[test]
fn by_weight_each_has_its_share_of_the_requests() {
    let weights = [1, 3, 6];
    let shares = weights.map(|weight| Share { weight, ..Share::default() });
    let (served, mut engine) = card(Discipline::Fair, &shares);
    let mut tenants = [0, 1, 2].map(|function| Backlog::new(&served, function, 4096, 1024));
    tenants.iter_mut().for_each(Backlog::fill);
    while requests(&served).iter().sum::<u64>() < SHARED {
        round(&served, &mut engine);
        tenants.iter_mut().for_each(Backlog::again);
    }
    let done = requests(&served);
    let sum = done.iter().sum::<u64>() as f64;
    for (done, weight) in done.iter().zip(weights) {
        let off = *done as f64 / sum / f64::from(weight) * 10.0 - 1.0;
        println!("weight {weight}: {:.1} % off", off * 100.0);
        assert!(off.abs() < OFF, "{done} of {sum} for a weight of {weight}");
    }
}

/// While one engine is at a function's long turn another serves a second function. That takes seconds, so that the second engine gets a
/// processor in it, whoever else wants one: a thousand times the same MiB.
#[test]
fn two_engines_serve_two_functions_at_once() {
    const LONG: u32 = 1 << 20;
    let options = CardOptions { engines: 2, discipline: Discipline::Arrival, ..CardOptions::default() };
    let served = Served::start(2, &options);
    let options = Options { depth: 1024, bytes: 2 * LONG as usize, ..Options::default() };
    let mut long = served.driver(0, &Options { waiting: Waiting::Busy, ..options });
    let mut short = served.driver(1, &Options { waiting: Waiting::Busy, ..Options::default() });
    let [first, second] = [&mut long, &mut short].map(|tenant| tenant.open(ENCRYPT, &KEY).unwrap().unwrap());
    let span = |at: usize, bytes: u32| [Span { at, bytes }];
    let (source, result) = (span(long.free(), LONG), span(long.free() + LONG as usize, LONG));
    let queue = &mut long.queues[0];
    for token in 0..1024 {
        assert!(queue.submit(token, &operation(first, &[7; 16], &source, &result)).unwrap());
    }
    queue.kick();
    // The first of them is done: an engine is at its turn, and has all others before it.
    eventually("the long turn begins", || queue.take().unwrap().is_some());
    let spans = [0, 64].map(|at| span(short.free() + at, 64));
    assert_eq!(ask(&mut short, &operation(second, &[7; 16], &spans[0], &spans[1])).status, Status::Ok);
    // What the long turn has left is what was done meanwhile by none other than the second engine.
    while let Some(done) = queue.take().unwrap() {
        assert_eq!(done.status, Status::Ok);
    }
    assert!(queue.in_flight() > 0, "the second function waited for the whole turn of the first");
}

/// Queues of one function are served by whichever engine: the requests of each stay in their order, and none is lost or doubled.
#[test]
fn three_engines_keep_the_order_of_each_queue() {
    const QUEUES: usize = 3;
    const ROUNDS: u64 = 400;
    let options = CardOptions { engines: 3, queues: QUEUES, ..CardOptions::default() };
    let served = Served::start(3, &options);
    thread::scope(|scope| {
        for function in 0..3 {
            let served = &served;
            scope.spawn(move || {
                let options = Options { queues: QUEUES, bytes: 64 * 2 * 1024 * QUEUES, ..Options::default() };
                let mut driver = served.driver(function, &options);
                let session = driver.open(ENCRYPT, &KEY).unwrap().unwrap();
                for queue in (0..QUEUES).cycle().take(2 * QUEUES) {
                    // Compares each with another library's, and insists that it is the next.
                    encrypts(&mut driver, queue, &KEY, session, 1024, ROUNDS, 32);
                }
            });
        }
    });
    served.wait_until(|card| card.status().functions.iter().all(|function| !function.connected));
    for counts in &counts(&served)[..3] {
        assert_eq!((counts.requests, counts.failed), (2 * QUEUES as u64 * ROUNDS, 0));
        assert_eq!(counts.bytes, 1024 * counts.requests);
    }
}
