//! Operations timed by processor time, for those that sleep.

use std::time::Duration;

use tollway_core::{Clock, Recorder, Result, Tally, Ticks, Window};
use tollway_host::clock::{RunClock, hz};
use tollway_load::wait_until;

/// Processor time of what was done so far.
pub(super) struct Spent {
    time: Duration,
    operations: u64,
    hz: f64,
}

impl Spent {
    /// Nothing yet.
    pub(super) fn nothing() -> Result<Spent> {
        Ok(Spent { time: Duration::ZERO, operations: 0, hz: hz()? })
    }

    pub(super) fn add(&mut self, time: Duration, operations: u32) {
        self.time += time;
        self.operations += u64::from(operations);
    }

    /// How often, and the work of all in ticks of the clock.
    pub(super) fn tally(&self) -> Tally {
        let work = (self.time.as_secs_f64() * self.hz) as u64;
        Tally::default().counter("operations", self.operations).counter("work", work)
    }
}

/// Operations of a sample: reading a thread's clock takes some 300 cycles.
const ROUNDS: u32 = 8;

/// Does something over and over in a window, and records what it took of the time that `spent` tells; says how often. `hz` are ticks a second.
pub fn repeat(
    window: &Window,
    recorder: &mut Recorder,
    hz: f64,
    spent: impl Fn() -> Duration,
    mut once: impl FnMut(),
) -> u64 {
    let clock = RunClock::chosen();
    wait_until(clock, window.warm);
    recorder.set_batch(ROUNDS);
    let (mut done, mut recorded) = (0, false);
    loop {
        let now = clock.now();
        // A sample at least, however late it is.
        if now >= window.close && recorded {
            return done;
        }
        let before = spent();
        (0..ROUNDS).for_each(|_| once());
        let took = spent().saturating_sub(before);
        done += u64::from(ROUNDS);
        if now >= window.open {
            recorder.sample((took.as_secs_f64() * hz) as Ticks);
            recorded = true;
        }
    }
}
