//! What is counted on the way, and the lines that rngtest prints of it.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use tollway_entropy::engine::fips::{Duplicates, IDEAL_RATE, Tally, Test, Verdict};

use super::bytes::Bytes;
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
    /// How often each byte came.
    pub bytes: Bytes,
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
            bytes: Bytes::new(),
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
            let (failed, blocks) = (self.tally.failed, self.tally.blocks());
            let (confidence, most) = (percent(rate.confidence), percent(rate.hi));
            let found = if failed == 0 {
                format!("none of {blocks}; up to {most} could ({confidence} interval)")
            } else {
                let (share, least) = (percent(rate.estimate), percent(rate.lo));
                format!("{failed} of {blocks}, {share} ({confidence} interval {least} to {most})")
            };
            let ideal = percent(IDEAL_RATE);
            let _ = writeln!(lines, "tollway: failed blocks: {found}; of an ideal source {ideal}");
        }
        let _ = writeln!(lines, "tollway: verdict: {}", verdict.finding);
        let _ = writeln!(lines, "tollway: duplicate blocks: {}", self.duplicates.found());
        if let Some(estimate) = self.bytes.estimate() {
            let _ = writeln!(
                lines,
                "tollway: min-entropy by the most common byte: {:.2} bits a byte (bound at 99 %, {} bytes)",
                estimate.bits,
                self.bytes.counted(),
            );
        }
        lines
    }
}

/// A share in percent, with two digits that count.
fn percent(share: f64) -> String {
    let value = 100.0 * share;
    match value {
        v if v >= 10.0 || v == 0.0 => format!("{v:.0} %"),
        v if v >= 1.0 => format!("{v:.1} %"),
        v if v >= 0.1 => format!("{v:.2} %"),
        v if v >= 0.01 => format!("{v:.3} %"),
        v => format!("{v:.1e} %"),
    }
}

#[cfg(test)]
mod tests {
    use super::percent;

    #[test]
    fn shares_are_told_in_percent() {
        for (share, told) in
            [(0.0, "0 %"), (0.99, "99 %"), (0.0123, "1.2 %"), (7.97e-4, "0.080 %"), (1e-6, "1.0e-4 %")]
        {
            assert_eq!(percent(share), told);
        }
    }
}
