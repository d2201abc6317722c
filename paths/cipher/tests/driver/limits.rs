//! Requests as long as a card takes them, and longer ones: they are answered, and keep nobody waiting.

use std::time::{Duration, Instant};

use tollway_cipher::engine::device::Options as CardOptions;
use tollway_cipher::engine::driver::{Operation, Options};
use tollway_cipher::engine::protocol::{Status, Work};
use tollway_cipher::engine::suite::{Algorithm, Digest, Direction};
use tollway_virtio::Span;

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
        // With an IV of 16 bytes, source and result: 4080 and 4112 bytes.
        for (bytes, status) in [(2032, Status::Ok), (2048, Status::Err), (2032, Status::Ok)] {
            assert_eq!(
                ask(&mut driver, &operation(session, &[0; 16], &span(bytes), &span(bytes))).status,
                status
            );
        }
        // What is only authenticated, and a result that is longer than it need be, count, too: here beside 12 bytes of an IV and
        // 20 of a source.
        let session = driver.open(Algorithm::Gcm(Direction::Encrypt), &KEY).unwrap().unwrap();
        for (associated, result, status) in
            [(4028, 36, Status::Ok), (4029, 36, Status::Err), (16, 4048, Status::Ok), (16, 4049, Status::Err)]
        {
            let associated = span(associated);
            let (source, result) = (span(20), [Span { at: at + (1 << 16), bytes: result }]);
            let asked =
                Operation { associated: &associated, ..operation(session, &[0; 12], &source, &result) };
            assert_eq!(ask(&mut driver, &asked).status, status, "{asked:?}");
        }
    }
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
