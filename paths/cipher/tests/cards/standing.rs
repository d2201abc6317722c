//! How many requests stand at a card: what it counts is held against what the tenant's own clock says, by Little's law, L = λ W.

use std::time::{Duration, Instant};

use tollway_cipher::engine::device::{Engine, Options as CardOptions, Standing};
use tollway_cipher::engine::driver::{Driver, Handle, Options, Through, Waiting};
use tollway_cipher::engine::protocol::Status;
use tollway_virtio::Span;

use crate::KEY;
use crate::eventually::eventually;
use crate::tenancy::{ENCRYPT, Served, operation};

/// A request every so long, and none saved up.
const GAP: Duration = Duration::from_millis(4);

/// A card whose functions have one request done every 4 ms, its engine, and a tenant: this thread plays each in turn, so that the moments
/// between which the card saw something are known, whoever else has the processor in between.
struct Slow {
    served: Served,
    engine: Engine,
    driver: Driver,
    session: Handle,
}

impl Slow {
    fn new() -> Slow {
        let options = CardOptions { engines: 0, lent: 1, ..CardOptions::default() };
        let mut served = Served::with(0, &options, |_, function| {
            function.share.limit = Some((1000 / GAP.as_millis() as u64, 1));
        });
        let engine = served.card.engine().unwrap();
        // By messages: nobody serves the control queue yet.
        let options = Options { waiting: Waiting::Busy, sessions: Through::Messages, ..Options::default() };
        let mut driver = served.driver(0, &options);
        let session = driver.open(ENCRYPT, &KEY).unwrap().unwrap();
        Slow { served, engine, driver, session }
    }

    fn submit(&mut self, requests: u64) {
        let span = [Span { at: self.driver.free(), bytes: 64 }];
        for token in 0..requests {
            let operation = operation(self.session, &[0; 16], &span, &span);
            assert!(self.driver.queues[0].submit(token, &operation).unwrap());
        }
        self.driver.queues[0].kick();
    }

    /// Lets the card work until one is done and taken; when that turn of the card began, at the earliest `since`.
    fn take(&mut self, since: Instant) -> Instant {
        let mut begun = since;
        eventually("one is done", || match self.driver.queues[0].take().unwrap() {
            Some(done) => {
                assert_eq!(done.status, Status::Ok);
                true
            }
            None => {
                begun = Instant::now();
                self.engine.turn();
                false
            }
        });
        begun
    }

    fn standing(&self) -> Standing {
        let status = self.served.card.status();
        let all = status.functions.iter().map(|function| function.standing.now).sum::<u64>();
        assert_eq!(status.standing.now, all);
        status.functions[0].standing
    }
}

/// Whether the card's seconds lie between these; its clock and this one may differ by a thousandth.
fn lie_between(counted: f64, least: f64, most: f64) {
    println!("{counted:.4} s, between {least:.4} and {most:.4}");
    assert!(counted >= 0.999 * least && counted <= 1.001 * most, "{counted} s, not {least} to {most}");
}

/// Six that come together and go one by one: 5 + 4 + … + 1 gaps, and six times what the first gap had left.
#[test]
fn what_stands_is_what_waits() {
    const REQUESTS: u64 = 6;
    let mut slow = Slow::new();
    for _ in 0..3 {
        let before = slow.standing().seconds;
        let begun = Instant::now();
        slow.submit(REQUESTS);
        slow.engine.turn();
        let noticed = Instant::now();
        let (mut least, mut most) = (Duration::ZERO, Duration::ZERO);
        for _ in 0..REQUESTS {
            least += slow.take(noticed) - noticed;
            most += begun.elapsed();
        }
        let counted = slow.standing();
        assert_eq!((counted.now, counted.most), (0, REQUESTS));
        assert!(most > GAP * 14, "{most:?}");
        lie_between(counted.seconds - before, least.as_secs_f64(), most.as_secs_f64());
    }
}

/// A closed loop of eight: eight stand there, but for the moment for which one is with the tenant.
#[test]
fn a_closed_loop_stands_at_the_card() {
    const DEPTH: u64 = 8;
    let mut slow = Slow::new();
    slow.submit(DEPTH);
    slow.engine.turn();
    for _ in 0..3 {
        let outer = Instant::now();
        let before = slow.standing().seconds;
        let inner = Instant::now();
        for _ in 0..10 {
            slow.take(inner);
            slow.submit(1);
            slow.engine.turn();
        }
        let least = inner.elapsed().as_secs_f64();
        let counted = slow.standing();
        let most = outer.elapsed().as_secs_f64();
        assert!(most > 8.0 * GAP.as_secs_f64(), "{most}");
        assert_eq!(counted.most, DEPTH);
        lie_between(counted.seconds - before, 7.0 * least, 8.0 * most);
    }
}

/// What a tenant leaves behind does not stand there any more.
#[test]
fn who_goes_leaves_nothing() {
    let mut slow = Slow::new();
    slow.submit(50);
    slow.engine.turn();
    // The first may be done before the card looks how many there are.
    assert!(slow.standing().most > 45, "{:?}", slow.standing());
    let Slow { served, driver, .. } = slow;
    drop(driver);
    let standing = || served.card.status().functions[0].standing;
    served.wait_until(|_| standing().now == 0);
    let (then, more) = (standing().seconds, standing());
    assert_eq!(more.seconds, then);
    assert!(more.most <= 50, "{more:?}");
}
