//! An end of a channel that lies in shared memory: see `crates/channel/tests/processes/hostile/memory.rs`.
#![no_main]

#[path = "../../crates/channel/tests/processes/hostile/memory.rs"]
mod memory;

use std::cell::RefCell;

use libfuzzer_sys::fuzz_target;

/// Runs between two looks at how many lies were tried.
const REPORT: u64 = 1 << 20;

thread_local! {
    static TALLY: RefCell<(memory::Tally, u64)> = RefCell::default();
}

fuzz_target!(|input: &[u8]| {
    TALLY.with_borrow_mut(|(tally, runs)| {
        memory::play(input, tally);
        *runs += 1;
        if runs.is_multiple_of(REPORT) {
            eprintln!("{tally:?}");
        }
    });
});
