//! Whether the machine was quiet while a round was played. A noisy round is counted, not dropped.

use std::time::Duration;

use tollway_host::meters::{Meters, Verdict, judge};
use tollway_host::samplers::thread_time;
use tollway_host::samplers::usage::Usage;

/// What was noisy so far.
#[derive(Debug, Default)]
pub struct Noise {
    rounds: u32,
    last: String,
}

/// The machine at the beginning of a round.
pub struct Round {
    meters: Meters,
    own: Duration,
}

impl Round {
    /// Begins one.
    pub fn begin() -> Self {
        Round { meters: Meters::read(), own: own() }
    }

    /// Ends it. All processes of the round have ended by now, so their time is known.
    pub fn end(self, noise: &mut Noise) {
        let delta = Meters::read().since(&self.meters);
        // Rounds of few figures are too short to tell; then nothing is said.
        if let Verdict::Noisy(why) = judge(&delta, own().saturating_sub(self.own), None).verdict {
            noise.rounds += 1;
            noise.last = why;
        }
    }
}

impl Noise {
    /// What a reader of the table must know; `None` where all rounds were quiet.
    pub fn warning(&self, of: u32) -> Option<String> {
        (self.rounds > 0).then(|| {
            format!(
                "{} of {of} rounds were not quiet (the last one: {}); stop what else runs here and try again if a bar \
                 is not separable",
                self.rounds, self.last
            )
        })
    }
}

/// Processor time of this process and of its children that have ended.
fn own() -> Duration {
    thread_time::process() + Usage::children().map_or(Duration::ZERO, |used| used.user + used.system)
}
