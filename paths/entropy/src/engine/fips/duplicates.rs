//! Whether a block was there before: what a generator does that was restarted from the same state, or a guest that was
//! resumed twice from one snapshot. None of the five tests sees it.

use std::hash::{BuildHasher, RandomState};

use rapidhash::v3::{RapidSecrets, rapidhash_v3_seeded};

use super::Block;

/// Fingerprints that lie in a cache line together; the eighth that comes after one puts it out.
const WAYS: usize = 8;

/// Lines of a new table, and of one that does not grow any more.
const FIRST: usize = 1 << 10;
const LINES: usize = 1 << 17;

/// Remembers fingerprints of 64 bits of the last blocks, a million at most in [`Duplicates::MEMORY`].
///
/// A fingerprint's line is chosen by its own bits, so how long one is remembered is luck: after 262,144 more blocks (655 MB)
/// one of 900 is forgotten, after 524,288 (1.3 GB) one of 20, after 1,048,576 (2.6 GB) about half. Before that the table grows
/// with what it holds, one fingerprint a line in the mean, by which less than three of a million are forgotten: the table of a
/// short stream stays in a cache.
///
/// Blocks that differ have the same fingerprint with probability 2⁻⁶⁴, and each is compared with 2²⁰ others at most: a false
/// report has a probability of 2⁻⁴⁴ a block, or 2·10⁻⁵ in a terabyte. The hash is keyed anew for each table, so that nobody can
/// prepare blocks that collide without seeing it run.
pub struct Duplicates {
    secrets: RapidSecrets,
    /// Fingerprints, the newest of a line first; 0 is an empty place. As many lines as a power of two.
    lines: Vec<[u64; WAYS]>,
    /// Fingerprints that were put in.
    held: usize,
    found: u64,
}

impl Duplicates {
    /// Bytes of a table at most.
    pub const MEMORY: usize = LINES * WAYS * size_of::<u64>();

    /// An empty table with a random key.
    pub fn new() -> Duplicates {
        Duplicates::keyed(RandomState::new().hash_one(0))
    }

    /// An empty table with this key.
    pub fn keyed(key: u64) -> Duplicates {
        Duplicates { secrets: RapidSecrets::seed(key), lines: empty(FIRST), held: 0, found: 0 }
    }

    /// Whether this block was there before, as far as is remembered; it is from now on.
    pub fn seen(&mut self, block: &Block) -> bool {
        let fingerprint = rapidhash_v3_seeded(block, &self.secrets).max(1);
        if self.held == self.lines.len() && self.held < LINES {
            self.grow();
        }
        let line = line_of(&mut self.lines, fingerprint);
        let place = line.iter().position(|one| *one == fingerprint);
        // What was seen again is the newest again.
        line[..=place.unwrap_or(WAYS - 1)].rotate_right(1);
        line[0] = fingerprint;
        self.held += usize::from(place.is_none());
        self.found += u64::from(place.is_some());
        place.is_some()
    }

    /// Twice as many lines: what was in one is in one of two, in the same order.
    fn grow(&mut self) {
        let mut lines = empty(2 * self.lines.len());
        for line in &self.lines {
            // The oldest first, so that the newest is first in the end.
            for fingerprint in line.iter().rev().filter(|one| **one != 0) {
                let line = line_of(&mut lines, *fingerprint);
                line.rotate_right(1);
                line[0] = *fingerprint;
            }
        }
        self.lines = lines;
    }

    /// Blocks that were there before.
    pub fn found(&self) -> u64 {
        self.found
    }
}

/// So many lines without a fingerprint. They are written: memory that is read before it is written is made twice, first as a
/// page of zeros that all share.
fn empty(lines: usize) -> Vec<[u64; WAYS]> {
    let mut empty = Vec::with_capacity(lines);
    empty.resize(lines, [0; WAYS]);
    empty
}

/// Where a fingerprint is, if it is anywhere.
fn line_of(lines: &mut [[u64; WAYS]], fingerprint: u64) -> &mut [u64; WAYS] {
    let mask = lines.len() - 1;
    &mut lines[fingerprint as usize & mask]
}

impl Default for Duplicates {
    fn default() -> Self {
        Duplicates::new()
    }
}
