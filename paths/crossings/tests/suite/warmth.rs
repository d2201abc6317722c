//! Cold calls held against hot ones of the same kind.

use tollway_core::{Clock, Lot, Params, Place, TenantKind};
use tollway_crossings::engine::Operation;
use tollway_crossings::engine::single::SystemCall;
use tollway_host::clock::RunClock;

use crate::turn::{alone, undisturbed};

/// Kinds that need neither a disk nor a network.
const KINDS: [&str; 5] = ["read-pipe", "write-unix", "epoll-wait", "futex-wake-none", "mmap"];

/// Pairs of a hot sample and a cold one.
const PAIRS: usize = 201;

fn made(kind: &str, warmth: &str) -> SystemCall {
    let size = u64::from(kind.starts_with("read") || kind.starts_with("write"));
    let params = Params::new().with("kind", kind).with("size", size).with("warmth", warmth);
    let (peers, doorbells) = (Vec::new(), Vec::new());
    let place = Place { tenant: TenantKind::Thread, peers, doorbells, exits: None, lot: Lot::default() };
    SystemCall::prepare(&params, &place).unwrap()
}

/// Ticks a call of one sample.
fn sample(calls: &mut SystemCall) -> f64 {
    if calls.uses_up() {
        calls.restock();
    }
    let clock = RunClock::chosen();
    let begun = clock.open();
    calls.once();
    (clock.close() - begun) as f64 / f64::from(calls.operations())
}

#[test]
fn a_cold_call_is_dearer_than_a_hot_one() {
    let _alone = alone();
    for kind in KINDS {
        let (mut hot, mut cold) = (made(kind, "hot"), made(kind, "cold"));
        let pairs: Vec<(f64, f64)> = (0..PAIRS).map(|_| (sample(&mut hot), sample(&mut cold))).collect();
        let (hot, cold) =
            (undisturbed(pairs.iter().map(|pair| pair.0)), undisturbed(pairs.iter().map(|pair| pair.1)));
        println!("{kind}: cold is {:.2} times hot", cold / hot);
        assert!(cold > hot, "{kind}: {cold} and {hot} ticks");
    }
}
