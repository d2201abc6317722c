//! How long a run will take, and how it is cut to a given time.
//!
//! Before anything is played it is reckoned by what a trial usually takes besides its window; after the pilots by what those took here and now,
//! which on a busy machine, or with hundreds of threads to be started, may be ten times that.

use serde::Serialize;
use tollway_core::{Missing, Plan, Preset, TenantKind, TrialSpec};

use crate::budget::Division;
use crate::footprint::Footprint;
use crate::pilot;
use crate::point::Point;
use crate::seats::{Seat, seats};

/// What a trial takes beside its window and warm-up, in seconds: making, readying and finishing its actors, and keeping what they brought.
const OVERHEAD: f64 = 0.005;

/// What starting and ending a process of a crew takes, in seconds.
const PROCESS: f64 = 0.006;

/// What it takes until a Linux guest has booted, in seconds; those of one trial boot at the same time.
const BOOT: f64 = 3.0;

/// The fewest blocks that a run is cut to: fewer would leave the intervals too wide to be of use.
pub(crate) const FEWEST_RUNS: u32 = 6;

/// The shortest window that a run is cut to, in milliseconds.
const SHORTEST_WINDOW: f64 = 2.0;

/// Nor is a window cut below this share of what it was to be.
const LEAST_OF_WINDOW: f64 = 0.5;

/// Times as long as was asked for, from which on it is said.
const TOO_LONG: f64 = 1.2;

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

/// What a preset takes of a run.
#[derive(Clone, Debug, Serialize)]
pub struct Share {
    /// Its path.
    pub path: String,
    /// Its name.
    pub preset: String,
    /// Trials of its points that can run here, pilots included.
    pub trials: u64,
    /// Seconds that these take.
    pub seconds: f64,
    /// Seconds that it may take, where the run's time is divided.
    pub budget: Option<f64>,
}

/// What a run would do, and how long that would take.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Estimate {
    /// The points.
    pub points: Vec<Forecasted>,
    /// What each preset takes of it.
    pub shares: Vec<Share>,
    /// Trials in all, pilots included.
    pub trials: u64,
    /// Seconds in all.
    pub seconds: f64,
    /// What it uses of the machine and writes there.
    pub footprint: Footprint,
}

impl Estimate {
    /// This run, and then another.
    pub fn add(&mut self, other: Estimate) {
        self.points.extend(other.points);
        self.trials += other.trials;
        self.seconds += other.seconds;
        self.footprint.add(other.footprint);
    }
}

/// What a command that measures has found, or would measure.
#[derive(Debug)]
pub enum Finding<D> {
    /// What it would do.
    Planned(Estimate),
    /// What it found; nothing of what was interrupted before there was anything.
    Found(Option<D>),
}

/// What is to be said where a run that was cut to `asked` seconds takes about `least`; `None` where it is kept.
pub fn not_kept(asked: f64, least: f64) -> Option<String> {
    (least > asked * TOO_LONG).then(|| {
        format!("{asked} s cannot be kept: the least is about {least:.0} s; with fewer or shorter trials intervals would be of no use")
    })
}

/// What a point has of a run.
pub(crate) struct Part<'p> {
    pub(crate) plan: &'p Plan,
    pub(crate) spec: TrialSpec,
    /// Trials of all sides that are to be played, without the pilot.
    pub(crate) trials: u64,
    pub(crate) has_pilot: bool,
    /// What each of them takes besides window and warm-up, in seconds.
    pub(crate) overhead: f64,
    /// Whether the Linux guests that it needs are there.
    pub(crate) has_booted: bool,
}

impl<'p> Part<'p> {
    /// All trials of a point, of which none was played yet.
    pub(crate) fn whole(point: &'p Point, spec: TrialSpec, sides: usize) -> Part<'p> {
        let trials = trials(&spec, sides);
        Part { plan: &point.plan, spec, trials, has_pilot: true, overhead: OVERHEAD, has_booted: false }
    }

    fn seconds(&self) -> f64 {
        let trial = (self.spec.window_ms + self.spec.warmup_ms) / 1e3 + self.overhead;
        let pilot = if self.has_pilot { pilot::seconds(&self.spec) + self.overhead } else { 0.0 };
        self.trials as f64 * trial + pilot
    }
}

/// What a trial takes besides window and warm-up, where no pilot has told, in seconds.
pub(crate) fn overhead() -> f64 {
    OVERHEAD
}

/// Trials of a point on so many sides, without the pilot.
pub(crate) fn trials(spec: &TrialSpec, sides: usize) -> u64 {
    u64::from(spec.runs) * u64::from(spec.repeats) * sides as u64
}

/// Seconds that these take on so many sides: trials, the processes of each block, and until Linux guests have booted.
pub(crate) fn seconds(parts: &[Part<'_>], sides: usize) -> f64 {
    let pilots = u32::from(parts.iter().any(|part| part.has_pilot));
    let blocks = parts.iter().filter(|part| part.trials > 0).map(|part| part.spec.runs).max().unwrap_or(0);
    let crews = f64::from(pilots) + f64::from(blocks) * sides as f64;
    let trials: f64 = parts.iter().map(Part::seconds).sum();
    boots(parts.iter().filter(|part| !part.has_booted).map(|part| part.plan))
        + trials
        + crews * processes(parts) as f64 * PROCESS
}

/// The processes of a crew, which its points share.
fn processes(parts: &[Part<'_>]) -> usize {
    let mut all: Vec<Seat> = Vec::new();
    for sitting in parts.iter().flat_map(|part| seats(part.plan)) {
        if !matches!(sitting.seat, Seat::Guest { .. }) && !all.contains(&sitting.seat) {
            all.push(sitting.seat);
        }
    }
    all.len()
}

/// Seconds until the Linux guests of these plans have booted: once for each kind, which is then kept.
fn boots<'p>(plans: impl Iterator<Item = &'p Plan>) -> f64 {
    let mut kinds = Vec::new();
    for plan in plans.filter(|plan| plan.uses(TenantKind::LinuxGuest)) {
        let kind = (&plan.guests, plan.roles.iter().map(|r| r.count).max().unwrap_or(1));
        if !kinds.contains(&kind) {
            kinds.push(kind);
        }
    }
    kinds.len() as f64 * BOOT
}

/// How far blocks and windows are cut: the shares that are left of each.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Cut {
    runs: f64,
    window: f64,
}

impl Cut {
    /// All is left.
    pub(crate) const NOTHING: Cut = Cut { runs: 1.0, window: 1.0 };

    /// The least one by which what takes `total` takes no more than `budget` seconds: first fewer blocks, then shorter windows. All that may be
    /// cut where that is not enough.
    pub(crate) fn to_fit(budget: f64, total: impl Fn(Cut) -> f64) -> Cut {
        let shares = || (1..=20).rev().map(|n| f64::from(n) / 20.0);
        let fits = |runs: f64, window: f64| total(Cut { runs, window }) <= budget;
        let runs = shares().find(|runs| fits(*runs, 1.0)).unwrap_or(0.0);
        let window = shares().find(|window| fits(runs, *window)).unwrap_or(0.0);
        Cut { runs, window }
    }

    /// The same of the windows alone.
    pub(crate) fn keeping_runs(self) -> Cut {
        Cut { runs: 1.0, ..self }
    }

    /// Trials that are cut so, only so far that intervals stay of use.
    pub(crate) fn of(self, spec: &TrialSpec) -> TrialSpec {
        TrialSpec {
            runs: ((f64::from(spec.runs) * self.runs) as u32).max(FEWEST_RUNS.min(spec.runs)),
            window_ms: spec
                .window_ms
                .min((spec.window_ms * self.window.max(LEAST_OF_WINDOW)).max(SHORTEST_WINDOW)),
            ..spec.clone()
        }
    }
}

/// Cuts presets so that these points, which they name, take about `within` seconds: each those of its budget.
pub(crate) fn fit_to(within: f64, presets: &mut [Preset], points: &[Point], sides: usize) {
    let division = Division::of(within, presets);
    let cut_of = |part: usize| {
        let of_it: Vec<&Point> = points.iter().filter(|point| division.part(point.preset) == part).collect();
        let has_headlines = of_it.iter().any(|point| point.headline);
        Cut::to_fit(division.for_all(part, has_headlines), |cut| {
            let parts: Vec<_> =
                of_it.iter().map(|point| Part::whole(point, cut.of(&point.spec), sides)).collect();
            seconds(&parts, sides)
        })
    };
    let cuts: Vec<Cut> = (0..division.parts()).map(cut_of).collect();
    for (at, preset) in presets.iter_mut().enumerate() {
        preset.trial = cuts[division.part(at)].of(&preset.trial);
    }
}

/// What each of these presets takes of a run of `within` seconds, by the points that can run.
pub(crate) fn shares(within: Option<f64>, presets: &[Preset], points: &[&Point], sides: usize) -> Vec<Share> {
    let division = within.map(|within| Division::of(within, presets)).filter(|division| division.parts() > 1);
    let share = |(at, preset): (usize, &Preset)| {
        let of_it = points.iter().filter(|point| point.preset == at);
        let parts: Vec<_> = of_it.map(|point| Part::whole(point, point.spec.clone(), sides)).collect();
        Share {
            path: preset.preset.path.clone(),
            preset: preset.preset.name.clone(),
            trials: parts.iter().map(|part| part.trials + 1).sum(),
            seconds: seconds(&parts, sides),
            budget: division.as_ref().map(|division| division.seconds(at)),
        }
    };
    presets.iter().enumerate().map(share).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_go_first_then_windows_and_neither_below_its_floor() {
        let spec = TrialSpec { window_ms: 10.0, warmup_ms: 1.0, runs: 10, repeats: 2 };
        let cut = |runs, window| Cut { runs, window };
        assert_eq!(cut(0.5, 1.0).of(&spec), TrialSpec { runs: 6, ..spec.clone() });
        assert_eq!(cut(0.0, 0.0).of(&spec), TrialSpec { runs: 6, window_ms: 5.0, ..spec.clone() });
        let small = TrialSpec { runs: 2, window_ms: 0.5, ..spec.clone() };
        assert_eq!(cut(0.0, 0.0).of(&small), small);
        // A second and a half, by blocks and windows alone: half of the blocks is enough, or it takes a tenth of the windows besides.
        let total = |cut: Cut| 10.0 * cut.runs.max(0.3) * cut.window.max(0.2);
        assert_eq!(Cut::to_fit(20.0, total), cut(1.0, 1.0));
        assert_eq!(Cut::to_fit(5.0, total), cut(0.5, 1.0));
        assert_eq!(Cut::to_fit(1.5, total), cut(0.0, 0.5));
        assert_eq!(Cut::to_fit(0.1, total), cut(0.0, 0.0));
    }

    #[test]
    fn pilots_processes_and_what_a_trial_takes_besides_are_reckoned() {
        let roles = vec![tollway_core::Role::serving("server"), tollway_core::Role::measured("client")];
        let plan = crate::seats::tests::plan(roles);
        let spec = TrialSpec { window_ms: 20.0, warmup_ms: 2.0, runs: 5, repeats: 2 };
        let part = |overhead, has_pilot| Part {
            plan: &plan,
            spec: spec.clone(),
            trials: 10,
            has_pilot,
            overhead,
            has_booted: true,
        };
        let near = |a: f64, b: f64| assert!((a - b).abs() < 1e-9, "{a} is not {b}");
        let crew = processes(&[part(0.0, true)]) as f64 * PROCESS;
        assert!(crew > 0.0);
        near(seconds(&[part(0.0, false)], 1), 10.0 * 0.022 + 5.0 * crew);
        near(seconds(&[part(0.1, true)], 1), 10.0 * 0.122 + 0.104 + 6.0 * crew);
        // Two points have the same processes.
        near(seconds(&[part(0.0, false), part(0.0, false)], 2), 20.0 * 0.022 + 10.0 * crew);
    }

    #[test]
    fn what_cannot_be_kept_is_said_with_the_least() {
        let text = not_kept(3.0, 35.2).unwrap();
        assert!(text.starts_with("3 s cannot be kept: the least is about 35 s"), "{text}");
        assert_eq!(not_kept(3.0, 3.5), None);
    }
}
