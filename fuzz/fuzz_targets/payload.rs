//! Machine code in an isolated guest: see `crates/tenant/tests/guests/fuzzed/harness.rs`.
#![no_main]

#[path = "../../crates/tenant/tests/guests/fuzzed/harness.rs"]
mod harness;
#[path = "../../crates/tenant/tests/guests/probe.rs"]
mod probe;

use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use libfuzzer_sys::{Corpus, fuzz_target};

/// From how many inputs on, and how often, the open descriptors are counted: a leak is seen long before it ends a run.
const EVERY: usize = 4096;

fuzz_target!(|input: &[u8]| -> Corpus {
    static HARNESS: OnceLock<harness::Harness> = OnceLock::new();
    static INPUTS: AtomicUsize = AtomicUsize::new(0);
    let harness = HARNESS.get_or_init(|| {
        assert!(probe::possible(), "this fuzzer wants AVX-512");
        harness::Harness::new()
    });
    if INPUTS.fetch_add(1, Ordering::Relaxed).is_multiple_of(EVERY) {
        let files = std::fs::read_dir("/proc/self/fd").map_or(0, Iterator::count);
        assert!(files < 64, "{files} descriptors are open");
    }
    if harness.run(input).is_some() { Corpus::Keep } else { Corpus::Reject }
});
