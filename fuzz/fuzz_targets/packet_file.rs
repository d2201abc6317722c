//! Capture files: see `paths/capture/tests/suite/packet_files/harness.rs`.
#![no_main]

#[path = "../../paths/capture/tests/suite/packet_files/harness.rs"]
mod harness;

use libfuzzer_sys::{Corpus, fuzz_target};

fuzz_target!(|input: &[u8]| -> Corpus {
    // What is refused teaches the fuzzer something too.
    harness::check(input);
    Corpus::Keep
});
