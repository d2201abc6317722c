//! Blocks that passed and failed, added up.

use super::limits::{Failed, Test};

/// Blocks by how they did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Blocks that passed all tests.
    pub passed: u64,
    /// Blocks that failed one or more.
    pub failed: u64,
    by_test: [u64; Test::ALL.len()],
}

impl Tally {
    /// Adds a block.
    pub fn add(&mut self, failed: Failed) {
        if failed.none() {
            self.passed += 1;
        } else {
            self.failed += 1;
            failed.iter().for_each(|test| self.by_test[test as usize] += 1);
        }
    }

    /// Blocks that failed this one. A block may fail several.
    pub fn of(&self, test: Test) -> u64 {
        self.by_test[test as usize]
    }

    /// All blocks.
    pub fn blocks(&self) -> u64 {
        self.passed + self.failed
    }
}
