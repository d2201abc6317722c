//! A source that breaks on purpose: what health tests and those behind them must notice.

use std::thread;
use std::time::Duration;

use super::{Claim, Counts, Error, Source};

/// How it breaks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fault {
    /// Every byte is this one.
    Stuck(u8),
    /// Every other byte, and so on: one of `of` bytes is a zero.
    Biased {
        /// One in so many.
        of: u32,
    },
    /// The same bytes over and over, so many of them.
    Repeating {
        /// Length of what repeats, in bytes; at most 4096.
        period: usize,
    },
    /// It sleeps so long before each fill.
    Slow(Duration),
    /// It fails, as a generator that is dry.
    Dry,
}

/// A source that works until so many bytes have been drawn, then breaks, and works again after as many as are told.
#[derive(Debug)]
pub struct Planted<S> {
    source: S,
    fault: Fault,
    /// Bytes drawn when the fault begins and when it ends.
    from: u64,
    until: u64,
    drawn: u64,
    /// What repeats.
    kept: Vec<u8>,
}

impl<S: Source> Planted<S> {
    /// `source` with a fault while bytes `from` to `until` are drawn.
    pub fn new(source: S, fault: Fault, from: u64, until: u64) -> Self {
        Planted { source, fault, from, until, drawn: 0, kept: Vec::new() }
    }

    fn break_it(&mut self, into: &mut [u8]) -> Result<(), Error> {
        match self.fault {
            Fault::Stuck(byte) => into.fill(byte),
            Fault::Biased { of } => {
                for (i, byte) in into.iter_mut().enumerate() {
                    if (self.drawn + i as u64).is_multiple_of(u64::from(of)) {
                        *byte = 0;
                    }
                }
            }
            Fault::Repeating { period } => {
                for (i, byte) in into.iter_mut().enumerate() {
                    if self.kept.len() < period {
                        self.kept.push(*byte);
                    } else {
                        *byte = self.kept[((self.drawn - self.from) as usize + i) % period];
                    }
                }
            }
            Fault::Slow(time) => thread::sleep(time),
            Fault::Dry => return Err(Error::Dry { source_name: self.name().into(), tries: 1 }),
        }
        Ok(())
    }
}

impl<S: Source> Source for Planted<S> {
    fn name(&self) -> &str {
        "planted"
    }

    fn fill(&mut self, into: &mut [u8]) -> Result<(), Error> {
        self.source.fill(into)?;
        let broken = (self.from..self.until).contains(&self.drawn);
        let outcome = if broken { self.break_it(into) } else { Ok(()) };
        self.drawn += into.len() as u64;
        outcome
    }

    fn counts(&self) -> Counts {
        self.source.counts()
    }

    fn claim(&self) -> Claim {
        self.source.claim()
    }
}
