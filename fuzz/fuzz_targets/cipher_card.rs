//! A tenant of a crypto card that keeps to no rule, and another beside it: see `paths/cipher/tests/hostile/attacker.rs`.
#![no_main]

#[path = "../../paths/cipher/tests/hostile/attacker.rs"]
#[expect(dead_code, reason = "the tests have many of them at once, and at sockets")]
mod attacker;
#[path = "../../paths/cipher/tests/hostile/chains.rs"]
mod chains;
#[path = "../../crates/host/testing/eventually.rs"]
mod eventually;
#[path = "../../paths/cipher/tests/hostile/pair.rs"]
mod pair;
#[path = "../../crates/host/testing/pause.rs"]
mod pause;

use std::cell::RefCell;

use libfuzzer_sys::fuzz_target;

/// Runs between two looks at how many chains were tried.
const REPORT: u64 = 1 << 16;

thread_local! {
    static PAIR: RefCell<(pair::Pair, attacker::Tally, u64)> =
        RefCell::new((pair::Pair::new(), attacker::Tally::default(), 0));
}

fuzz_target!(|input: &[u8]| {
    PAIR.with_borrow_mut(|(pair, tally, runs)| {
        pair.play(input, tally);
        *runs += 1;
        if runs.is_multiple_of(REPORT) {
            eprintln!("{} chains: {tally:?}", tally.chains());
        }
    });
});
