//! FIPS 140-2 tests of any stream in any chunks: see `paths/entropy/tests/fips/harness.rs`.
#![no_main]

#[path = "../../paths/entropy/tests/fips/harness.rs"]
mod harness;
#[path = "../../paths/entropy/tests/fips/plain.rs"]
mod plain;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| harness::check(input));
