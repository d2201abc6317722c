//! Bytes as machine code: those that a fuzzer found worth keeping (`fuzz/seeds/payload`), changes of them, and random
//! ones, for some seconds. `make soak fuzz` goes on for longer, and adds to the kept ones.
//!
//! Without `/dev/kvm` the test says why it does nothing, unless `TOLLWAY_REQUIRE` names `micro-guest` or `kvm`.

mod harness;

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::probe;
use crate::turn::kvm;
use harness::Harness;

/// How long inputs are made up.
const TIME: Duration = Duration::from_secs(5);

/// Marsaglia's xorshift64, shifts 13, 7 and 17: the same inputs in every run.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 = tollway_payload::work::scramble(self.0, 1);
        self.0
    }

    fn below(&mut self, end: usize) -> usize {
        (self.next() >> 16) as usize % end.max(1)
    }

    /// Random bytes, a changed seed, or pieces of two seeds.
    fn input(&mut self, seeds: &[Vec<u8>]) -> Vec<u8> {
        if seeds.is_empty() || self.below(4) == 0 {
            return (0..16 + self.below(48)).map(|_| self.next() as u8).collect();
        }
        let mut input = seeds[self.below(seeds.len())].clone();
        if self.below(3) == 0 {
            let other = &seeds[self.below(seeds.len())];
            input.truncate(16.max(self.below(input.len())));
            input.extend_from_slice(&other[self.below(other.len())..]);
        }
        for _ in 0..self.below(4) {
            let at = self.below(input.len());
            match (self.below(3), input.get_mut(at)) {
                (0, Some(byte)) => *byte = self.next() as u8,
                (1, Some(byte)) => *byte ^= 1 << self.below(8),
                _ => input.insert(at, self.next() as u8),
            }
        }
        input
    }
}

fn seeds() -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds/payload");
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path()).collect();
    files.sort();
    files.iter().map(|file| std::fs::read(file).unwrap()).collect()
}

/// Mappings of a test's thread that begins meanwhile, and of its memory. One that each input left would be
/// thousands.
const OF_A_THREAD: usize = 8;

/// Open descriptors, and mappings.
fn held() -> (usize, usize) {
    let files = std::fs::read_dir("/proc/self/fd").unwrap().count();
    (files, std::fs::read_to_string("/proc/self/maps").unwrap().lines().count())
}

/// Every input ends in time and by a name, leaves nothing to the next call, and nothing in this process.
#[test]
fn machine_code_of_any_kind() {
    let Some(_one) = kvm() else { return };
    if !probe::possible() {
        return;
    }
    let harness = Harness::new();
    let seeds = seeds();
    assert!(seeds.len() >= 100, "{} seeds", seeds.len());
    let mut ends = BTreeMap::<String, u32>::new();
    let mut run = |input: &[u8]| {
        if let Some(ended) = harness.run(input) {
            *ends.entry(format!("{ended:?}")).or_default() += 1;
        }
    };
    run(&seeds[0]);
    let before = held();
    seeds.iter().for_each(|seed| run(seed));
    let mut numbers = Numbers(0x2545_f491_4f6c_dd1d);
    let started = Instant::now();
    while started.elapsed() < TIME {
        run(&numbers.input(&seeds));
    }
    println!("{ends:?}");
    let after = held();
    assert!(after.0 == before.0 && after.1 <= before.1 + OF_A_THREAD, "{before:?} before, {after:?} after");
    assert!(ends.len() >= 6, "{ends:?}: the inputs have become harmless");
}
