//! Queues as no driver would make them, against a walk of the rules that knows nothing of the code.

mod harness;

use std::fs;
use std::path::Path;

use harness::{Player, Tally};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

/// Chains that are tried; `TOLLWAY_CHAINS` is another number of them.
const CHAINS: u64 = 100_000;

#[test]
fn what_is_taken_and_what_is_refused_is_by_the_rules() {
    let wanted = std::env::var("TOLLWAY_CHAINS").ok().map_or(CHAINS, |text| text.parse().unwrap());
    let mut random = Xoshiro256PlusPlus::seed_from_u64(7);
    let mut player = Player::new();
    let mut tally = Tally::default();
    let mut data = [0; 512];
    while tally.chains() < wanted {
        let len = 64 + (random.next_u32() % 448) as usize;
        random.fill_bytes(&mut data[..len]);
        player.play(&data[..len], &mut tally);
    }
    println!("{tally:?}");
    // Each of these has been met often: else the search would find nothing.
    let tenth = tally.chains() / 20;
    assert!(tally.taken > tenth && tally.refused > tenth, "{tally:?}");
    assert!(tally.indirect > 0 && tally.long > 0 && tally.bytes > 0, "{tally:?}");
    for (name, count) in &tally.kinds {
        println!("{count:9} {name}");
    }
    for name in
        ["DescriptorIndex", "Loop", "Empty", "TooLong", "Outside", "Order", "Indirect", "AvailableIndex"]
    {
        assert!(tally.kinds.contains_key(name), "{name} was never met");
    }
}

/// What the fuzz target `virtio-queue` begins with, and has found.
#[test]
fn every_seed_is_played() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds/virtio-queue");
    let mut seeds: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    seeds.sort();
    assert!(!seeds.is_empty());
    let (mut player, mut tally) = (Player::new(), Tally::default());
    for seed in seeds {
        player.play(&fs::read(&seed).unwrap(), &mut tally);
    }
    println!("{tally:?}");
    assert!(tally.taken > 0);
}
