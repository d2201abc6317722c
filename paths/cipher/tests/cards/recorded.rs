//! The trace that comes with the program, drawn again by the law that it names: what stands in the file is that, and nothing else.
//!
//! Pages of a TLS server are asked for 400 times a second, at random (Poisson). Each is a record of 256 bytes, then full ones of 16 KiB
//! (their number geometric, 3 in the mean), then one of 1 or 4 KiB, which is as likely; one begins 60 µs after the other. One page of
//! five is the last of its session, whose alert of 64 bytes follows after a millisecond. `TOLLWAY_REWRITE=1` writes the file.

use std::fmt::Write;

use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/traces/sessions.csv");

/// It has the name that this file had when the trace was drawn: points are pinned by every byte of a trace.
const HEAD: &str = "# Requests of a TLS server's sessions. Not from a machine: drawn by the law that tests/recorded.rs has, with seed 1.\n\
                    arrival_us,bytes\n";

const REQUESTS: usize = 2000;

fn drawn() -> Vec<(u64, u32)> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
    let (mut requests, mut page) = (Vec::new(), 0.0);
    // Pages overlap: so many more that all before the last that is kept are there.
    while requests.len() < REQUESTS * 11 / 10 {
        page += -(1.0 - random.random::<f64>()).ln() * 2500.0;
        let mut at = page as u64;
        let mut record = |bytes, after: u64| {
            requests.push((at, bytes));
            at += after;
        };
        record(256, 60);
        while random.random_bool(0.75) {
            record(16384, 60);
        }
        record(if random.random_bool(0.5) { 1024 } else { 4096 }, 1000);
        if random.random_bool(0.2) {
            record(64, 0);
        }
    }
    requests.sort_unstable();
    let first = requests[0].0;
    requests.iter().take(REQUESTS).map(|(at, bytes)| (at - first, *bytes)).collect()
}

#[test]
fn the_trace_is_drawn_by_the_law_that_it_names() {
    let mut text = String::from(HEAD);
    for (at, bytes) in drawn() {
        writeln!(text, "{at},{bytes}").unwrap();
    }
    if std::env::var_os("TOLLWAY_REWRITE").is_some() {
        std::fs::write(FILE, &text).unwrap();
    }
    assert!(std::fs::read_to_string(FILE).unwrap() == text, "{FILE} differs: TOLLWAY_REWRITE=1 writes it");
}
