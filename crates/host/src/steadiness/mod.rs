//! Whether the machine is steady, before anything is measured: what others take of it, how fast its processors run and
//! whether that moves, what holds them back, and what would help.
//!
//! For a third of a second all processors that this process may use are kept busy at once by the chain of
//! [`pace`](crate::cpu::pace): so a neighbour has to take time from them, frequencies are those under load, and what is
//! lost shows on the clock. The kernel's split has ticks of 10 ms, too coarse to tell less than some per cent in so
//! short a time; what is below that is found by what is watched [around each trial](crate::meters).

mod observed;
mod words;

use std::time::{Duration, Instant};

use procfs::{Current, Meminfo};
use serde::{Deserialize, Serialize};

use crate::clock;
use crate::cpu::cpus_of_process;
use crate::gap::Gaps;
use crate::meters::{Meters, Quiet, judge};
use crate::samplers::frequency::Frequency;
use crate::samplers::pressure::PressureDelta;
use crate::samplers::thread_time;
use crate::samplers::throttling::{self, Throttling, ThrottlingDelta};

pub use observed::Pace;

/// How long the processors are watched.
pub const WATCHED: Duration = Duration::from_millis(300);

/// A frequency that moves by more than this share of itself is not steady.
pub const MOVES: f64 = 0.05;

/// What was found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Steadiness {
    /// All of it in one line.
    pub summary: String,
    /// What is not steady or keeps figures from being so, each with a remedy; empty on a steady machine.
    pub findings: Vec<Finding>,
    /// How long was watched, in seconds.
    pub seconds: f64,
    /// Steal, time of other programs, time lost.
    pub quiet: Quiet,
    /// For how long tasks waited; `None` where the kernel does not tell.
    pub pressure: Option<PressureDelta>,
    /// How fast each processor ran.
    pub pace: Vec<Pace>,
    /// What the kernel says of frequencies.
    pub frequency: Frequency,
    /// How often heat has held processors back since boot, and a quota since the control group was made.
    pub throttled: Throttling,
    /// The same while it was watched.
    pub throttled_meanwhile: ThrottlingDelta,
    /// The processors' worth of time that a quota of the control group allows, where there is one.
    pub ceiling: Option<f64>,
    /// Memory that programs could have, in bytes.
    pub memory_available: Option<u64>,
    /// All memory, in bytes.
    pub memory: Option<u64>,
}

/// Something that is not steady.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// What was found.
    pub what: String,
    /// What would help.
    pub remedy: String,
}

/// Watches this machine for [`WATCHED`], and some milliseconds more.
pub fn examine() -> Steadiness {
    let hz = clock::hz().unwrap_or(f64::NAN);
    let cpus = cpus_of_process().unwrap_or_default();
    let begun = Instant::now();
    let (before, own) = (Meters::read(), thread_time::process());
    let seen = observed::all(&cpus, WATCHED, hz);
    let (after, own) = (Meters::read(), thread_time::process().saturating_sub(own));
    let seconds = begun.elapsed().as_secs_f64();
    let delta = after.since(&before);
    let mut lost = Gaps::default();
    let mut pace = Vec::new();
    for (one, gaps) in seen {
        lost += gaps;
        pace.push(one);
    }
    let memory = Meminfo::current().ok();
    let mut found = Steadiness {
        summary: String::new(),
        findings: Vec::new(),
        seconds,
        quiet: judge(&delta, own, Some(&lost)),
        pressure: delta.pressure,
        pace,
        frequency: Frequency::read(),
        throttled: Throttling::read(),
        throttled_meanwhile: delta.throttling,
        ceiling: throttling::ceiling().ok().flatten(),
        memory_available: memory.as_ref().and_then(|m| m.mem_available),
        memory: memory.map(|m| m.mem_total),
    };
    found.summary = words::summary(&found);
    found.findings = words::findings(&found);
    found
}

impl Steadiness {
    /// Ticks that a step of [`pace`](crate::cpu::pace) took on a processor.
    pub fn ticks_per_step(&self, cpu: u32) -> Option<f64> {
        self.pace.iter().find(|pace| pace.cpu == cpu).map(|pace| pace.ticks_per_step)
    }

    /// Two lines for a person, or one where the machine is steady.
    pub fn lines(&self) -> Vec<String> {
        let mut lines = vec![self.summary.clone()];
        if !self.findings.is_empty() {
            let each = self.findings.iter().map(|f| format!("{} → {}", f.what, f.remedy));
            lines.push(each.collect::<Vec<_>>().join(" · "));
        }
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::quiet::is_quiet;

    #[test]
    fn this_machine_is_examined_in_less_than_a_second_and_the_result_reads_back() {
        clock::hz().unwrap();
        let begun = Instant::now();
        let found = examine();
        let took = begun.elapsed();
        println!("{took:?} {found:#?}");
        assert!(took >= WATCHED && (took < Duration::from_secs(1) || !is_quiet()), "{took:?}");
        assert_eq!(found.pace.len(), cpus_of_process().unwrap().len());
        assert!(found.pace.iter().all(|p| p.lo <= p.ticks_per_step && p.ticks_per_step <= p.hi));
        assert!(found.pace.iter().all(|p| p.ghz > 0.2 && p.ghz < 20.0));
        assert!(!found.summary.is_empty() && found.findings.iter().all(|f| !f.remedy.is_empty()));
        assert!(found.lines().len() <= 2);
        let text = serde_json::to_string(&found).unwrap();
        assert_eq!(serde_json::from_str::<Steadiness>(&text).unwrap().findings, found.findings);
    }
}
