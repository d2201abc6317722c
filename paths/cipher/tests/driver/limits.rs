//! Requests as long as a card takes them, and longer ones: they are answered, and keep nobody waiting.

use std::time::{Duration, Instant};

use tollway_cipher::engine::device::{LONGEST, Options as CardOptions};
use tollway_cipher::engine::driver::{Operation, Options};
use tollway_cipher::engine::protocol::{CONFIG_FEATURE, GET_CONFIG, OFFER, Offer, Status, Work};
use tollway_cipher::engine::suite::{Algorithm, Digest, Direction};
use tollway_virtio::Span;
use tollway_virtio::frontend::{Link, LinkOptions};

use super::KEY;
use super::tenancy::{ENCRYPT, Served, ask, operation};

#[test]
fn a_request_is_of_so_many_bytes_at_most() {
    let served = Served::start(1, &CardOptions { longest: 4096, ..CardOptions::default() });
    for function in 0..2 {
        let mut driver = served.driver(function, &Options::default());
        let at = driver.free();
        let span = |bytes: u32| [Span { at, bytes }];
        let session = driver.open(ENCRYPT, &KEY).unwrap().unwrap();
        for (bytes, status) in [(4096, Status::Ok), (4112, Status::Err), (4096, Status::Ok)] {
            assert_eq!(
                ask(&mut driver, &operation(session, &[0; 16], &span(bytes), &span(bytes))).status,
                status
            );
        }
        // What is only authenticated counts, too, here beside 20 bytes of a source; room for a result does not.
        let session = driver.open(Algorithm::Gcm(Direction::Encrypt), &KEY).unwrap().unwrap();
        for (associated, result, status) in
            [(4076, 36, Status::Ok), (4077, 36, Status::Err), (16, 8000, Status::Ok)]
        {
            let associated = span(associated);
            let (source, result) = (span(20), [Span { at: at + (1 << 16), bytes: result }]);
            let asked =
                Operation { associated: &associated, ..operation(session, &[0; 12], &source, &result) };
            assert_eq!(ask(&mut driver, &asked).status, status, "{asked:?}");
        }
    }
}

/// The sizes that are offered where cards are measured.
#[test]
fn a_card_takes_requests_as_long_as_it_says() {
    let served = Served::start(1, &CardOptions::default());
    let most = LONGEST as usize;
    let options = Options { bytes: 2 * most + 4096, ..Options::default() };
    let mut driver = served.driver(0, &options);
    let session = driver.open(ENCRYPT, &KEY).unwrap().unwrap();
    let at = driver.free();
    for (bytes, status) in [(most, Status::Ok), (most + 16, Status::Err)] {
        let span = |at: usize| [Span { at, bytes: bytes as u32 }];
        assert_eq!(
            ask(&mut driver, &operation(session, &[0; 16], &span(at), &span(at + most + 16))).status,
            status
        );
    }
    let mut last = [0; 16];
    driver.area().read(at + 2 * most, &mut last);
    assert_ne!(last, [0; 16], "the last block is not there");
}

/// Four GiB that are a thousand times the same four MiB: hashing them would take seconds.
#[test]
fn what_is_told_again_and_again_is_not_done() {
    let served = Served::start(1, &CardOptions::default());
    let options = Options { indirect: 1024, bytes: 8 << 20, ..Options::default() };
    let mut driver = served.driver(0, &options);
    let mut other = served.driver(1, &Options::default());
    let (session, hash) = (other.open(ENCRYPT, &KEY).unwrap().unwrap(), Algorithm::Hash(Digest::Sha512));
    let hash = driver.open(hash, &[]).unwrap().unwrap();
    let at = driver.free();
    let again = [Span { at, bytes: 4 << 20 }; 1000];
    let result = [Span { at: at + (4 << 20), bytes: 64 }];
    let begun = Instant::now();
    for _ in 0..20 {
        let asked = Operation { work: Work::Hash, ..operation(hash, &[], &again, &result) };
        assert_eq!(ask(&mut driver, &asked).status, Status::Err);
        let span = [Span { at: other.free(), bytes: 64 }];
        assert_eq!(ask(&mut other, &operation(session, &[0; 16], &span, &span)).status, Status::Ok);
    }
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    assert_eq!(served.card.status().functions[0].counts.bytes, 0);
}

/// A front end asks for as much as the devices have that it knows, up to 256 bytes (QEMU's VHOST_USER_MAX_CONFIG_SIZE).
#[test]
fn who_asks_for_more_of_the_configuration_than_there_is_is_told_so_and_goes_on() {
    let served = Served::start(1, &CardOptions::default());
    let options = LinkOptions { queues: 2, protocol_features: CONFIG_FEATURE, ..LinkOptions::default() };
    let doors =
        [Link::connect(&served.socket(0), &options), Link::inside(served.card.inside(1).unwrap(), &options)];
    for mut link in doors.map(Result::unwrap) {
        let question = |bytes: u32| {
            let head = [0, bytes, 0].into_iter().flat_map(u32::to_ne_bytes);
            head.chain(std::iter::repeat_n(0, bytes as usize)).collect::<Vec<u8>>()
        };
        for bytes in [OFFER as u32 + 1, 64, 256, 0] {
            assert!(link.ask(GET_CONFIG, &question(bytes)).unwrap().is_empty(), "{bytes}");
            let answer = link.ask(GET_CONFIG, &question(OFFER as u32)).unwrap();
            assert!(Offer::of_answer(&answer).is_some_and(|offer| offer.ready), "{answer:?}");
        }
    }
    let refused = |number: usize| served.card.status().functions[number].counts.refused_messages;
    assert_eq!([0, 1].map(refused), [0, 0]);
}
