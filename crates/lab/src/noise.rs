//! Whether the machine was quiet, judged over the last seconds of a run.
//!
//! A trial is shorter than the kernel's ticks of 10 ms, so its own counters cannot tell. They are read after every
//! trial and compared over a stretch that is long enough, together with what watchers lost on the clock.

use std::collections::VecDeque;
use std::fs;
use std::time::{Duration, Instant};

use tollway_host::gap::Gaps;
use tollway_host::meters::{Meters, judge};
use tollway_host::samplers::thread_time;
use tollway_host::samplers::usage::Usage;

/// The stretch that is judged: 200 ticks, so that one tick on two processors is 0.25 %.
const STRETCH: Duration = Duration::from_secs(2);

/// A tick of the kernel as it tells processes (USER_HZ is 100 on every architecture that we build for).
const TICK: Duration = Duration::from_millis(10);

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
    /// Begins to watch; `agents` is the processor time of the agents that live now.
    pub(crate) fn begin(agents: Duration) -> Self {
        let first =
            Reading { at: Instant::now(), meters: Meters::read(), own: own(agents), gaps: Gaps::default() };
        Watch { readings: VecDeque::from([first]) }
    }

    /// Takes note of a trial that has just ended, with the meters as they stood then; says why the stretch that ends
    /// with it was not quiet, if it was not.
    pub(crate) fn after_trial(&mut self, meters: Meters, agents: Duration, gaps: Gaps) -> Option<String> {
        let last = Reading { at: Instant::now(), meters, own: own(agents), gaps };
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

/// Processor time of what a process started and has waited for, in the kernel's ticks; `None` where it is gone.
pub(crate) fn children_of(pid: u32) -> Option<Duration> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // After the name: state, then numbers; cutime and cstime are the fields 16 and 17 of proc_pid_stat(5).
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace().skip(16 - 3);
    let user: u64 = fields.next()?.parse().ok()?;
    let system: u64 = fields.next()?.parse().ok()?;
    Some(TICK * u32::try_from(user + system).ok()?)
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn what_children_used_is_known_once_they_have_ended() {
        let before = children_of(std::process::id()).unwrap();
        let spin = "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done";
        assert!(Command::new("sh").args(["-c", spin]).status().unwrap().success());
        assert!(children_of(std::process::id()).unwrap() > before);
        assert_eq!(children_of(u32::MAX), None);
    }
}
