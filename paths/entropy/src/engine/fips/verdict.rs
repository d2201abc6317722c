//! What the count of failed blocks says of a generator.
//!
//! A block of an ideal source fails now and then. So neither is one failure a fault, nor its absence a proof: the question is
//! whether the rate of failures is that of an ideal source.

use std::fmt;

use tollway_stats::{Interval, proportion};

use super::limits::Test;
use super::tally::Tally;

/// Share of the blocks of an ideal source that fail one or more tests, ± 2·10⁻⁶ (standard error). It is less than the sum of
/// [`IDEAL_RATES`], since few blocks fail several.
///
/// Of 200 million blocks simulated by `examples/ideal.rs` with seeds 11 and 12; where monobit and long run failed by chance
/// more or less often than their formulas say, that is taken out.
pub const IDEAL_RATE: f64 = 7.97e-4;

/// Share of the blocks of an ideal source that fail each test, as [`Test::ALL`]: monobit, long run and continuous run by formula,
/// poker (± 7·10⁻⁷) and runs (± 1.2·10⁻⁶) simulated, as above.
pub const IDEAL_RATES: [f64; 5] = [1.035e-4, 1.003e-4, 3.000e-4, 2.976e-4, 1.455e-7];

/// Confidence of the interval.
const CONFIDENCE: f64 = 0.99;

/// A rate of so many times the ideal one must be excluded before anything is called compatible.
const TOO_FEW: f64 = 10.0;

/// What can be said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finding {
    /// The ideal rate is in the interval, and ten times that rate is not.
    Compatible,
    /// The whole interval lies above the ideal rate.
    TooManyFailures,
    /// The whole interval lies below the ideal rate: as if bad blocks had been taken out.
    TooFewFailures,
    /// Neither a good rate nor one ten times as high can be excluded.
    TooFewBlocks,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Finding::Compatible => "compatible",
            Finding::TooManyFailures => "too many failures",
            Finding::TooFewFailures => "too few failures",
            Finding::TooFewBlocks => "too few blocks to tell",
        })
    }
}

/// The rate of failed blocks against that of an ideal source.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Verdict {
    /// What can be said.
    pub finding: Finding,
    /// Share of blocks that failed, with its exact binomial interval (Clopper and Pearson, 99 %); `None` without a block.
    pub rate: Option<Interval>,
}

impl Verdict {
    /// Of these blocks. Each block is taken to fail or pass by itself; of a stream that is looked at again and again, one look in
    /// two hundred finds too many failures where there is nothing to find.
    pub fn of(tally: &Tally) -> Verdict {
        let rate = proportion(tally.failed, tally.blocks(), CONFIDENCE).ok();
        let finding = match rate {
            None => Finding::TooFewBlocks,
            Some(rate) if rate.lo > IDEAL_RATE => Finding::TooManyFailures,
            Some(rate) if rate.hi < IDEAL_RATE => Finding::TooFewFailures,
            Some(rate) if rate.hi < TOO_FEW * IDEAL_RATE => Finding::Compatible,
            Some(_) => Finding::TooFewBlocks,
        };
        Verdict { finding, rate }
    }
}

impl Test {
    /// Share of the blocks of an ideal source that fail it.
    pub fn ideal_rate(self) -> f64 {
        IDEAL_RATES[self as usize]
    }
}
