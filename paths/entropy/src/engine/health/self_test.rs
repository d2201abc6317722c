//! One test of a source, from nothing: at its start, and whenever somebody asks.

use zeroize::Zeroizing;

use super::{Alarms, Continuous, Limits, Test};
use crate::engine::source::{Error, Source};

/// A test of so many bytes that are drawn for it and given to nobody.
#[derive(Clone, Debug)]
pub struct SelfTest {
    limits: Limits,
    bytes: usize,
}

/// Bytes drawn at once.
const BLOCK: usize = 4096;

impl SelfTest {
    /// The start-up test of section 4.3: [`Limits::start_up`] bytes.
    pub fn start_up(limits: &Limits) -> Self {
        SelfTest { limits: limits.clone(), bytes: limits.start_up() }
    }

    /// One of so many bytes; fewer than the start-up test has become as many.
    pub fn of(limits: &Limits, bytes: usize) -> Self {
        SelfTest { limits: limits.clone(), bytes: bytes.max(limits.start_up()) }
    }

    /// Bytes that it draws.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// The probability that a source which is as its maker claims fails: at most this.
    pub fn false_failure(&self) -> f64 {
        self.limits.false_alarm(self.bytes as u64)
    }

    /// Draws, and tests with `tests`, which go on from where this ends.
    pub fn run<S: Source + ?Sized>(&self, source: &mut S, tests: &mut Continuous) -> Outcome {
        tests.reset();
        let mut drawn = Zeroizing::new([0; BLOCK]);
        let mut outcome = Outcome { bytes: 0, alarms: Alarms::default(), passed: Ok(()) };
        while outcome.bytes < self.bytes && outcome.passed.is_ok() {
            let block = &mut drawn[..BLOCK.min(self.bytes - outcome.bytes)];
            outcome.passed = source.fill(block);
            if outcome.passed.is_ok() {
                outcome.alarms = tests.feed(block);
                outcome.bytes += block.len();
                if let Some(test) = outcome.alarms.first() {
                    outcome.passed = Err(unhealthy(source.name(), test, test.finding(&self.limits)));
                }
            }
        }
        outcome
    }
}

/// What came of it.
#[derive(Debug)]
pub struct Outcome {
    /// Bytes that were tested.
    pub bytes: usize,
    /// What was raised.
    pub alarms: Alarms,
    /// Whether it passed; else the source's own error, or that of its first alarm.
    pub passed: Result<(), Error>,
}

/// The error that a source's alarm is.
pub(super) fn unhealthy(source: &str, test: Test, detail: String) -> Error {
    Error::Unhealthy { source_name: source.into(), test: test.name(), detail }
}
