//! Questions to the catalogue: see `crates/model/tests/models/hostile/asked.rs`.
#![no_main]

#[path = "../../crates/model/tests/models/hostile/asked.rs"]
mod asked;
#[path = "../../crates/host/testing/processor_time.rs"]
mod processor_time;

use std::time::Duration;

use libfuzzer_sys::{Corpus, fuzz_target};
use processor_time::processor_time;

fuzz_target!(|input: &[u8]| -> Corpus {
    if let Some((model, pairs)) = asked::read(input) {
        let begun = processor_time();
        let answer = asked::answer(model, &pairs);
        let took = processor_time() - begun;
        assert!(took < Duration::from_secs(1), "{took:?} for {} {pairs:?}", model.name);
        let wrong = asked::wrong(model, &answer);
        assert!(wrong.is_none(), "{} {pairs:?}: {}", model.name, wrong.unwrap_or_default());
    }
    // What is refused teaches the fuzzer something too.
    Corpus::Keep
});
