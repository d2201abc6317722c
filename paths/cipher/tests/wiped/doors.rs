//! A card and its tenants in this one process: keys that came by every door there is, and left by every way.

use std::io::Write;
use std::os::unix::net::UnixStream;

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use tollway_cipher::engine::device::Options as CardOptions;
use tollway_cipher::engine::driver::Operation;
use tollway_cipher::engine::driver::{Driver, Options, Through};
use tollway_cipher::engine::protocol::{CREATE_SESSION, NewSession, Status};
use tollway_cipher::engine::suite::Algorithm;
use tollway_virtio::Span;

use crate::search::{Inverted, parts, places};
use crate::sessions::{cases, derived};
use crate::tenancy::{ENCRYPT, Served, ask, operation, until};

/// Keys that nobody had before.
struct Keys(Xoshiro256PlusPlus);

impl Keys {
    fn new(test: u64) -> Keys {
        Keys(Xoshiro256PlusPlus::seed_from_u64(u64::from(std::process::id()) << 8 | test))
    }

    fn next(&mut self) -> Inverted {
        let mut key = vec![0; 32];
        self.0.fill_bytes(&mut key);
        Inverted::of(&mut key)
    }
}

/// The key, and what is as good.
fn looked_for(key: &Inverted) -> Vec<Inverted> {
    parts(key, 0).chain(derived(ENCRYPT, &key.bytes())).collect()
}

/// Each door: a function's number (the second is inside), and by what sessions are made there.
const DOORS: [(usize, Through); 4] =
    [(0, Through::ControlQueue), (0, Through::Messages), (1, Through::ControlQueue), (1, Through::Messages)];

/// Has a session with that key encrypt something.
fn uses(driver: &mut Driver, key: &Inverted) -> tollway_cipher::engine::driver::Handle {
    let session = driver.open(ENCRYPT, &key.bytes()).unwrap().unwrap();
    let [source, result] = [0, 64].map(|at| [Span { at: driver.free() + at, bytes: 64 }]);
    assert_eq!(ask(driver, &operation(session, &[1; 16], &source, &result)).status, Status::Ok);
    session
}

fn is_there(what: &str, key: &Inverted) {
    assert!(!places(&looked_for(key)).is_empty(), "{what}: not even found while it was there");
}

fn is_gone(what: &str, key: &Inverted) {
    let left = places(&looked_for(key));
    assert!(left.is_empty(), "{what}: still there: {left:#?}");
}

fn connect(served: &Served, function: usize, sessions: Through) -> Driver {
    served.driver(function, &Options { sessions, ..Options::default() })
}

fn wait_until_empty(served: &Served) {
    served.wait_until(|card| card.status().functions.iter().all(|f| !f.connected && f.sessions == 0));
}

#[test]
fn a_key_is_gone_when_its_session_is_closed_or_refused_or_its_tenant_leaves() {
    let _alone = crate::alone();
    let mut keys = Keys::new(1);
    let served = Served::start(1, &CardOptions { sessions: 1, ..CardOptions::default() });
    for (function, through) in DOORS {
        let what = |how: &str| format!("function {function} by {through:?}, {how}");
        let mut driver = connect(&served, function, through);
        let key = keys.next();
        let session = uses(&mut driver, &key);
        is_there(&what("open"), &key);
        // There is room for one session.
        let refused = keys.next();
        assert_eq!(driver.open(ENCRYPT, &refused.bytes()).unwrap(), Err(Status::NoSpace));
        is_gone(&what("refused"), &refused);
        driver.close(session).unwrap();
        is_gone(&what("closed"), &key);
        let left = keys.next();
        uses(&mut driver, &left);
        drop(driver);
        wait_until_empty(&served);
        is_gone(&what("left"), &left);
    }
}

#[test]
fn a_private_key_is_gone_when_its_session_is_closed() {
    let _alone = crate::alone();
    let served = Served::start(1, &CardOptions::default());
    let mut tried = 0;
    for (function, through) in DOORS {
        for case in cases() {
            let (algorithm, key) = (case.algorithm, case.key.bytes());
            let is_private = matches!(
                algorithm,
                Algorithm::Rsa { .. } | Algorithm::Ecdsa { .. } | Algorithm::Agreement(_)
            );
            let is_sent = through == Through::ControlQueue
                || NewSession { algorithm, key: key.len() }.message(&key).is_some();
            drop(key);
            if !is_private || !is_sent {
                continue;
            }
            let mut driver = connect(&served, function, through);
            let session = driver.open(algorithm, &case.key.bytes()).unwrap().unwrap();
            let source = [Span { at: driver.free(), bytes: case.source as u32 }];
            driver.area().write(driver.free(), &[7; 400][..case.source]);
            let result = [Span { at: driver.free() + 512, bytes: 256 }];
            let asked = Operation { work: case.work, ..operation(session, &[], &source, &result) };
            assert_eq!(ask(&mut driver, &asked).status, Status::Ok, "{algorithm:?}");
            let what = format!("function {function} by {through:?}, {algorithm:?}");
            assert!(!places(&case.looked_for()).is_empty(), "{what}: not even found while it was there");
            driver.close(session).unwrap();
            let left = places(&case.looked_for());
            assert!(left.is_empty(), "{what}: still there: {left:#?}");
            tried += 1;
        }
    }
    // Of four kinds of key the control queue has all, and messages two.
    assert_eq!(tried, 2 * (4 + 2));
}

#[test]
fn a_key_is_gone_when_its_card_ends() {
    let _alone = crate::alone();
    let mut keys = Keys::new(2);
    for (function, through) in DOORS {
        let served = Served::start(1, &CardOptions::default());
        let mut driver = connect(&served, function, through);
        let key = keys.next();
        uses(&mut driver, &key);
        is_there("open", &key);
        // The tenant is still there.
        drop(served);
        is_gone(&format!("function {function} by {through:?}, its card ended"), &key);
        drop(driver);
    }
}

#[test]
fn a_key_in_half_a_message_is_gone_with_its_sender() {
    let _alone = crate::alone();
    let served = Served::start(1, &CardOptions::default());
    let key = Keys::new(3).next();
    let mut peer = UnixStream::connect(served.socket(0)).unwrap();
    let body = NewSession { algorithm: ENCRYPT, key: 32 }.message(&key.bytes()).unwrap();
    for word in [CREATE_SESSION, 1, body.len() as u32] {
        peer.write_all(&word.to_ne_bytes()).unwrap();
    }
    // All but the last byte of the message.
    peer.write_all(&body[..body.len() - 1]).unwrap();
    drop(body);
    until(|| !places(&looked_for(&key)).is_empty(), || "it was never read".into());
    drop(peer);
    wait_until_empty(&served);
    is_gone("half a message", &key);
}
