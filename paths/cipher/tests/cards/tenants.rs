//! Tenants of a card: every algorithm, every status, many at once.

use std::thread;
use std::time::Duration;

use crate::KEY;
use crate::tenancy::{DECRYPT, ENCRYPT, Served, ask, encrypted, encrypts, operation};
use tollway_cipher::engine::device::Options as CardOptions;
use tollway_cipher::engine::driver::{Driver, Handle, Operation, Options, Through};
use tollway_cipher::engine::protocol::{Status, Work};
use tollway_cipher::engine::suite::{Algorithm, CipherMode, Digest, Direction};
use tollway_virtio::Span;

#[test]
fn what_is_encrypted_is_what_another_library_makes_and_comes_back() {
    let served = Served::start(1, &CardOptions::default());
    for function in 0..2 {
        for sessions in [Through::ControlQueue, Through::Messages] {
            let mut driver = served.driver(function, &Options { sessions, ..Options::default() });
            let [encrypt, decrypt] = [ENCRYPT, DECRYPT].map(|way| driver.open(way, &KEY).unwrap().unwrap());
            let (area, at) = (driver.area().clone(), driver.free());
            let text = b"forty-eight bytes of a text that is to be secret";
            let (iv, span) = ([3; 16], |at: usize| [Span { at, bytes: 48 }]);
            area.write(at, text);
            assert_eq!(ask(&mut driver, &operation(encrypt, &iv, &span(at), &span(at + 64))).bytes, 48);
            let mut bytes = [0; 48];
            area.read(at + 64, &mut bytes);
            assert_eq!(bytes[..], encrypted(&KEY, &iv, text));
            let done = ask(&mut driver, &operation(decrypt, &iv, &span(at + 64), &span(at + 128)));
            assert_eq!((done.status, done.bytes), (Status::Ok, 48));
            area.read(at + 128, &mut bytes);
            assert_eq!(&bytes, text);
            for session in [encrypt, decrypt] {
                assert_eq!(driver.close(session).unwrap(), Status::Ok);
            }
            assert_eq!(served.card.status().functions[function].sessions, 0);
        }
    }
}

#[test]
fn other_algorithms_are_asked_for_in_their_own_ways() {
    use sha2::Digest as _;
    let served = Served::start(0, &CardOptions::default());
    let mut driver = served.driver(0, &Options::default());
    let (area, at) = (driver.area().clone(), driver.free());
    area.write(at, b"hello, and what is only authenticated");
    let span = |at: usize, bytes: u32| [Span { at, bytes }];
    let session = driver.open(Algorithm::Hash(Digest::Sha256), &[]).unwrap().unwrap();
    let (source, result) = (span(at, 5), span(at + 256, 32));
    let hash = Operation { work: Work::Hash, ..operation(session, &[], &source, &result) };
    assert_eq!(ask(&mut driver, &hash).status, Status::Ok);
    let mut digest = [0; 32];
    area.read(at + 256, &mut digest);
    assert_eq!(digest[..], sha2::Sha256::digest(b"hello")[..]);
    let [seal, open] = [Direction::Encrypt, Direction::Decrypt]
        .map(|way| driver.open(Algorithm::Gcm(way), &KEY).unwrap().unwrap());
    let associated = span(at + 5, 32);
    let (source, sealed) = (span(at, 5), span(at + 512, 21));
    let mut asked = operation(seal, &[7; 12], &source, &sealed);
    asked.associated = &associated;
    assert_eq!(ask(&mut driver, &asked).bytes, 21);
    let back = span(at + 1024, 5);
    let mut asked = operation(open, &[7; 12], &sealed, &back);
    (asked.associated, asked.work) = (&associated, Work::Decrypt);
    assert_eq!(ask(&mut driver, &asked).status, Status::Ok);
    let mut text = [0; 5];
    area.read(at + 1024, &mut text);
    assert_eq!(&text, b"hello");
    area.write(at + 5, b"!");
    assert_eq!(ask(&mut driver, &asked).status, Status::BadMessage, "a wrong tag");
}

#[test]
fn whatever_is_wrong_has_its_status_and_the_next_request_is_done() {
    let served = Served::start(1, &CardOptions { sessions: 3, ..CardOptions::default() });
    for function in 0..2 {
        let mut driver = served.driver(function, &Options::default());
        let session = driver.open(ENCRYPT, &KEY).unwrap().unwrap();
        let at = driver.free();
        let span = |bytes: u32| [Span { at, bytes }];
        let good = |driver: &mut _| {
            assert_eq!(ask(driver, &operation(session, &[0; 16], &span(64), &span(64))).status, Status::Ok);
        };
        good(&mut driver);
        let mut case = |status: Status, iv: &[u8], bytes: [u32; 2], session, work: Option<Work>| {
            let (source, result) = (span(bytes[0]), span(bytes[1]));
            let asked = operation(session, iv, &source, &result);
            let asked = Operation { work: work.unwrap_or(asked.work), ..asked };
            let done = ask(&mut driver, &asked);
            assert_eq!((done.status, done.bytes), (status, 0), "{asked:?}");
            good(&mut driver);
        };
        case(Status::Err, &[0; 8], [64, 64], session, None);
        case(Status::Err, &[0; 16], [63, 63], session, None);
        case(Status::Err, &[0; 16], [64, 48], session, None);
        case(Status::NotSupported, &[0; 16], [64, 64], session, Some(Work::Decrypt));
        let unknown = Handle { number: 1 << 40, ..session };
        case(Status::InvalidSession, &[0; 16], [64, 64], unknown, None);
        let unknown = Handle { number: u64::MAX, ..session };
        case(Status::InvalidSession, &[0; 16], [64, 64], unknown, None);

        assert_eq!(driver.open(ENCRYPT, &KEY[..15]).unwrap().unwrap_err(), Status::Err, "a key of 15 bytes");
        let none = Algorithm::Mac { digest: Digest::Sha256, tag: 33 };
        assert_eq!(driver.open(none, &KEY).unwrap().unwrap_err(), Status::NotSupported);
        let ctr = Algorithm::Cipher(CipherMode::Ctr, Direction::Encrypt);
        let others = [0, 1].map(|_| driver.open(ctr, &KEY).unwrap().unwrap());
        assert_eq!(driver.open(ctr, &KEY).unwrap().unwrap_err(), Status::NoSpace);
        assert_eq!(driver.close(others[0]).unwrap(), Status::Ok);
        assert_eq!(driver.close(others[0]).unwrap(), Status::InvalidSession);
        // The place is used again, the number is not.
        let again = driver.open(ctr, &KEY).unwrap().unwrap();
        assert_ne!(again.number, others[0].number);
        let asked =
            operation(others[0], &[0; 16], &[Span { at, bytes: 64 }], &[Span { at, bytes: 64 }]).session;
        assert_eq!(
            ask(&mut driver, &operation(asked, &[0; 16], &span(64), &span(64))).status,
            Status::InvalidSession
        );
        good(&mut driver);
        let counts = served.card.status().functions[function].counts;
        assert_eq!((counts.failed, counts.refused_chains), (7, 0));
    }
}

/// Each has a session of the same number with a key of its own: nobody gets what another's key makes.
#[test]
fn many_tenants_at_once_have_what_is_theirs() {
    for (engines, queues) in [(1, 1), (2, 2)] {
        let options = CardOptions { engines, queues, ..CardOptions::default() };
        let served = Served::start(4, &options);
        thread::scope(|scope| {
            for function in 0..5 {
                let served = &served;
                scope.spawn(move || {
                    let mut driver = served.driver(function, &Options { queues, ..Options::default() });
                    let key = [function as u8; 16];
                    let session = driver.open(ENCRYPT, &key).unwrap().unwrap();
                    for queue in 0..queues {
                        encrypts(&mut driver, queue, &key, session, 64 << function, 200, 16);
                    }
                });
            }
        });
        for function in served.card.status().functions {
            assert_eq!((function.counts.requests, function.counts.failed), (200 * queues as u64, 0));
        }
    }
}

#[test]
fn queues_that_the_card_has_not_are_refused() {
    let served = Served::start(1, &CardOptions::default());
    for function in 0..2 {
        for queues in [0, 2] {
            let options = Options { queues, ..Options::default() };
            let refused = match served.card.inside(function) {
                Some(inside) => Driver::inside(inside, &options),
                None => Driver::connect(&served.socket(function), &options),
            };
            refused.unwrap_err();
        }
        served.driver(function, &Options::default());
    }
}

#[test]
fn a_card_that_stops_is_noticed() {
    let served = Served::start(1, &CardOptions::default());
    let mut drivers = [0, 1].map(|function| served.driver(function, &Options::default()));
    drop(served);
    for driver in &mut drivers {
        driver.open(ENCRYPT, &KEY).unwrap_err();
        driver.queues[0].wait(Duration::from_secs(5)).unwrap_err();
    }
}
