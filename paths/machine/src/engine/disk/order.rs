//! Which block is next, and whether it is read or written.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use tollway_core::{Error, Result};

/// What is read and what is written, in which order; the names are fio's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// Reads in random order.
    RandRead,
    /// Writes in random order.
    RandWrite,
    /// Reads of one block after the other.
    Read,
    /// Writes of one block after the other.
    Write,
    /// Reads and writes in random order, as many of these as of those.
    RandRw,
}

impl Pattern {
    /// Their names, as fio has them.
    pub const WORDS: &[&str] = &["randread", "randwrite", "read", "write", "randrw"];

    /// The one of that name.
    pub fn of(word: &str) -> Result<Pattern> {
        match word {
            "randread" => Ok(Pattern::RandRead),
            "randwrite" => Ok(Pattern::RandWrite),
            "read" => Ok(Pattern::Read),
            "write" => Ok(Pattern::Write),
            "randrw" => Ok(Pattern::RandRw),
            _ => Err(Error::Input {
                place: format!("pattern `{word}`"),
                reason: "there is none of that name".into(),
                remedy: format!("there are: {}", Pattern::WORDS.join(", ")),
            }),
        }
    }

    /// Its name.
    pub fn word(self) -> &'static str {
        match self {
            Pattern::RandRead => "randread",
            Pattern::RandWrite => "randwrite",
            Pattern::Read => "read",
            Pattern::Write => "write",
            Pattern::RandRw => "randrw",
        }
    }

    /// Whether it writes anything.
    pub fn writes(self) -> bool {
        !matches!(self, Pattern::RandRead | Pattern::Read)
    }

    fn random(self) -> bool {
        matches!(self, Pattern::RandRead | Pattern::RandWrite | Pattern::RandRw)
    }
}

/// All blocks in turn, again and again. In random order too each comes once before any comes again, as by fio.
pub(crate) struct Order {
    pattern: Pattern,
    blocks: u64,
    /// Empty where one comes after the other.
    shuffled: Vec<u32>,
    taken: u64,
    coins: Xoshiro256PlusPlus,
}

impl Order {
    pub(crate) fn new(pattern: Pattern, blocks: u64, seed: u64) -> Order {
        let mut coins = Xoshiro256PlusPlus::seed_from_u64(seed);
        let mut shuffled = Vec::new();
        if pattern.random() {
            shuffled = (0..u32::try_from(blocks).expect("2 TiB have not more sectors")).collect();
            // Fisher and Yates, from the end. What a product of 64 bits favours by is less than 2^-32.
            for left in (2..=shuffled.len()).rev() {
                let chosen = (u128::from(coins.next_u64()) * left as u128) >> 64;
                shuffled.swap(left - 1, chosen as usize);
            }
        }
        Order { pattern, blocks, shuffled, taken: 0, coins }
    }

    fn at(&self, turn: u64) -> u64 {
        let place = turn % self.blocks;
        self.shuffled.get(place as usize).map_or(place, |block| u64::from(*block))
    }

    /// The next block.
    pub(crate) fn block(&mut self) -> u64 {
        self.taken += 1;
        self.at(self.taken - 1)
    }

    /// Whether it is written.
    pub(crate) fn writes(&mut self) -> bool {
        match self.pattern {
            Pattern::RandRw => self.coins.next_u64() >> 63 == 1,
            other => other.writes(),
        }
    }

    /// The blocks that came last, at most so many, each once.
    pub(crate) fn last(&self, most: u64) -> impl Iterator<Item = u64> {
        (self.taken.saturating_sub(most.min(self.blocks))..self.taken).map(|turn| self.at(turn))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(order: &mut Order, n: usize) -> Vec<u64> {
        (0..n).map(|_| order.block()).collect()
    }

    #[test]
    fn every_block_comes_once_before_any_comes_again() {
        for pattern in [Pattern::RandRead, Pattern::Write] {
            let mut order = Order::new(pattern, 1000, 3);
            let first = taken(&mut order, 1000);
            let mut sorted = first.clone();
            sorted.sort_unstable();
            assert_eq!(sorted, (0..1000).collect::<Vec<_>>());
            assert_eq!(first == sorted, pattern == Pattern::Write);
            assert_eq!(taken(&mut order, 1000), first);
        }
    }

    #[test]
    fn seeds_make_different_orders_and_the_same_again() {
        let order = |seed| taken(&mut Order::new(Pattern::RandRead, 256, seed), 256);
        assert_eq!(order(1), order(1));
        assert_ne!(order(1), order(2));
    }

    #[test]
    fn half_of_what_is_mixed_is_written() {
        let mut order = Order::new(Pattern::RandRw, 16, 9);
        let writes = (0..10_000).filter(|_| order.writes()).count();
        // Ten standard deviations.
        assert!((4500..5500).contains(&writes), "{writes}");
        assert!(Order::new(Pattern::RandWrite, 16, 9).writes() && !Order::new(Pattern::Read, 16, 9).writes());
    }

    #[test]
    fn the_last_blocks_are_those_that_came_last() {
        let mut order = Order::new(Pattern::Write, 10, 0);
        assert_eq!(order.last(3).count(), 0);
        taken(&mut order, 12);
        assert_eq!(order.last(3).collect::<Vec<_>>(), [9, 0, 1]);
        assert_eq!(order.last(99).count(), 10);
    }

    #[test]
    fn words_are_those_of_patterns() {
        for word in Pattern::WORDS {
            assert_eq!(Pattern::of(word).unwrap().word(), *word);
        }
        assert!(Pattern::of("trim").unwrap_err().to_string().contains("randrw"));
    }
}
