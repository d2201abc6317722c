//! Programs of classic BPF and packets: see `paths/capture/tests/suite/verdicts/harness.rs`.
#![no_main]

#[path = "../../paths/capture/tests/suite/verdicts/harness.rs"]
mod harness;
#[path = "../../paths/capture/tests/suite/libpcap/machine.rs"]
#[expect(dead_code, reason = "tests ask it more than a fuzzer does")]
mod libpcap;
#[path = "../../paths/capture/tests/suite/libpcap/loaded.rs"]
mod loaded;
#[path = "../../paths/capture/tests/suite/verdicts/plain.rs"]
mod plain;

use libfuzzer_sys::{Corpus, fuzz_target};

fuzz_target!(|input: &[u8]| -> Corpus {
    // What is refused teaches the fuzzer something too.
    harness::run(input);
    Corpus::Keep
});
