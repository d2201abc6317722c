//! An end that lies when ends of a channel meet: see `crates/channel/tests/processes/hostile/meeting.rs`.
#![no_main]

#[path = "../../crates/channel/tests/processes/hostile/meeting.rs"]
mod meeting;

use std::cell::RefCell;

use libfuzzer_sys::fuzz_target;

/// Runs between two looks at how many meetings there were.
const REPORT: u64 = 1 << 14;

thread_local! {
    static TALLY: RefCell<(meeting::Tally, u64)> = RefCell::default();
}

fuzz_target!(|input: &[u8]| {
    TALLY.with_borrow_mut(|(tally, runs)| {
        meeting::play(input, tally);
        *runs += 1;
        if runs.is_multiple_of(REPORT) {
            eprintln!("{tally:?}");
        }
    });
});
