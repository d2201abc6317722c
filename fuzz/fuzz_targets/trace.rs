//! Traces: see `crates/model/tests/models/traces/harness.rs`.
#![no_main]

#[path = "../../crates/model/tests/models/traces/harness.rs"]
mod harness;
#[path = "../../crates/host/testing/processor_time.rs"]
mod processor_time;

use libfuzzer_sys::{Corpus, fuzz_target};

fuzz_target!(|input: &[u8]| -> Corpus {
    // What is refused teaches the fuzzer something too.
    harness::fits(input);
    Corpus::Keep
});
