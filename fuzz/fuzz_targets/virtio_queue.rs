//! Queues of a guest: see `crates/virtio/tests/chains/harness.rs`.
#![no_main]

#[path = "../../crates/virtio/tests/chains/harness.rs"]
mod harness;

use std::cell::RefCell;

use libfuzzer_sys::fuzz_target;

/// Runs between two looks at how many chains were tried.
const REPORT: u64 = 1 << 20;

thread_local! {
    static PLAYER: RefCell<(harness::Player, harness::Tally, u64)> =
        RefCell::new((harness::Player::new(), harness::Tally::default(), 0));
}

fuzz_target!(|input: &[u8]| {
    PLAYER.with_borrow_mut(|(player, tally, runs)| {
        player.play(input, tally);
        *runs += 1;
        if runs.is_multiple_of(REPORT) {
            eprintln!("{} chains: {tally:?}", tally.chains());
        }
    });
});
