//! What a run has spent of the time that it may take, and what becomes of that: it is reckoned anew after the pilots, a path that runs over its
//! share is cut, and what is left is spent on headlines.

use std::collections::BTreeMap;
use std::time::Instant;

use tollway_core::{Error, NARROW, TrialSpec};
use tollway_store::PointState;

use crate::budget::Division;
use crate::crew::Crew;
use crate::lab::LabError;
use crate::order;
use crate::script::{Request, Script};
use crate::session::Session;
use crate::timing::{self, Cut, FEWEST_RUNS, Part};

/// Blocks that headlines are given at the most beyond those that all points have.
const MOST_MORE: u32 = 200;

/// The time of a run that was given one.
pub(crate) struct Spending {
    within: f64,
    division: Division,
    begun: Instant,
    /// What was spent before this process began, by reckoning.
    before: f64,
    /// Seconds of each part.
    spent: Vec<f64>,
}

impl Spending {
    /// Nothing spent yet; `None` where a run may take as long as it does.
    pub(crate) fn begin(request: &Request) -> Option<Spending> {
        let within = request.within?;
        let division = Division::of(within, &request.selection.presets);
        let spent = vec![0.0; division.parts()];
        Some(Spending { within, division, begun: Instant::now(), before: 0.0, spent })
    }

    /// Charges a preset.
    pub(crate) fn charge(&mut self, preset: usize, seconds: f64) {
        self.spent[self.division.part(preset)] += seconds;
    }

    /// As [`charge`](Self::charge), what it took before this process began.
    pub(crate) fn charge_earlier(&mut self, preset: usize, seconds: f64) {
        self.charge(preset, seconds);
        self.before += seconds;
    }

    /// Seconds that a part has left.
    fn left(&self, part: usize) -> f64 {
        self.division.seconds(part) - self.spent[part]
    }

    /// Seconds that the whole has left.
    fn left_of_all(&self) -> f64 {
        self.within - self.before - self.begun.elapsed().as_secs_f64()
    }
}

impl Session<'_> {
    /// Seconds that so many trials of a point take.
    pub(crate) fn takes(&self, point: usize, trials: u64) -> f64 {
        let spec = &self.points[point].spec;
        trials as f64 * ((spec.window_ms + spec.warmup_ms) / 1e3 + self.overheads[point])
    }

    /// Trials of a point in a block, on all sides.
    fn in_a_block(&self, point: usize) -> u64 {
        u64::from(self.points[point].spec.repeats) * self.sides.len() as u64
    }

    /// Reckons once more by what the pilots took, cuts what no trial was played of yet to the time that is left, and tells.
    pub(crate) fn keep_to_time(&mut self, begun: Instant) -> Result<(), LabError> {
        let played = begun.elapsed().as_secs_f64();
        if self.done.is_empty()
            && let Some(cuts) = self.cuts()
        {
            let presets = self.request.selection.presets.iter_mut().enumerate();
            for (at, preset) in presets {
                preset.trial = cuts[at].of(&preset.trial);
            }
            for point in &mut self.points {
                point.spec = cuts[point.preset].of(&point.spec);
            }
            if cuts.iter().any(|cut| *cut != Cut::NOTHING) {
                self.write_plan()?;
            }
        }
        let (trials, seconds) = self.to_come(false);
        self.progress.reckoned(trials, seconds, played + seconds, self.request.within);
        Ok(())
    }

    /// Trials that are still to come, and seconds that they take: of what ends once it is known narrowly as many as there is time for, and the
    /// fewest blocks in any case.
    pub(crate) fn to_come(&self, with_pilots: bool) -> (u64, f64) {
        let pending: Vec<usize> = (0..self.points.len()).filter(|p| self.is_pending(*p)).collect();
        let pilots: u64 = pending.iter().map(|p| u64::from(with_pilots && self.wants_pilot(*p))).sum();
        let trials = pilots + pending.iter().map(|p| self.left(*p)).sum::<u64>();
        let seconds = self.seconds_left(with_pilots);
        let (Some(_), Some(spending)) = (self.request.narrow, &self.spending) else {
            return (trials, seconds);
        };
        let blocks = pending.iter().map(|p| self.points[*p].spec.runs).max().unwrap_or(1).max(FEWEST_RUNS);
        let fewest = if self.done.is_empty() { f64::from(FEWEST_RUNS) / f64::from(blocks) } else { 0.0 };
        let room = spending.left_of_all().max(0.0);
        let share = if seconds > 0.0 { (room / seconds).clamp(fewest, 1.0) } else { 1.0 };
        ((trials as f64 * share).ceil() as u64, seconds * share)
    }

    /// How far each preset is cut so that it keeps to its part of the time; `None` where none was given.
    fn cuts(&self) -> Option<Vec<Cut>> {
        let spending = self.spending.as_ref()?;
        let sides = self.sides.len();
        let of_part = |part: usize| {
            let of_it =
                |p: &usize| spending.division.part(self.points[*p].preset) == part && self.is_pending(*p);
            let pending: Vec<usize> = (0..self.points.len()).filter(of_it).collect();
            let has_headlines = pending.iter().any(|p| self.points[*p].headline);
            // What ends when it is known narrowly has as many blocks as there is time for: only the fewest have to fit.
            let open_ended = self.request.narrow.is_some();
            let left = spending.division.for_all(part, has_headlines) - spending.spent[part];
            let whole = |p: &usize, cut: Cut| {
                let spec = &self.points[*p].spec;
                let runs = if open_ended { spec.runs.min(FEWEST_RUNS) } else { spec.runs };
                let spec = cut.of(&TrialSpec { runs, ..spec.clone() });
                let whole = Part::whole(&self.points[*p], spec, sides);
                Part { has_pilot: false, overhead: self.overheads[*p], has_booted: true, ..whole }
            };
            let cut = Cut::to_fit(left, |cut| {
                timing::seconds(&pending.iter().map(|p| whole(p, cut)).collect::<Vec<_>>(), sides)
            });
            if open_ended { cut.keeping_runs() } else { cut }
        };
        let cuts: Vec<Cut> = (0..spending.division.parts()).map(of_part).collect();
        let presets = 0..self.request.selection.presets.len();
        Some(presets.map(|preset| cuts[spending.division.part(preset)]).collect())
    }

    /// Has the store keep the request as it is now: who goes on with the run has the same trials left.
    fn write_plan(&mut self) -> Result<(), LabError> {
        let error = |e| Error::system("writing the run's plan", e);
        let kept: Script = serde_json::from_value(self.store.run(self.run)?.spec.plan).map_err(error)?;
        let script = Script { request: self.request.clone(), ..kept };
        let plan = serde_json::to_value(&script).map_err(error)?;
        Ok(self.store.replan(self.run, &plan)?)
    }

    /// After a block of these points: of a path whose next block would take more than it has left they get no more. What is still to come
    /// of it after them has its time first.
    pub(crate) fn cut_what_runs_over(&mut self, which: &[usize], block: u32) -> Result<(), LabError> {
        let Some(spending) = &self.spending else { return Ok(()) };
        if block + 1 < FEWEST_RUNS {
            return Ok(());
        }
        let part_of = |point: usize| spending.division.part(self.points[point].preset);
        let mut next: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for point in which.iter().filter(|p| self.goes_on(**p, block + 1)) {
            next.entry(part_of(*point)).or_default().push(*point);
        }
        let runs_over = |part: usize, next: &[usize]| {
            let next: f64 = next.iter().map(|p| self.takes(*p, self.in_a_block(*p))).sum();
            let later = (0..self.points.len())
                .filter(|p| part_of(*p) == part && self.is_pending(*p) && !which.contains(p));
            next + later.map(|p| self.takes(p, self.left(p))).sum::<f64>() > spending.left(part)
        };
        next.retain(|part, next| runs_over(*part, next));
        let divided = spending.division.parts() > 1;
        let over: Vec<(f64, Vec<usize>)> =
            next.into_iter().map(|(part, next)| (spending.division.seconds(part), next)).collect();
        for (seconds, points) in over {
            let trials = points.iter().map(|p| self.left(*p)).sum();
            let planned = points.iter().map(|p| self.points[*p].spec.runs).max().unwrap_or_default();
            let path = points.first().filter(|_| divided).map(|p| self.points[*p].path.clone());
            if self.request.narrow.is_none() {
                self.progress.cut(path.as_deref(), seconds, (block + 1, planned), trials);
            }
            for point in points {
                if self.request.narrow.is_some() {
                    // It was to end sooner or later: nothing that was promised is cut.
                    self.progress.narrow(&self.points[point].title(), self.left(point));
                }
                self.until[point] = block + 1;
                if !self.points[point].headline {
                    self.settle(point, &PointState::Done)?;
                }
            }
        }
        Ok(())
    }

    /// Whether a point has trials in a block of those that all have.
    fn goes_on(&self, point: usize, block: u32) -> bool {
        self.is_pending(point) && block < self.until[point].min(self.points[point].spec.runs)
    }

    /// Tries headlines, block by block, until each is known exactly enough, as long as there is time; false where it was interrupted.
    pub(crate) fn headlines(&mut self, ordinal: &mut u32) -> Result<bool, LabError> {
        let which: Vec<usize> = (0..self.points.len()).filter(|p| self.points[*p].headline).collect();
        let first = which.iter().map(|p| self.points[*p].spec.runs).max().unwrap_or_default();
        let in_block: Vec<(usize, u32)> = which.iter().map(|p| (*p, self.points[*p].spec.repeats)).collect();
        let executables: Vec<_> = self.sides.iter().map(|side| side.executable(&self.lab.own)).collect();
        for block in first..first + MOST_MORE {
            self.settle_narrow(&which, NARROW)?;
            let pending: Vec<usize> = which.iter().copied().filter(|p| self.is_pending(*p)).collect();
            let trials: u64 = pending.iter().map(|p| self.in_a_block(*p)).sum();
            let takes: f64 = pending.iter().map(|p| self.takes(*p, self.in_a_block(*p))).sum();
            let has_time = self.spending.as_ref().is_some_and(|spending| takes <= spending.left_of_all());
            if pending.is_empty() || !has_time {
                break;
            }
            self.progress.more(trials);
            let mut crews: Vec<Crew<'_>> = executables.iter().map(|e| self.crew(e)).collect();
            for slot in order::block(self.request.seed, block, &in_block, self.sides.len()) {
                let place = *ordinal;
                *ordinal += 1;
                if self.interrupted() {
                    return Ok(false);
                }
                self.play_one(slot, place, &mut crews)?;
            }
        }
        for point in which {
            if self.is_pending(point) {
                self.settle(point, &PointState::Done)?;
            }
        }
        Ok(true)
    }
}
