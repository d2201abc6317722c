//! A source against the clock: how many bytes a second it gives, and since when it is being waited for.

use std::time::{Duration, Instant};

use super::self_test::unhealthy;
use super::watch::{Wait, Watch};
use super::{Settings, Test};
use crate::engine::source::{Claim, Counts, Error, Source};

/// Draws in pieces that the least rate has time for, so that a source which stops is noticed soon, and fails once it is too slow.
pub(super) struct Clocked<S> {
    pub source: S,
    watch: Watch,
    least: Option<f64>,
    over: Duration,
    piece: usize,
    /// Since the rate was judged: bytes, and time spent drawing.
    drawn: u64,
    drawing: Duration,
    /// Why the last draw failed, where that was for the rate.
    pub slow: Option<String>,
}

/// Smaller pieces would cost more than they tell.
const SMALLEST: usize = 64;

impl<S: Source> Clocked<S> {
    pub fn new(source: S, settings: &Settings, watch: Watch) -> Self {
        let over = settings.rate_over;
        let piece = settings.least_rate.map_or(0.0, |least| least * over.as_secs_f64());
        Clocked {
            source,
            watch,
            least: settings.least_rate,
            over,
            piece: (piece.ceil() as usize).max(SMALLEST),
            drawn: 0,
            drawing: Duration::ZERO,
            slow: None,
        }
    }

    /// Forgets what was.
    pub fn reset(&mut self) {
        (self.drawn, self.drawing, self.slow) = (0, Duration::ZERO, None);
    }

    fn timed(&mut self, into: &mut [u8], least: f64) -> Result<(), Error> {
        let mut since = Instant::now();
        for piece in into.chunks_mut(self.piece) {
            let bytes = piece.len();
            self.watch.waits(Some(Wait { bytes, since, least, over: self.over }));
            self.source.fill(piece)?;
            let now = Instant::now();
            let took = now - since;
            self.drawn += bytes as u64;
            self.drawing += took;
            since = now;
            if self.drawing < self.over {
                continue;
            }
            let mut rate = self.drawn as f64 / self.drawing.as_secs_f64();
            if took >= self.over {
                // Of a stop what came before it at once says nothing.
                rate = rate.min(bytes as f64 / took.as_secs_f64());
            }
            (self.drawn, self.drawing) = (0, Duration::ZERO);
            if rate < least {
                let detail = format!("it gave {rate:.1} bytes a second, and {least} are the least");
                self.slow = Some(detail.clone());
                return Err(unhealthy(self.source.name(), Test::Rate, detail));
            }
        }
        Ok(())
    }
}

impl<S: Source> Source for Clocked<S> {
    fn name(&self) -> &str {
        self.source.name()
    }

    fn fill(&mut self, into: &mut [u8]) -> Result<(), Error> {
        let Some(least) = self.least else {
            return self.source.fill(into);
        };
        let outcome = self.timed(into, least);
        self.watch.waits(None);
        outcome
    }

    fn counts(&self) -> Counts {
        self.source.counts()
    }

    fn claim(&self) -> Claim {
        self.source.claim()
    }
}
