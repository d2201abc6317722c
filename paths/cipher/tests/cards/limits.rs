//! Requests as long as a card takes them, and longer ones: they are answered, and keep nobody waiting.

use tollway_cipher::engine::device::{LONGEST, Options as CardOptions};
use tollway_cipher::engine::driver::{Operation, Options};
use tollway_cipher::engine::protocol::{
    CONFIG_FEATURE, CREATE_SESSION, CRYPTO_SESSION_FEATURE, GET_CONFIG, NewSession, OFFER, Offer, Request,
    Status, Work,
};
use tollway_cipher::engine::suite::{Algorithm, Digest, Direction};
use tollway_virtio::Span;
use tollway_virtio::frontend::{Link, LinkOptions};

use crate::KEY;
use crate::tenancy::{ENCRYPT, PATIENCE, Served, ask, encrypted, operation};

const PAGE: usize = 4096;
const IV: [u8; 16] = [5; 16];

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
    for _ in 0..20 {
        let asked = Operation { work: Work::Hash, ..operation(hash, &[], &again, &result) };
        assert_eq!(ask(&mut driver, &asked).status, Status::Err);
        let span = [Span { at: other.free(), bytes: 64 }];
        assert_eq!(ask(&mut other, &operation(session, &[0; 16], &span, &span)).status, Status::Ok);
    }
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

/// A tenant whose buffers are as Linux's `virtio_crypto` makes them: of n pages it names the first to the
/// last, then the second to the last, and so on, n (n + 1) / 2 descriptors for the source and as many for the
/// result.
struct Pages {
    link: Link,
    session: u64,
}

impl Pages {
    fn new(served: &Served, function: usize, pages: usize) -> Pages {
        let options = LinkOptions {
            queues: 2,
            size: 2,
            bytes: (2 * pages + 2) * PAGE,
            indirect: pages * (pages + 1) + 3,
            protocol_features: CRYPTO_SESSION_FEATURE,
            ..LinkOptions::default()
        };
        let mut link = match served.card.inside(function) {
            Some(inside) => Link::inside(inside, &options).unwrap(),
            None => Link::connect(&served.socket(function), &options).unwrap(),
        };
        let body = NewSession { algorithm: ENCRYPT, key: KEY.len() }.message(&KEY).unwrap();
        let answer = link.ask(CREATE_SESSION, &body).unwrap();
        let session = u64::try_from(i64::from_ne_bytes(*answer.last_chunk().unwrap())).unwrap();
        Pages { link, session }
    }

    /// Has so many pages encrypted; how it ended.
    fn encrypts(&mut self, text: &[u8], descriptors: usize) -> u8 {
        let pages = text.len() / PAGE;
        let (area, parts) = (self.link.area(), self.link.free().next_multiple_of(PAGE));
        let (source, result, status) = (parts + PAGE, parts + PAGE + text.len(), parts + 200);
        let bytes = text.len() as u32;
        let request = Request {
            session: self.session,
            work: Work::Encrypt,
            iv: 16,
            source: bytes,
            associated: 0,
            result: bytes,
        };
        let fixed = request.compose(ENCRYPT);
        area.write(parts, &[&fixed[..], &IV].concat());
        area.write(source, text);
        area.write(status, &[0xff]);
        let part = |at: usize, bytes: usize| Span { at, bytes: bytes as u32 };
        let named = |start: usize| {
            let numbers = (0..pages).flat_map(move |first| first..pages);
            numbers.map(move |number| part(start + number * PAGE, PAGE))
        };
        let header = [part(parts, fixed.len()), part(parts + fixed.len(), IV.len())];
        let readable: Vec<Span> = header.into_iter().chain(named(source)).collect();
        let writable: Vec<Span> = named(result).chain([part(status, 1)]).collect();
        assert_eq!(readable.len() + writable.len(), descriptors);
        let lane = self.link.lane(0);
        assert!(lane.submit(1, &readable, &writable).unwrap());
        lane.kick_anyway();
        assert!(lane.wait(PATIENCE).unwrap().is_some(), "{pages} pages: nothing came");
        let mut told = [0];
        area.read(status, &mut told);
        if told[0] == Status::Ok as u8 {
            let mut made = vec![0; text.len()];
            area.read(result, &mut made);
            assert!(made == encrypted(&KEY, &IV, text), "{pages} pages: another result");
        }
        told[0]
    }
}

/// A request of 128 KiB by AF_ALG in a guest has 1059 descriptors, more than any ring here: it ended its
/// queue for good. Up to 1020 KiB are served, 208 KiB being what a socket holds.
#[test]
fn requests_are_served_whose_tables_are_longer_than_the_ring() {
    let served = Served::start(1, &CardOptions::default());
    for function in 0..2 {
        let mut tenant = Pages::new(&served, function, 255);
        for (pages, descriptors) in
            [(16, 275), (31, 995), (32, 1059), (52, 2759), (104, 10_923), (255, 65_283), (1, 5)]
        {
            let text: Vec<u8> = (0..pages * PAGE).map(|at| (at / 3) as u8).collect();
            assert_eq!(tenant.encrypts(&text, descriptors), Status::Ok as u8, "{pages} pages");
        }
        let status = &served.card.status().functions[function];
        assert_eq!((status.counts.refused_chains, status.counts.failed, status.served), (0, 0, true));
    }
}

/// A request that is too long, or in too many pieces, is answered, and what comes after it is served.
#[test]
fn long_tables_of_what_is_too_much_are_answered_and_the_queue_goes_on() {
    let served = Served::start(1, &CardOptions { longest: 64 << 10, ..CardOptions::default() });
    let text = |pages: usize| vec![7; pages * PAGE];
    let mut tenant = Pages::new(&served, 0, 32);
    for _ in 0..3 {
        assert_eq!(tenant.encrypts(&text(32), 1059), Status::Err as u8);
        assert_eq!(tenant.encrypts(&text(16), 275), Status::Ok as u8);
    }
    // Bytes one by one: working on each would take a thousand times what a page takes.
    let pieces = 60_000;
    let options = Options { depth: 2, indirect: pieces + 4, bytes: 1 << 20, ..Options::default() };
    let mut driver = served.driver(1, &options);
    let hash = driver.open(Algorithm::Hash(Digest::Sha512), &[]).unwrap().unwrap();
    let at = driver.free();
    let result = [Span { at: at + (64 << 10), bytes: 64 }];
    for (pieces, status) in
        [(pieces, Status::Err), (1000, Status::Ok), (1025, Status::Err), (1024, Status::Ok)]
    {
        let single: Vec<Span> = (0..pieces).map(|byte| Span { at: at + byte, bytes: 1 }).collect();
        let asked = Operation { work: Work::Hash, ..operation(hash, &[], &single, &result) };
        assert_eq!(ask(&mut driver, &asked).status, status, "{pieces} pieces");
    }
    let refused = |number: usize| served.card.status().functions[number].counts.refused_chains;
    assert_eq!([0, 1].map(refused), [0, 0]);
}
