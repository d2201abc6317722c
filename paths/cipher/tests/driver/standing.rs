//! How many requests stand at a card: what it counts is held against what the tenant's own clock says, by Little's law, L = λ W.

use std::time::{Duration, Instant};

use tollway_cipher::engine::device::{Card, Options as CardOptions, Standing};
use tollway_cipher::engine::driver::{Driver, Handle, Options, Waiting};
use tollway_cipher::engine::protocol::Status;
use tollway_virtio::Span;

use super::KEY;
use super::tenancy::{ENCRYPT, PATIENCE, Served, operation};

/// A request every so long, and none saved up.
const GAP: Duration = Duration::from_millis(4);

/// A card whose functions have one request done every 4 ms, and a tenant of it that looks without end.
fn slow() -> (Served, Driver, Handle) {
    let served = Served::with(1, &CardOptions::default(), |_, function| {
        function.share.limit = Some((1000 / GAP.as_millis() as u64, 1));
    });
    let mut driver = served.driver(0, &Options { waiting: Waiting::Busy, ..Options::default() });
    let session = driver.open(ENCRYPT, &KEY).unwrap().unwrap();
    (served, driver, session)
}

fn submit(driver: &mut Driver, session: Handle, requests: u64) {
    let span = [Span { at: driver.free(), bytes: 64 }];
    for token in 0..requests {
        assert!(driver.queues[0].submit(token, &operation(session, &[0; 16], &span, &span)).unwrap());
    }
    driver.queues[0].kick();
}

/// Looks until one is done.
fn take(driver: &mut Driver) {
    let deadline = Instant::now() + PATIENCE;
    loop {
        assert!(Instant::now() < deadline, "nothing came");
        if let Some(done) = driver.queues[0].take().unwrap() {
            return assert_eq!(done.status, Status::Ok);
        }
        std::hint::spin_loop();
    }
}

fn standing(card: &Card) -> Standing {
    let status = card.status();
    assert_eq!(
        status.standing.now,
        status.functions.iter().map(|function| function.standing.now).sum::<u64>()
    );
    status.functions[0].standing
}

/// Where others have the processor the tenant looks late, or the card counts late what the tenant has already: so the best of several is
/// held against the bounds, and each is short, so that there is one in which nobody else has the processor.
const TIMES: usize = 100;

/// Six that come together and go one by one: 5 + 4 + … + 1 gaps, and six times what the first gap had left.
#[test]
fn what_stands_is_what_waits() {
    const REQUESTS: u64 = 6;
    let (served, mut driver, session) = slow();
    let mut once = || {
        let before = standing(&served.card).seconds;
        let begun = Instant::now();
        submit(&mut driver, session, REQUESTS);
        let mut waited = Duration::ZERO;
        for _ in 0..REQUESTS {
            take(&mut driver);
            waited += begun.elapsed();
        }
        // The card counts what it has done after the tenant may have it.
        served.wait_until(|card| standing(card).now == 0);
        let counted = standing(&served.card);
        assert_eq!(counted.most, REQUESTS);
        assert!(waited > GAP * 14, "{waited:?}");
        (counted.seconds - before) / waited.as_secs_f64()
    };
    // The tenant's is longer: by how long the card slept after the kick, and by how late the tenant looked.
    let mut parts = Vec::new();
    while !parts.last().is_some_and(|of| (0.9..=1.001).contains(of)) {
        assert!(parts.len() < TIMES, "of what waits, stands: {parts:?}");
        parts.push(once());
    }
}

/// A closed loop of eight: eight stand there, but for the moment for which one is with the tenant.
#[test]
fn a_closed_loop_stands_at_the_card() {
    const DEPTH: u64 = 8;
    let (served, mut driver, session) = slow();
    submit(&mut driver, session, DEPTH);
    let mut once = || {
        let (begun, before) = (Instant::now(), standing(&served.card).seconds);
        for _ in 0..10 {
            take(&mut driver);
            submit(&mut driver, session, 1);
        }
        let counted = standing(&served.card);
        let seconds = begun.elapsed().as_secs_f64();
        assert!(seconds > 8.0 * GAP.as_secs_f64(), "{seconds}");
        assert_eq!(counted.most, DEPTH);
        (counted.seconds - before) / seconds
    };
    let mut means = Vec::new();
    while !means.last().is_some_and(|mean| (6.0..=8.01).contains(mean)) {
        assert!(means.len() < TIMES, "of eight on their way stand: {means:?}");
        means.push(once());
    }
}

/// What a tenant leaves behind does not stand there any more.
#[test]
fn who_goes_leaves_nothing() {
    let (served, mut driver, session) = slow();
    submit(&mut driver, session, 50);
    // A few may be done before the card looks how many there are.
    served.wait_until(|card| standing(card).most > 45);
    drop(driver);
    served.wait_until(|card| standing(card).now == 0);
    let (then, more) = (standing(&served.card).seconds, standing(&served.card));
    assert_eq!(more.seconds, then);
    assert!(more.most <= 50, "{more:?}");
}
