//! What is counted on the way, and the lines that rngtest prints of it.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use tollway_entropy::engine::fips::{Duplicates, IDEAL_RATE, Tally, Test, Verdict};

use super::rate::{Rates, Times};

/// What was counted.
pub struct Statistics {
    /// When it began.
    pub begun: Instant,
    /// Bytes read.
    pub received: u64,
    /// Bytes of blocks that passed, written.
    pub sent: u64,
    /// Blocks.
    pub tally: Tally,
    /// Blocks that were there before.
    pub duplicates: Duplicates,
    /// How long reading took, block by block.
    pub reading: Times,
    /// How long testing took.
    pub testing: Times,
    /// How long writing took.
    pub writing: Times,
}

impl Statistics {
    /// Nothing yet.
    pub fn new() -> Statistics {
        Statistics {
            begun: Instant::now(),
            received: 0,
            sent: 0,
            tally: Tally::default(),
            duplicates: Duplicates::new(),
            reading: Times::default(),
            testing: Times::default(),
            writing: Times::default(),
        }
    }

    /// For how long it has run.
    pub fn elapsed(&self) -> Duration {
        self.begun.elapsed()
    }

    /// rngtest's lines in rngtest's order, then ours.
    pub fn lines(&self, pipe: bool) -> String {
        let mut lines = String::new();
        let mut rngtest = |label: &str, value: &dyn std::fmt::Display| {
            let _ = writeln!(lines, "rngtest: {label}: {value}");
        };
        rngtest("bits received from input", &(8 * self.received));
        if pipe {
            rngtest("bits sent to output", &(8 * self.sent));
        }
        rngtest("FIPS 140-2 successes", &self.tally.passed);
        rngtest("FIPS 140-2 failures", &self.tally.failed);
        for test in Test::ALL {
            rngtest(&format!("FIPS 140-2(2001-10-10) {test}"), &self.tally.of(test));
        }
        rngtest("input channel speed", &Rates::in_rngtests_words(self.reading.rates()));
        rngtest("FIPS tests speed", &Rates::in_rngtests_words(self.testing.rates()));
        if pipe {
            rngtest("output channel speed", &Rates::in_rngtests_words(self.writing.rates()));
        }
        rngtest("Program run time", &format_args!("{} microseconds", self.elapsed().as_micros()));
        let verdict = Verdict::of(&self.tally);
        if let Some(rate) = verdict.rate {
            let _ = writeln!(
                lines,
                "tollway: failed blocks: {:.2e} of all ({:.0} % interval {:.2e} to {:.2e}); of an ideal source {IDEAL_RATE:.2e}",
                rate.estimate,
                100.0 * rate.confidence,
                rate.lo,
                rate.hi,
            );
        }
        let _ = writeln!(lines, "tollway: verdict: {}", verdict.finding);
        let _ = writeln!(lines, "tollway: duplicate blocks: {}", self.duplicates.found());
        lines
    }
}
