//! Whether a block was there before: what a generator does that was restarted from the same state, or a guest that was
//! resumed twice from one snapshot. None of the five tests sees it.

use std::hash::{BuildHasher, RandomState};

use rapidhash::v3::{RapidSecrets, rapidhash_v3_seeded};

use super::Block;

/// Fingerprints that lie in a cache line together; the eighth that comes after one puts it out.
const WAYS: usize = 8;

/// Lines of the table.
const LINES: usize = 1 << 17;

/// Remembers fingerprints of 64 bits of the last blocks, a million at most in [`Duplicates::MEMORY`].
///
/// A fingerprint's line is chosen by its own bits, so how long one is remembered is luck: after 262,144 more blocks (655 MB)
/// one of 900 is forgotten, after 524,288 (1.3 GB) one of 20, after 1,048,576 (2.6 GB) about half.
///
/// Blocks that differ have the same fingerprint with probability 2⁻⁶⁴, and each is compared with 2²⁰ others at most: a false
/// report has a probability of 2⁻⁴⁴ a block, or 2·10⁻⁵ in a terabyte. The hash is keyed anew for each table, so that nobody can
/// prepare blocks that collide without seeing it run.
pub struct Duplicates {
    secrets: RapidSecrets,
    /// Fingerprints, the newest of a line first; 0 is an empty place. The memory is touched where it is used.
    lines: Vec<[u64; WAYS]>,
    found: u64,
}

impl Duplicates {
    /// Bytes of a table.
    pub const MEMORY: usize = LINES * WAYS * size_of::<u64>();

    /// An empty table with a random key.
    pub fn new() -> Duplicates {
        Duplicates::keyed(RandomState::new().hash_one(0))
    }

    /// An empty table with this key.
    pub fn keyed(key: u64) -> Duplicates {
        Duplicates { secrets: RapidSecrets::seed(key), lines: vec![[0; WAYS]; LINES], found: 0 }
    }

    /// Whether this block was there before, as far as is remembered; it is from now on.
    pub fn seen(&mut self, block: &Block) -> bool {
        let hash = rapidhash_v3_seeded(block, &self.secrets);
        let line = &mut self.lines[hash as usize % LINES];
        let fingerprint = hash.max(1);
        let place = line.iter().position(|one| *one == fingerprint);
        // What was seen again is the newest again.
        line[..=place.unwrap_or(WAYS - 1)].rotate_right(1);
        line[0] = fingerprint;
        self.found += u64::from(place.is_some());
        place.is_some()
    }

    /// Blocks that were there before.
    pub fn found(&self) -> u64 {
        self.found
    }
}

impl Default for Duplicates {
    fn default() -> Self {
        Duplicates::new()
    }
}
