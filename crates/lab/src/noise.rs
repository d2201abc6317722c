//! Whether the machine was quiet, judged over the last seconds of a run.
//!
//! A trial is shorter than the kernel's ticks of 10 ms, so its own counters cannot tell. They are read after every
//! trial and compared over a stretch that is long enough, together with what watchers lost on the clock.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use tollway_core::Result;
use tollway_host::gap::Gaps;
use tollway_host::meters::{Meters, judge};
use tollway_host::samplers::thread_time;
use tollway_host::samplers::usage::Usage;
use tollway_tenant::Target;

/// The stretch that is judged: 200 ticks, so that one tick on two processors is 0.25 %.
const STRETCH: Duration = Duration::from_secs(2);

struct Reading {
    at: Instant,
    meters: Meters,
    own: Duration,
    gaps: Gaps,
}

/// Keeps the readings of the last seconds.
pub(crate) struct Watch {
    readings: VecDeque<Reading>,
}

impl Watch {
    /// Begins to watch the machine that is measured, before there are agents.
    pub(crate) fn begin(target: &Target) -> Result<Self> {
        let (meters, elsewhere) = target.read()?;
        let own = elsewhere.unwrap_or_else(|| own(Duration::ZERO));
        let first = Reading { at: Instant::now(), meters, own, gaps: Gaps::default() };
        Ok(Watch { readings: VecDeque::from([first]) })
    }

    /// Takes note of a trial that has just ended, with the meters as they stood then, and what this run has used there: on
    /// another host all of it, here `agents` besides what is known of this process. Says why the stretch that ends with it
    /// was not quiet, if it was not.
    pub(crate) fn after_trial(
        &mut self,
        (meters, elsewhere): (Meters, Option<Duration>),
        agents: Duration,
        gaps: Gaps,
    ) -> Option<String> {
        let own = elsewhere.unwrap_or_else(|| own(agents));
        let last = Reading { at: Instant::now(), meters, own, gaps };
        while self.readings.len() > 1 && last.at.duration_since(self.readings[1].at) >= STRETCH {
            self.readings.pop_front();
        }
        let first = &self.readings[0];
        let mut lost = gaps;
        for reading in self.readings.iter().skip(1) {
            lost += reading.gaps;
        }
        let delta = last.meters.since(&first.meters);
        let noise = judge(&delta, last.own.saturating_sub(first.own), Some(&lost)).noise().map(String::from);
        self.readings.push_back(last);
        noise
    }
}

/// Processor time of this program and all it started: its own, that of agents that have ended, that of those alive.
fn own(agents: Duration) -> Duration {
    let ended = Usage::children().map_or(Duration::ZERO, |used| used.user + used.system);
    thread_time::process() + ended + agents
}
