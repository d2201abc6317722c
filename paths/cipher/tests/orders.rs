//! The orders of service, on a card: by arrival, by rank, by weight, and by several engines. What is judged is what the card has
//! counted when its engine is given back, which it is after a round of a millisecond: so no figure here is one of time.

#[path = "driver/tenancy.rs"]
mod tenancy;

use std::thread;
use std::time::{Duration, Instant};

use tollway_cipher::engine::device::{Counts, Engine, Options as CardOptions};
use tollway_cipher::engine::driver::{Driver, Handle, Options, Through, Waiting};
use tollway_cipher::engine::protocol::Status;
use tollway_virtio::Span;
use tollway_virtio::order::{Discipline, Share};

use tenancy::{ENCRYPT, PATIENCE, Served, ask, encrypted, encrypts, operation};

const KEY: [u8; 16] = *b"a key of sixteen";

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

    /// The same, until so many have come.
    fn until(&mut self, wanted: usize) {
        let deadline = Instant::now() + PATIENCE;
        while self.back.len() < wanted {
            assert!(Instant::now() < deadline, "{} of {wanted} came", self.back.len());
            thread::sleep(Duration::from_micros(100));
            self.take();
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
    // Who has the first rank comes between two turns of another. Where somebody else takes the processor during its turn, that ends early and
    // the round goes on with the next: one of several rounds is enough, since without the rank `last`, which asks first, would begin all of them.
    let [last, first, _] = &mut tenants;
    let comes_between = (0..20).any(|_| {
        let before = requests(&served);
        [&mut *last, &mut *first].into_iter().for_each(Backlog::again);
        round(&served, &mut engine);
        let done = requests(&served);
        engine.work(|| requests(&served).iter().sum::<u64>() < before.iter().sum::<u64>() + 2 * 512).unwrap();
        done[0] == before[0] && done[1] > before[1]
    });
    assert!(comes_between, "{:?}", requests(&served));
}

/// Requests of a window: so many that a turn more or less is some per cent of the smallest share.
const WINDOW: u64 = 8_000;

/// How far off a share may be.
const OFF: f64 = 0.08;

/// Somebody else who takes the processor is charged to whoever had the turn, who then waits until the others have had as much: so the
/// best window of several cards counts. If they kept to other shares, all of them would be bad, where nobody else has the processor.
#[test]
fn by_weight_each_has_its_share_of_the_requests() {
    let weights = [1, 3, 6];
    let shares = weights.map(|weight| Share { weight, ..Share::default() });
    let mut best = f64::INFINITY;
    for _ in 0..60 {
        let (served, mut engine) = card(Discipline::Fair, &shares);
        let mut tenants = [0, 1, 2].map(|function| Backlog::new(&served, function, 4096, 1024));
        tenants.iter_mut().for_each(Backlog::fill);
        // Rounds until so many more are done; of each of the three.
        let mut window = || {
            let before = requests(&served);
            loop {
                round(&served, &mut engine);
                tenants.iter_mut().for_each(Backlog::again);
                let now = requests(&served);
                let done = [0, 1, 2].map(|function| now[function] - before[function]);
                if done.iter().sum::<u64>() >= WINDOW {
                    break done;
                }
            }
        };
        // In the first they touch their memory.
        window();
        for _ in 0..4 {
            let done = window();
            let sum = done.iter().sum::<u64>() as f64;
            let each = done.iter().zip(weights).map(|(done, weight)| *done as f64 / sum / f64::from(weight));
            best = best.min(each.fold(0.0, |worst: f64, each| worst.max((each * 10.0 - 1.0).abs())));
            if best <= OFF {
                return;
            }
        }
    }
    panic!("at best a share is {:.0} % off", best * 100.0);
}

/// While one engine is at a function's long turn another serves a second function. The best of several tries counts: where others have
/// the processors, the second engine may get none in time.
#[test]
fn two_engines_serve_two_functions_at_once() {
    let mut longest = 0;
    for _ in 0..20 {
        let options = CardOptions { engines: 2, discipline: Discipline::Arrival, ..CardOptions::default() };
        let served = Served::start(2, &options);
        let mut long = Backlog::new(&served, 0, 65536, 1024);
        let mut short = served.driver(1, &Options { waiting: Waiting::Busy, ..Options::default() });
        let session = short.open(ENCRYPT, &KEY).unwrap().unwrap();
        let (at, iv) = (short.free(), [7; 16]);
        let spans = [at, at + 64].map(|at| [Span { at, bytes: 64 }]);
        // Both engines are idle: nobody is served before the kick.
        long.fill();
        long.until(1);
        assert_eq!(ask(&mut short, &operation(session, &iv, &spans[0], &spans[1])).status, Status::Ok);
        // What the long turn has left is what was done meanwhile by none other than the second engine.
        long.take();
        let left = long.depth - long.back.len() as u64;
        long.until(1024);
        longest = longest.max(left);
        if left > 0 {
            assert_eq!(requests(&served)[..2], [1024, 1]);
            return;
        }
    }
    panic!("the second function always waited for the whole turn of the first: {longest} left");
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
