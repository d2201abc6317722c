//! Measurements of the back ends that a test has: the library, a card inside, a card at a socket. A neighbour needs the program
//! and is measured by its tests.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use clap::Parser;
use tollway_cipher::engine::device::{Card, Delivery, NewFunction, Options};
use tollway_cipher::engine::kernel::{DevCrypto, own};
use tollway_cipher_tool::Ending;
use tollway_cipher_tool::args::bench::Bench;
use tollway_cipher_tool::bench::{self, BenchDocument};
use tollway_core::{Error, Missing};
use tollway_host::af_alg::AfAlg;
use tollway_host::requirement::skip_test;
use tollway_lab::progress::{Progress, Unwatched};
use tollway_virtio::order::Share;
use tollway_virtio::socket::{Listener, Meeting};

#[derive(Parser)]
struct Line {
    #[command(flatten)]
    options: Bench,
}

const NO_PROGRAM: &str = "/nowhere/tollway";

fn asked(words: &str) -> Bench {
    Line::parse_from(["bench"].into_iter().chain(words.split_whitespace())).options
}

fn measured(words: &str) -> BenchDocument {
    let interrupted = AtomicBool::new(false);
    bench::run(&asked(words), Path::new(NO_PROGRAM), &interrupted, &mut Unwatched).unwrap()
}

#[test]
fn every_cipher_of_the_suite_is_done_rightly_by_a_card_before_it_is_timed() {
    let document = measured(
        "--cipher all --sizes 64,4096 --in-flight 3 --by library,copies,inside --time 0.03 --runs 1",
    );
    assert_eq!((document.failed.len(), document.ending()), (0, Ending::Done), "{:?}", document.failed);
    assert_eq!(document.points.len(), 19 * 2 * 3);
    for point in &document.points {
        assert!(point.requests_per_second.median > 0.0, "{point:?}");
        assert!(point.of_library.unwrap().median > 0.0 && point.latency_p50.unwrap() > 0.0, "{point:?}");
        assert!(point.rounds == 1 && point.requests_per_second.interval.is_none());
    }
}

/// How often it is measured until figures of 10 ms are as they should be: others may have the processor for all of these.
const TRIES: usize = 20;

#[test]
fn operations_with_keys_are_done_rightly_by_a_card_before_they_are_timed() {
    let words = "--cipher keyed,aes-128-ctr --sizes 64,128 --in-flight 1,3 --by library,copies,inside --time 0.01 --runs 1";
    let document = measured(words);
    assert_eq!((document.failed.len(), document.ending()), (0, Ending::Done), "{:?}", document.failed);
    // Each has a size of its own.
    assert_eq!(document.points.len(), (5 + 2) * (1 + 1 + 2));
    for by in ["library", "inside"] {
        let is_shorter = |_| {
            let words =
                format!("--cipher rsa2048-sign,rsa2048-verify --in-flight 1 --by {by} --time 0.01 --runs 1");
            let document = measured(&words);
            let of = |cipher: &str| {
                let found = document.points.iter().find(|point| point.cipher == cipher);
                found.unwrap().requests_per_second.median
            };
            of("rsa2048-verify") > 4.0 * of("rsa2048-sign")
        };
        assert!((0..TRIES).any(is_shorter), "{by}: the public exponent is short");
    }
    let (text, csv) = (document.to_text(false, None), document.to_csv());
    assert!(text.contains("GB/s") && text.contains("operations with keys"), "{text}");
    assert!(csv.contains(",rsa2048-verify,288,"), "{csv}");
    let alone =
        measured("--cipher x25519 --in-flight 1 --by library --time 0.01 --runs 1").to_text(false, None);
    assert!(!alone.contains("GB/s") && alone.contains("x25519"), "{alone}");
    println!("{text}\n{alone}");
}

#[test]
fn a_dry_run_says_what_would_be_measured_and_measures_nothing() {
    let words =
        "--cipher sha256 --sizes 64 --in-flight 1 --by library,inside --time 60 --runs 10 --export x.csv";
    let text = bench::planned(&asked(words)).unwrap().to_text();
    for says in
        ["sha256 64 B by library\n", "sha256 64 B by inside", "20 measurements, about 1", "writes x.csv"]
    {
        assert!(text.contains(says), "{says}: {text}");
    }
}

#[test]
fn every_way_to_wait_and_several_tasks_are_measured_and_told_apart() {
    let ways = "busy,interrupt,epoll,periodic:100us,hybrid:20us";
    let words = format!(
        "--cipher aes-128-ctr --sizes 1024 --in-flight 1,8 --tasks 1,2 --by library,inside --waiting {ways} --time 0.01 --runs 5"
    );
    let document = measured(&words);
    assert_eq!(document.ending(), Ending::Done, "{:?}", document.failed);
    assert_eq!(document.points.len(), 2 + 2 * 2 * 5);
    assert!(
        document.points.iter().all(|point| point.rounds == 5 && point.bytes_per_second.interval.is_some())
    );
    // It sleeps for 100 µs between two looks: with one request on its way no more than that can be done.
    let periodic = document.points.iter().find(|point| {
        point.waiting.as_deref() == Some("periodic:100us") && (point.in_flight, point.tasks) == (Some(1), 1)
    });
    assert!(periodic.unwrap().requests_per_second.median < 10_000.0, "{periodic:?}");
    let (text, page, csv) = (document.to_text(true, None), document.to_markdown(false), document.to_csv());
    for way in ways.split(',') {
        for told in [&text, &page, &csv] {
            assert!(told.contains(way), "{told}");
        }
    }
    assert!(text.contains("tasks") && page.contains("| --- |"), "{text}\n{page}");
    assert_eq!(csv.lines().count(), 1 + document.points.len());
    println!("{text}");
}

#[test]
fn a_card_that_is_served_is_measured_and_one_that_is_not_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("card.sock");
    let function = NewFunction {
        name: "served".into(),
        meeting: Meeting::Listen(Listener::bind(&path, 0o600).unwrap()),
        share: Share::default(),
        delivery: Delivery::Each,
    };
    let card = Card::start(vec![function], &Options::default(), |_| ()).unwrap();
    let words = format!(
        "--cipher sha256 --sizes 64 --in-flight 4 --by socket --socket {} --time 0.005 --runs 2",
        path.display()
    );
    let document = measured(&words);
    assert_eq!((document.points.len(), document.ending()), (1, Ending::Done), "{:?}", document.failed);
    assert!(document.points[0].of_library.is_none(), "the library was not measured");
    assert!(card.status().functions[0].counts.requests > 10);
    card.stop();
    let gone = AtomicBool::new(false);
    let error = bench::run(&asked(&words), Path::new(NO_PROGRAM), &gone, &mut Unwatched).unwrap_err();
    assert!(
        matches!(error.downcast_ref(), Some(Error::Input { place, .. }) if place.contains("card.sock")),
        "{error}"
    );
}

#[test]
fn what_cannot_be_started_fails_alone() {
    let document =
        measured("--cipher sha256 --sizes 64 --in-flight 1 --by library,neighbour --time 0.005 --runs 2");
    assert_eq!(
        (document.points.len(), document.failed.len(), document.ending()),
        (1, 1, Ending::CheckFailed)
    );
    assert!(document.failed[0].reason.contains(NO_PROGRAM), "{:?}", document.failed);
    assert!(document.to_text(false, None).contains("failed: sha256 64 B by neighbour, busy, 1 in flight: "));
}

/// Interrupts after so many trials.
struct Impatient<'a>(&'a AtomicBool, u32);

impl Progress for Impatient<'_> {
    fn played(&mut self) {
        self.1 -= 1;
        if self.1 == 0 {
            self.0.store(true, Ordering::Relaxed);
        }
    }
}

#[test]
fn an_interruption_keeps_what_was_measured() {
    let interrupted = AtomicBool::new(false);
    let options =
        asked("--cipher sha256 --sizes 64,128,256 --in-flight 1 --by library,inside --time 0.005 --runs 3");
    let mut progress = Impatient(&interrupted, 7);
    let document = bench::run(&options, Path::new(NO_PROGRAM), &interrupted, &mut progress).unwrap();
    assert_eq!(document.ending(), Ending::Interrupted);
    assert_eq!(document.points.iter().map(|point| point.rounds).sum::<usize>(), 7);
    assert!(document.to_text(false, None).contains("interrupted"));
}

#[test]
fn the_kernel_is_asked_where_it_can_be() {
    if let Err(missing) = AfAlg::check() {
        let options = asked("--by af-alg");
        let error =
            bench::run(&options, Path::new(NO_PROGRAM), &AtomicBool::new(false), &mut Unwatched).unwrap_err();
        assert!(
            matches!(error.downcast_ref(), Some(Error::Missing(Missing { what, .. })) if what == "AF_ALG")
        );
        println!("skipped: {missing}");
        return;
    }
    let document = measured(
        "--cipher aes-128-cbc,aes-128-ctr,aes-128-xts --sizes 64,4096 --by library,af-alg --time 0.005 --runs 1",
    );
    assert_eq!((document.points.len(), document.ending()), (12, Ending::Done), "{:?}", document.failed);
    let text = document.to_text(false, None);
    for point in document.points.iter().filter(|point| point.by == "af-alg") {
        let driver = point.driver.as_ref().expect("no driver is named");
        assert!(text.contains(&format!("af-alg: {driver}")), "{text}");
    }
}

#[test]
fn drivers_that_are_named_are_measured_beside_each_other() {
    if let Err(missing) = AfAlg::check() {
        return skip_test(&["af-alg"], &missing);
    }
    let [cbc, ctr] = ["cbc(aes)", "ctr(aes)"].map(|algorithm| own(algorithm).unwrap().name);
    let words = format!(
        "--cipher aes-128-cbc,aes-128-ctr --sizes 64 --by library --driver {cbc},{ctr} --time 0.005 --runs 1"
    );
    let document = measured(&words);
    assert_eq!((document.points.len(), document.ending()), (4, Ending::Done), "{:?}", document.failed);
    let by: Vec<_> = document.points.iter().filter_map(|point| point.driver.clone()).collect();
    assert_eq!(by, [cbc, ctr], "each does its own algorithm");
    assert_eq!(document.skipped.len(), 2, "and not the other's: {:?}", document.skipped);
}

#[test]
fn dev_crypto_is_asked_where_there_is_one() {
    if let Err(missing) = DevCrypto::check(Path::new("/")) {
        return skip_test(&["dev-crypto"], &missing);
    }
    let words =
        "--cipher aes-128-cbc --sizes 64,1048576 --in-flight 1 --by library,dev-crypto --time 0.005 --runs 1";
    let document = measured(words);
    assert_eq!((document.points.len(), document.ending()), (4, Ending::Done), "{:?}", document.failed);
    assert!(document.points.iter().any(|point| point.by == "dev-crypto" && point.driver.is_some()));
}
