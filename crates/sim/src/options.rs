//! What a simulation is asked for beyond its specification.

use std::fmt;
use std::sync::atomic::AtomicBool;

use crate::SimError;

/// How to simulate. The outcome depends on `seed`, `confidence` and `events` only, not on the number of threads.
#[derive(Clone, Copy)]
pub struct Options<'a> {
    /// Seed of all random numbers.
    pub seed: u64,
    /// Threads that replications are shared out to, at most [`MAX_THREADS`](Options::MAX_THREADS); 0: one for
    /// each processor.
    pub threads: usize,
    /// Confidence of the intervals, in (0, 1).
    pub confidence: f64,
    /// The most events of one replication, if it must end whatever is specified.
    pub events: Option<u64>,
    /// Whether to use Lindley's recursion where it tells everything. It gives the same figures as the events.
    pub lindley: bool,
    /// Called from time to time, from any thread.
    pub progress: Option<&'a (dyn Fn(Done) + Sync)>,
    /// When it is set, the simulation stops soon and tells what it has.
    pub interrupted: Option<&'a AtomicBool>,
}

impl Default for Options<'_> {
    fn default() -> Self {
        Options {
            seed: 1,
            threads: 0,
            confidence: 0.95,
            events: None,
            lindley: true,
            progress: None,
            interrupted: None,
        }
    }
}

impl fmt::Debug for Options<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Options { seed, threads, confidence, events, lindley, progress, interrupted } = self;
        f.debug_struct("Options")
            .field("seed", seed)
            .field("threads", threads)
            .field("confidence", confidence)
            .field("events", events)
            .field("lindley", lindley)
            .field("progress", &progress.is_some())
            .field("interrupted", interrupted)
            .finish()
    }
}

/// How far a simulation is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Done {
    /// Customers that left, over all replications, warm-up included.
    pub customers: u64,
    /// Customers after whom it stops, unless the precision is reached before.
    pub of: u64,
}

impl Options<'_> {
    /// The most threads. Each has a stack, and no machine runs more at once: whoever asks for more has
    /// mistaken the number.
    pub const MAX_THREADS: usize = 1024;

    pub(crate) fn check(&self) -> Result<(), SimError> {
        if !(self.confidence > 0.0 && self.confidence < 1.0) {
            let reason = format!("{} is out of range; give a share between 0 and 1", self.confidence);
            return Err(SimError::Option { name: "confidence", reason });
        }
        if self.threads > Self::MAX_THREADS {
            let reason = format!(
                "{} are too many; give 1 to {}, or 0 for one for each processor",
                self.threads,
                Self::MAX_THREADS
            );
            return Err(SimError::Option { name: "threads", reason });
        }
        Ok(())
    }
}
