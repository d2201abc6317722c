//! How long a run will take, and how it is cut to a given time.

use serde::Serialize;
use tollway_core::{Missing, Plan, Preset, TenantKind, TrialSpec};

use crate::point::Point;

/// What a trial takes beside its window and warm-up, in seconds: making, readying and finishing its actors.
const OVERHEAD: f64 = 0.003;

/// What starting a crew takes, in seconds.
const CREW: f64 = 0.02;

/// What it takes until a Linux guest has booted, in seconds; those of one trial boot at the same time.
const BOOT: f64 = 3.0;

/// The fewest blocks that a run is cut to: fewer would leave the intervals too wide to be of use.
const FEWEST_RUNS: u32 = 6;

/// The shortest window that a run is cut to, in milliseconds.
const SHORTEST_WINDOW: f64 = 2.0;

/// A point of a plan, and whether it can run here.
#[derive(Clone, Debug, Serialize)]
pub struct Forecasted {
    /// What a person reads.
    pub title: String,
    /// The path's name.
    pub path: String,
    /// The variant's name.
    pub variant: String,
    /// How many trials it will have; 0 where it is skipped.
    pub trials: u32,
    /// What the machine lacks, if anything.
    pub missing: Option<Missing>,
}

/// What a run would do, and how long that would take.
#[derive(Clone, Debug, Serialize)]
pub struct Estimate {
    /// The points.
    pub points: Vec<Forecasted>,
    /// Trials in all, pilots included.
    pub trials: u64,
    /// Seconds in all.
    pub seconds: f64,
}

/// Seconds that all trials of a point take, its pilot included.
pub(crate) fn seconds(spec: &TrialSpec, sides: usize) -> f64 {
    let trials = f64::from(spec.runs * spec.repeats) * sides as f64 + 1.0;
    trials * trial(spec)
}

/// Seconds until the Linux guests of these plans have booted: once for each kind, which is then kept.
pub(crate) fn boots<'p>(plans: impl Iterator<Item = &'p Plan>) -> f64 {
    let mut kinds = Vec::new();
    for plan in plans.filter(|plan| plan.uses(TenantKind::LinuxGuest)) {
        let kind = (&plan.guests, plan.roles.iter().map(|r| r.count).max().unwrap_or(1));
        if !kinds.contains(&kind) {
            kinds.push(kind);
        }
    }
    kinds.len() as f64 * BOOT
}

/// Seconds that one trial takes.
pub(crate) fn trial(spec: &TrialSpec) -> f64 {
    (spec.window_ms + spec.warmup_ms) / 1e3 + OVERHEAD
}

/// Cuts presets so that these points, which they name, take about `budget` seconds: first fewer blocks, then shorter
/// windows, each only so far that intervals stay of use.
pub fn fit_to(budget: f64, presets: &mut [Preset], points: &[Point], sides: usize) {
    let total = |scale_runs: f64, scale_window: f64| -> f64 {
        points.iter().map(|p| seconds(&cut(&p.spec, scale_runs, scale_window), sides)).sum::<f64>()
            + boots(points.iter().map(|p| &p.plan))
            + CREW * f64::from(points.iter().map(|p| p.spec.runs).max().unwrap_or(0)) * sides as f64
    };
    let steps = || (1..=20).rev().map(|n| f64::from(n) / 20.0);
    let runs = steps().find(|s| total(*s, 1.0) <= budget).unwrap_or(0.0);
    let window = steps().find(|s| total(runs, *s) <= budget).unwrap_or(0.0);
    for preset in presets {
        preset.trial = cut(&preset.trial, runs, window);
    }
}

fn cut(spec: &TrialSpec, runs: f64, window: f64) -> TrialSpec {
    TrialSpec {
        runs: ((f64::from(spec.runs) * runs) as u32).max(FEWEST_RUNS.min(spec.runs)),
        window_ms: (spec.window_ms * window).max(SHORTEST_WINDOW.min(spec.window_ms)),
        ..spec.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_go_first_then_windows_and_neither_below_its_floor() {
        let spec = TrialSpec { window_ms: 10.0, warmup_ms: 1.0, runs: 10, repeats: 2 };
        assert_eq!(cut(&spec, 0.5, 1.0), TrialSpec { runs: 6, ..spec.clone() });
        assert_eq!(cut(&spec, 0.0, 0.0), TrialSpec { runs: 6, window_ms: 2.0, ..spec.clone() });
        let small = TrialSpec { runs: 2, window_ms: 0.5, ..spec };
        assert_eq!(cut(&small, 0.0, 0.0), small);
    }
}
