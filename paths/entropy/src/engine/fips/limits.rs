//! The tests, and what a block may have to pass them.

use std::fmt;
use std::ops::RangeInclusive;

use super::counts::Counts;

/// Ones in a block that passes the monobit test. Source: FIPS 140-2, section 4.9.1 (2001-10-10): 9,725 < X < 10,275.
pub const MONOBIT: RangeInclusive<u32> = 9_726..=10_274;

/// Sums of the squares of how often each of the 16 nibbles occurs, in a block that passes the poker test: of
/// X = 16/5000 · squares − 5000, 2.16 < X < 46.17 (FIPS 140-2, section 4.9.1), as rng-tools' `fips.c` rounds it.
pub const POKER_SQUARES: RangeInclusive<u32> = 1_563_176..=1_576_928;

/// Runs of length 1, 2, 3, 4, 5, and 6 or more, of zeros as of ones, in a block that passes the runs test. Source: FIPS
/// 140-2, section 4.9.1 (2001-10-10).
pub const RUNS: [RangeInclusive<u16>; 6] =
    [2315..=2685, 1114..=1386, 527..=723, 240..=384, 103..=209, 103..=209];

/// The longest run that passes. Source: FIPS 140-2, section 4.9.1 (2001-10-10): none of 26 or more.
pub const LONGEST_RUN: u32 = 25;

/// One of the five tests, in rngtest's order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Test {
    /// Ones in a block.
    Monobit,
    /// How even the 16 nibbles are.
    Poker,
    /// How many runs of each length there are.
    Runs,
    /// No run of 26 bits or more.
    LongRun,
    /// No 32-bit word is the one before it; carried over from block to block.
    ContinuousRun,
}

impl Test {
    /// All of them, in rngtest's order.
    pub const ALL: [Test; 5] = [Test::Monobit, Test::Poker, Test::Runs, Test::LongRun, Test::ContinuousRun];

    /// As rngtest has it in its lines.
    pub fn title(self) -> &'static str {
        match self {
            Test::Monobit => "Monobit",
            Test::Poker => "Poker",
            Test::Runs => "Runs",
            Test::LongRun => "Long run",
            Test::ContinuousRun => "Continuous run",
        }
    }
}

impl fmt::Display for Test {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.title())
    }
}

/// The tests that a block failed. The bits are those of rng-tools' `fips.h`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Failed(u8);

impl Failed {
    /// None.
    pub const NONE: Failed = Failed(0);

    /// Bit 0 is monobit, then as [`Test::ALL`].
    pub fn bits(self) -> u8 {
        self.0
    }

    /// Whether the block passed.
    pub fn none(self) -> bool {
        self.0 == 0
    }

    /// Whether it failed this one.
    pub fn has(self, test: Test) -> bool {
        self.0 & 1 << test as u8 != 0
    }

    /// One by one.
    pub fn iter(self) -> impl Iterator<Item = Test> {
        Test::ALL.into_iter().filter(move |test| self.has(*test))
    }

    fn set(&mut self, test: Test, failed: bool) {
        self.0 |= u8::from(failed) << test as u8;
    }
}

impl Counts {
    /// Holds the counts against the limits.
    pub fn failed(&self) -> Failed {
        let mut failed = Failed::NONE;
        failed.set(Test::Monobit, !MONOBIT.contains(&self.ones));
        failed.set(Test::Poker, !POKER_SQUARES.contains(&self.squares));
        let out = |runs: &[u16; 6]| runs.iter().zip(&RUNS).any(|(runs, limits)| !limits.contains(runs));
        failed.set(Test::Runs, out(&self.zero_runs) | out(&self.one_runs));
        failed.set(Test::LongRun, self.long_run);
        failed.set(Test::ContinuousRun, self.repeats);
        failed
    }
}
