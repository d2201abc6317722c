//! The statistical tests of FIPS 140-2 on blocks of 20,000 bits, in a stream.
//!
//! ```text
//! bytes in any chunks → Stream (bootstrap, blocks) → Tester (counts by vectors → limits) → Failed, Tally → Verdict
//!                                                    Duplicates (a block that was there before)
//! ```
//!
//! The tests are monobit, poker, runs and long run of FIPS 140-1, section 4.11.1, with the limits of FIPS 140-2, section
//! 4.9.1, as of the change notice of 10 October 2001, and the continuous test of section 4.9.2 on 32-bit words. Later notices
//! withdrew them; operators use them still, by rngtest(1) of rng-tools. Every count is equal to that program's (6.17), which
//! the recorded vectors in `tests/fips` hold.
//!
//! They find what is broken, biased or stuck. A good generator fails about 8 blocks in 10,000 ([`IDEAL_RATE`]), and
//! any pseudo-random one, whoever knows its seed, passes: to pass is no proof of entropy.

mod counts;
mod duplicates;
mod implementation;
mod lanes;
mod limits;
mod measure;
mod stream;
mod tally;
mod verdict;

pub use counts::{Counts, RUN_LENGTHS, Runs};
pub use duplicates::Duplicates;
pub use implementation::Implementation;
pub use limits::{Failed, LONGEST_RUN, MONOBIT, POKER_SQUARES, RUNS, Test};
pub use stream::{Bootstrap, Stream};
pub use tally::Tally;
pub use verdict::{Finding, IDEAL_RATE, IDEAL_RATES, Verdict};

/// Bits of a block. Source: FIPS 140-1, section 4.11.1.
pub const BLOCK_BITS: usize = 20_000;

/// Bytes of a block.
pub const BLOCK_BYTES: usize = BLOCK_BITS / 8;

/// What the tests are applied to. Of each byte, the most significant bit comes first.
pub type Block = [u8; BLOCK_BYTES];

/// Tests block after block.
#[derive(Clone, Debug)]
pub struct Tester {
    implementation: Implementation,
    last: u32,
}

impl Tester {
    /// `before` is the word before the first block: 4 bytes of the stream that are not tested otherwise.
    pub fn new(before: [u8; 4]) -> Tester {
        Tester::with(Implementation::best(), before)
    }

    /// With an implementation of choice. All of them give the same.
    pub fn with(implementation: Implementation, before: [u8; 4]) -> Tester {
        Tester { implementation, last: u32::from_ne_bytes(before) }
    }

    /// Which tests this block fails; it is the one after the last.
    pub fn test(&mut self, block: &Block) -> Failed {
        self.counts(block).failed()
    }

    /// What is counted in this block, which is the one after the last.
    pub fn counts(&mut self, block: &Block) -> Counts {
        let counts = self.implementation.measure(block, self.last);
        self.last = u32::from_ne_bytes(*block.last_chunk().expect("a block has four bytes"));
        counts
    }
}
