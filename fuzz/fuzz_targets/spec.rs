//! Specifications of systems: see `crates/sim/tests/simulations/fuzzed/harness.rs`.
#![no_main]

#[path = "../../crates/sim/tests/simulations/fuzzed/harness.rs"]
mod harness;
#[path = "../../crates/host/testing/processor_time.rs"]
mod processor_time;

use libfuzzer_sys::{Corpus, fuzz_target};

fuzz_target!(|input: &[u8]| -> Corpus {
    // What is refused teaches the fuzzer something too.
    harness::read(input);
    Corpus::Keep
});
