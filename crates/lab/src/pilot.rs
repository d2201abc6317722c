//! The pilot: each point is run once before anything is timed. It must verify; it finds the batch size, which is then
//! frozen for the run, and how many steps of delay a planted slowdown takes.

use tollway_core::{Result, TrialSpec};

use crate::crew::{Crew, Job, Outcome};
use crate::guests::Guests;

/// Length of a pilot's window, in milliseconds.
const WINDOW_MS: f64 = 2.0;

/// Length of a pilot's warm-up, in milliseconds: a generator of random numbers is drained, caches are warm.
const WARMUP_MS: f64 = 2.0;

/// How long a pilot of such trials lasts, warm-up included, in seconds.
pub(crate) fn seconds(spec: &TrialSpec) -> f64 {
    (spec.window_ms.min(WINDOW_MS) + WARMUP_MS) / 1e3
}

/// Plays a pilot; `job.batch` and the lengths in `job.spec` are the pilot's own.
pub(crate) fn play(crew: &mut Crew<'_>, job: &Job<'_>, guests: &mut Guests) -> Result<Outcome> {
    let spec =
        TrialSpec { window_ms: job.spec.window_ms.min(WINDOW_MS), warmup_ms: WARMUP_MS, ..job.spec.clone() };
    crew.play(&Job { spec: &spec, batch: 0, planted: 0, ..*job }, guests)
}

/// Steps of delay that make a sample of `ticks` slower by the share `planted`; at least one. The delay is planted once
/// a sample, not once an operation: a few multiplications would run in the shadow of the operations around them.
pub(crate) fn steps(planted: f64, ticks: f64, ticks_per_step: f64) -> u32 {
    if planted <= 0.0 { 0 } else { ((planted * ticks / ticks_per_step).round() as u32).max(1) }
}
