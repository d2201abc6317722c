//! Tenants of a whole card that keep to no rule: none of them crashes it, learns of others, or keeps others from what is theirs.

mod attacker;
mod chains;
mod crowd;
#[path = "../../../../crates/host/testing/eventually.rs"]
mod eventually;
mod large;
mod messages;
mod pair;
#[path = "../../../../crates/host/testing/pause.rs"]
mod pause;
#[path = "../../../../crates/host/testing/quiet.rs"]
mod quiet;
mod resources;
mod stall;
mod tables;
#[path = "../../testing/tenancy.rs"]
#[expect(dead_code, reason = "tests of the driver need more of it")]
mod tenancy;
mod victim;

use std::env;
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use attacker::Tally;
use pair::Pair;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

/// Chains that are tried at least by each test; `TOLLWAY_CHAINS` is another number of them.
fn chains_wanted() -> u64 {
    env::var("TOLLWAY_CHAINS").ok().map_or(30_000, |text| text.parse().unwrap())
}

/// Tests that wait for their turn, each in a thread of its own.
static WAITING: AtomicUsize = AtomicUsize::new(0);

/// One test at a time: what the process has is counted.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    WAITING.fetch_add(1, Ordering::SeqCst);
    let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    WAITING.fetch_sub(1, Ordering::SeqCst);
    alone
}

/// What the fuzz target `cipher-card` begins with, and has found.
#[test]
fn every_seed_is_played() {
    let _alone = alone();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds/cipher-card");
    let mut seeds: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    seeds.sort();
    assert!(seeds.len() >= 16, "{seeds:?}");
    let (mut pair, mut tally) = (Pair::new(), Tally::default());
    for seed in seeds {
        pair.play(&fs::read(&seed).unwrap(), &mut tally);
    }
    println!("{tally:?}");
}

/// Chains that one thread plays alone, with whom they may harm beside.
#[test]
fn what_is_wrong_is_refused_or_answered_and_all_else_is_right() {
    let _alone = alone();
    let mut random = Xoshiro256PlusPlus::seed_from_u64(11);
    let (mut pair, mut tally) = (Pair::new(), Tally::default());
    let mut data = [0; 3000];
    let (wanted, begun) = (chains_wanted(), Instant::now());
    while tally.chains() < wanted {
        let len = 200 + (random.next_u32() % 2800) as usize;
        random.fill_bytes(&mut data[..len]);
        pair.play(&data[..len], &mut tally);
    }
    println!("{} chains in {:?}: {tally:?}", tally.chains(), begun.elapsed());
    tally.has_met_everything();
}
