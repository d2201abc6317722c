//! A run from its first pilot to its end.

use std::collections::BTreeSet;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use tollway_core::{Error, GuestFacts, Missing, TenantKind, TrialSpec};
use tollway_host::clock::RunClock;
use tollway_host::gap::Gaps;
use tollway_load::PlantCost;
use tollway_store::{NewTrial, PointId, PointState, RunId, RunState, Store, Trial, TrialMark};
use tollway_tenant::Executable;

use crate::counters::{self, Counters};
use crate::crew::{Crew, Job, Outcome};
use crate::guests::Guests;
use crate::lab::{Ended, Lab, LabError};
use crate::narrow;
use crate::noise::Watch;
use crate::order::{self, Slot};
use crate::paces::Paces;
use crate::pilot;
use crate::point::Point;
use crate::progress::Progress;
use crate::script::Request;
use crate::side::{Applied, Side};
use crate::spending::Spending;
use crate::timing::{self, Part};

/// How much the latest trial counts in what trials of a point take besides their windows.
const OF_THE_LATEST: f64 = 0.3;

/// A point of one side, in the store.
pub(crate) struct Entry {
    pub(crate) id: PointId,
    /// Index of the point, the same for all sides.
    pub(crate) point: usize,
    /// Index of the side.
    pub(crate) side: usize,
    /// Operations timed together; `None` before the pilot.
    pub(crate) batch: Option<u32>,
    /// Steps of delay planted in every operation.
    pub(crate) steps: u32,
    pub(crate) state: PointState,
}

/// A run under way.
pub(crate) struct Session<'s> {
    pub(crate) lab: &'s Lab<'s>,
    pub(crate) store: &'s mut Store,
    pub(crate) progress: &'s mut dyn Progress,
    pub(crate) run: RunId,
    pub(crate) request: Request,
    pub(crate) sides: Vec<Side>,
    pub(crate) points: Vec<Point>,
    /// What a trial of each point takes besides its window and warm-up, in seconds: as its pilot did, where it had one.
    pub(crate) overheads: Vec<f64>,
    /// The block from which on each point has no more trials, as its path has no more time.
    pub(crate) until: Vec<u32>,
    /// What was spent of the time that the run was given.
    pub(crate) spending: Option<Spending>,
    pub(crate) entries: Vec<Entry>,
    /// The trials that are in the store.
    pub(crate) done: BTreeSet<TrialMark>,
    pub(crate) watch: Watch,
    pub(crate) paces: Paces,
    pub(crate) guests: Guests,
    /// What the store knows of them.
    pub(crate) noted: GuestFacts,
}

impl Session<'_> {
    pub(crate) fn go(mut self) -> Result<Ended, LabError> {
        let result = self.stages();
        let state = match &result {
            Ok(true) => RunState::Complete,
            // A store that was full or locked can be gone on with when it no longer is.
            Ok(false) | Err(LabError::Store(_)) => RunState::Interrupted,
            Err(_) => RunState::Failed,
        };
        let ended = self.store.end_run(self.run, state, Timestamp::now());
        result?;
        ended?;
        Ok(Ended {
            run: self.run,
            state,
            skipped: self.points_with(|s| matches!(s, PointState::Skipped(_))),
            failed: self.points_with(|s| matches!(s, PointState::Failed(_))),
        })
    }

    fn points_with(&self, wanted: impl Fn(&PointState) -> bool) -> usize {
        self.entries.iter().filter(|e| wanted(&e.state)).map(|e| e.point).collect::<BTreeSet<_>>().len()
    }

    /// All stages; false where it was interrupted.
    fn stages(&mut self) -> Result<bool, LabError> {
        let begun = Instant::now();
        self.agree_on_sides()?;
        self.skip_what_is_lacking()?;
        let (trials, seconds) = self.to_come(true);
        self.progress.planned(trials, seconds);
        let (first, last): (Vec<usize>, Vec<usize>) = (0..self.points.len())
            .partition(|p| self.request.together || self.points[*p].plan.needs.is_empty());
        self.progress.stage("pilots");
        if !self.pilots()? {
            return Ok(false);
        }
        self.keep_to_time(begun)?;
        self.foretell()?;
        self.progress.stage("tolls");
        let mut ordinal = 0;
        if !self.play_all(&first, &mut ordinal)? {
            return Ok(false);
        }
        if !last.is_empty() {
            self.progress.stage("predictions");
            self.predict(&last)?;
            if !self.play_all(&last, &mut ordinal)? {
                return Ok(false);
            }
        }
        self.progress.stage("headlines");
        self.headlines(&mut ordinal)
    }

    pub(crate) fn is_pending(&self, point: usize) -> bool {
        self.entries.iter().any(|e| e.point == point && e.state == PointState::Pending)
    }

    /// Seconds that trials take which are not in the store yet.
    pub(crate) fn seconds_left(&self, with_pilots: bool) -> f64 {
        let pending = (0..self.points.len()).filter(|p| self.is_pending(*p));
        let part = |p: usize| Part {
            plan: &self.points[p].plan,
            spec: self.points[p].spec.clone(),
            trials: self.left(p),
            has_pilot: with_pilots && self.wants_pilot(p),
            overhead: self.overheads[p],
            has_booted: !with_pilots,
        };
        timing::seconds(&pending.map(part).collect::<Vec<_>>(), self.sides.len())
    }

    /// How many trials of a point, on all sides, are not in the store yet.
    pub(crate) fn left(&self, point: usize) -> u64 {
        let spec = &self.points[point].spec;
        let spec = TrialSpec { runs: spec.runs.min(self.until[point]), ..spec.clone() };
        let planned = timing::trials(&spec, self.sides.len());
        let ids: Vec<PointId> = self.entries.iter().filter(|e| e.point == point).map(|e| e.id).collect();
        planned.saturating_sub(self.done.iter().filter(|mark| ids.contains(&mark.point)).count() as u64)
    }

    /// Whether a pending point has to be played once before it is timed: what a planted delay takes is not stored.
    pub(crate) fn wants_pilot(&self, point: usize) -> bool {
        self.entries.iter().any(|e| e.point == point && e.batch.is_none())
            || self.sides.iter().any(|s| s.planted > 0.0)
    }

    /// A run that was killed while a point was given up may have given it up on one side only.
    fn agree_on_sides(&mut self) -> Result<(), LabError> {
        for point in 0..self.points.len() {
            let given_up = |e: &&Entry| {
                e.point == point && matches!(e.state, PointState::Skipped(_) | PointState::Failed(_))
            };
            if let Some(state) = self.entries.iter().find(given_up).map(|e| e.state.clone()) {
                self.settle(point, &state)?;
            }
        }
        Ok(())
    }

    fn skip_what_is_lacking(&mut self) -> Result<(), LabError> {
        for point in 0..self.points.len() {
            if !self.is_pending(point) {
                continue;
            }
            let lacked = (0..self.sides.len()).find_map(|side| match self.subject(point, side) {
                Ok(subject) => self.lab.lacking(&subject).map(Ok),
                Err(error) => Some(Err(error)),
            });
            if let Some(missing) = lacked.transpose()?.or_else(|| self.not_in_guests(point)) {
                self.progress.skipped(&self.points[point].title(), &missing, 0);
                self.settle(point, &PointState::Skipped(missing))?;
            }
        }
        Ok(())
    }

    /// A point as one of the sides has it.
    fn subject(&self, point: usize, side: usize) -> Result<Point, Error> {
        self.points[point].on(&self.sides[side], self.lab.registry)
    }

    /// What keeps a point from being compared in Linux guests.
    fn not_in_guests(&self, point: usize) -> Option<Missing> {
        let foreign = self.sides.iter().find(|side| side.program.is_some())?;
        self.points[point].plan.uses(TenantKind::LinuxGuest).then(|| {
            Missing::new(
                format!("Linux guests of side {}", foreign.label),
                "its program is another one, and the agent of Linux guests belongs to this one",
                "compare programs in processes, or let each measure a run of its own and compare these",
            )
        })
    }

    /// Sets the state of a point on all sides.
    pub(crate) fn settle(&mut self, point: usize, state: &PointState) -> Result<(), LabError> {
        for entry in self.entries.iter_mut().filter(|e| e.point == point) {
            self.store.set_point_state(entry.id, state)?;
            entry.state = state.clone();
        }
        Ok(())
    }

    /// What an error makes of a point: skipped where the machine lacks something, else failed.
    fn give_up(&mut self, point: usize, error: &Error, trials_left: u64) -> Result<(), LabError> {
        let title = self.points[point].title();
        match error {
            Error::Missing(missing) => {
                self.progress.skipped(&title, missing, trials_left);
                self.settle(point, &PointState::Skipped(missing.clone()))
            }
            error => {
                self.progress.failed(&title, error, trials_left);
                self.settle(point, &PointState::Failed(error.to_string()))
            }
        }
    }

    pub(crate) fn crew<'e>(&self, executable: &'e Executable) -> Crew<'e>
    where
        Self: 'e,
    {
        Crew::new(&self.lab.target, executable, &self.lab.cpus, self.lab.hz, self.lab.grace)
    }

    pub(crate) fn interrupted(&self) -> bool {
        self.lab.interrupted.load(Ordering::Relaxed)
    }

    fn pilots(&mut self) -> Result<bool, LabError> {
        let side = self.sides[0].clone();
        let executable = side.executable(&self.lab.own);
        let mut crew = self.crew(&executable);
        let planting = self.sides.iter().any(|s| s.planted > 0.0);
        let cost = planting.then(|| PlantCost::measure(RunClock::chosen()));
        for point in 0..self.points.len() {
            if self.interrupted() {
                return Ok(false);
            }
            if !self.is_pending(point) || !self.wants_pilot(point) {
                continue;
            }
            let subject = self.subject(point, 0)?;
            self.progress.playing(&self.called(&subject));
            let job = job(&subject, 0, 0, self.request.seed);
            let begun = Instant::now();
            let outcome = {
                let _applied = Applied::apply(&side.settings)?;
                twice_at_most(self.lab, || pilot::play(&mut crew, &job, &mut self.guests))
            };
            let took = begun.elapsed().as_secs_f64();
            self.charge(point, took);
            match outcome {
                Ok(Some(outcome)) => {
                    let lasting = pilot::seconds(&subject.spec) + outcome.starting.as_secs_f64();
                    self.overheads[point] = (took - lasting).max(0.0);
                    let batch = self.freeze_batch(point, outcome.spread.batch)?;
                    self.progress.played();
                    let Some(cost) = &cost else { continue };
                    let mut slowed = |steps: u32| {
                        let _applied = Applied::apply(&side.settings)?;
                        let play = || pilot::slowed(&mut crew, &job, (batch, steps), &mut self.guests);
                        twice_at_most(self.lab, play)
                    };
                    let sample = outcome.spread.quantile(0.5).unwrap_or_default() * f64::from(batch);
                    match plant(&self.sides, sample, cost, &mut slowed) {
                        Ok(Some(steps)) => {
                            for entry in self.entries.iter_mut().filter(|e| e.point == point) {
                                entry.steps = steps[entry.side];
                            }
                        }
                        Ok(None) => return Ok(false),
                        Err(error) => self.give_up(point, &error, self.left(point))?,
                    }
                }
                Ok(None) => return Ok(false),
                Err(error) => self.give_up(point, &error, self.left(point) + 1)?,
            }
        }
        Ok(true)
    }

    /// Freezes the batch that a pilot has found. One side may have its own from before a kill: it is that of
    /// both.
    fn freeze_batch(&mut self, point: usize, found: u32) -> Result<u32, LabError> {
        let frozen = self.entries.iter().filter(|e| e.point == point).find_map(|e| e.batch);
        let batch = frozen.unwrap_or(found);
        for entry in self.entries.iter_mut().filter(|e| e.point == point && e.batch.is_none()) {
            self.store.set_batch(entry.id, batch)?;
            entry.batch = Some(batch);
        }
        Ok(batch)
    }

    /// Plays all trials of these points, block by block; false where it was interrupted.
    fn play_all(&mut self, which: &[usize], ordinal: &mut u32) -> Result<bool, LabError> {
        let blocks = which.iter().map(|p| self.points[*p].spec.runs).max().unwrap_or(0);
        let executables: Vec<Executable> = self.sides.iter().map(|s| s.executable(&self.lab.own)).collect();
        for block in 0..blocks {
            if block > 0 && self.sides.len() > 1 {
                self.guests.part();
            }
            let in_block: Vec<(usize, u32)> = which
                .iter()
                .filter(|p| block < self.points[**p].spec.runs)
                .map(|p| (*p, self.points[*p].spec.repeats))
                .collect();
            let mut crews: Vec<Crew<'_>> = executables.iter().map(|e| self.crew(e)).collect();
            for slot in order::block(self.request.seed, block, &in_block, self.sides.len()) {
                let place = *ordinal;
                *ordinal += 1;
                if self.interrupted() {
                    return Ok(false);
                }
                self.play_one(slot, place, &mut crews)?;
            }
            if let Some(within) = self.request.narrow {
                let unfinished: Vec<usize> = which.iter().copied().filter(|p| self.left(*p) > 0).collect();
                self.settle_narrow(&unfinished, within)?;
            }
            self.cut_what_runs_over(which, block)?;
        }
        for point in which {
            if self.is_pending(*point) && !(self.points[*point].headline && self.spending.is_some()) {
                self.settle(*point, &PointState::Done)?;
            }
        }
        Ok(true)
    }

    /// Points that are known that exactly have no more trials.
    pub(crate) fn settle_narrow(&mut self, which: &[usize], within: f64) -> Result<(), LabError> {
        for point in which.iter().copied() {
            if !self.is_pending(point) || self.blocks_of(point) < narrow::FEWEST {
                continue;
            }
            let ids = self.entries.iter().filter(|e| e.point == point).map(|e| e.id);
            let sides = ids.map(|id| self.store.trials_of(id)).collect::<Result<Vec<Vec<Trial>>, _>>()?;
            let subject = &self.points[point];
            let by_rate = !subject.variant(self.lab.registry)?.yields(&subject.params).is_empty();
            if narrow::known_within(&sides, by_rate).is_some_and(|known| known < within) {
                self.progress.narrow(&subject.title(), self.left(point));
                self.settle(point, &PointState::Done)?;
            }
        }
        Ok(())
    }

    /// What a point is called while it is played: by its path too, where there are several and its title does not say it.
    fn called(&self, point: &Point) -> String {
        let title = point.title();
        let several = self.points.iter().any(|other| other.path != point.path);
        match several && !title.split(' ').any(|word| word == point.path) {
            true => format!("{} · {title}", point.path),
            false => title,
        }
    }

    /// In how many blocks a point has trials.
    fn blocks_of(&self, point: usize) -> u32 {
        let ids = self.entries.iter().filter(|e| e.point == point).map(|e| e.id).collect::<Vec<_>>();
        let blocks = self.done.iter().filter(|mark| ids.contains(&mark.point)).map(|mark| mark.block);
        blocks.collect::<BTreeSet<u32>>().len() as u32
    }

    /// What passed while a point was played, for the account of its path.
    fn charge(&mut self, point: usize, seconds: f64) {
        if let Some(spending) = &mut self.spending {
            spending.charge(self.points[point].preset, seconds);
        }
    }

    pub(crate) fn play_one(
        &mut self,
        slot: Slot,
        ordinal: u32,
        crews: &mut [Crew<'_>],
    ) -> Result<(), LabError> {
        let Some(entry) = self.entries.iter().find(|e| e.point == slot.point && e.side == slot.side) else {
            return Ok(());
        };
        let mark = TrialMark { point: entry.id, block: slot.block, ordinal };
        // A headline that was cut has no more of the blocks that all have, but of those that are for headlines alone.
        let cut = self.until[slot.point] <= slot.block && slot.block < self.points[slot.point].spec.runs;
        if entry.state != PointState::Pending || cut || self.done.contains(&mark) {
            return Ok(());
        }
        let (id, batch, steps) = (entry.id, entry.batch.unwrap_or(0), entry.steps);
        let point = self.subject(slot.point, slot.side)?;
        self.progress.playing(&self.called(&point));
        let (started, begun) = (Timestamp::now(), Instant::now());
        let outcome = {
            let _applied = Applied::apply(&self.sides[slot.side].settings)?;
            let seed = order::trial_seed(self.request.seed, slot.block, slot.repeat);
            let job = job(&point, batch, steps, seed);
            twice_at_most(self.lab, || crews[slot.side].play(&job, &mut self.guests))
        };
        let took = begun.elapsed().as_secs_f64();
        self.charge(slot.point, took);
        match outcome {
            Ok(Some(outcome)) => {
                let lasting = (point.spec.window_ms + point.spec.warmup_ms) / 1e3;
                let besides = (took - lasting - outcome.starting.as_secs_f64()).max(0.0);
                self.overheads[slot.point] += (besides - self.overheads[slot.point]) * OF_THE_LATEST;
                let agents = crews.iter().map(Crew::processor_time).sum::<Duration>();
                let agents = agents + self.guests.processor_time();
                self.note_guests()?;
                let trial = self.trial(outcome, agents, slot, ordinal, started, &point)?;
                self.store.record_trial(id, &trial)?;
                self.done.insert(mark);
                self.progress.played();
                Ok(())
            }
            // The caller finds that it was interrupted.
            Ok(None) => Ok(()),
            Err(error) => self.give_up(slot.point, &error, self.left(slot.point)),
        }
    }

    /// Says in the store what virtual machines were used, where that is news.
    fn note_guests(&mut self) -> Result<(), LabError> {
        if self.noted != *self.guests.facts() {
            self.noted.clone_from(self.guests.facts());
            self.store.note_guests(self.run, &self.noted)?;
        }
        Ok(())
    }

    fn trial(
        &mut self,
        outcome: Outcome,
        agents: Duration,
        slot: Slot,
        ordinal: u32,
        started: Timestamp,
        point: &Point,
    ) -> Result<NewTrial, LabError> {
        let window = point.spec.window_ms / 1e3 * self.lab.hz;
        let gaps = outcome.gaps(self.lab.hz);
        let meters =
            serde_json::to_value(Counters::of(&outcome)).map_err(|e| Error::system("writing counters", e))?;
        let record = |played| counters::record(played, &point.plan, &point.spec, self.lab.hz);
        let actors = outcome.actors.iter().map(record).collect();
        // Where more actors than processors take turns, it is of their own making that they see gaps and begin late.
        let in_all: u32 = point.plan.roles.iter().map(|role| role.count).sum();
        let crowded = in_all as usize > self.lab.cpus.len();
        let gaps = if crowded { Gaps::default() } else { gaps };
        let paced = outcome.actors.iter().filter_map(|actor| actor.ran.pace.as_ref());
        // Its first samples are those of an actor that was not warm yet.
        let late = outcome.actors.iter().map(|a| a.ran.late).max().unwrap_or_default() as f64 / self.lab.hz;
        let noise: Vec<String> = [
            outcome.meters.throttling.said(),
            self.paces.after_trial(slot.point, paced),
            self.watch.after_trial((outcome.after, outcome.elsewhere), agents, gaps),
            (late * 1e3 > point.spec.warmup_ms && !crowded)
                .then(|| format!("{:.1} ms too late for the warm-up", late * 1e3)),
        ]
        .into_iter()
        .flatten()
        .collect();
        Ok(NewTrial {
            block: slot.block,
            ordinal,
            started,
            spread: outcome.spread,
            noise: (!noise.is_empty()).then(|| noise.join(", ")),
            tally: outcome.tally,
            meters,
            lost_ticks: gaps.share().unwrap_or_default() * window,
            actors,
        })
    }

    /// Freezes the predictions that came with the request, of points that have no trial yet.
    fn foretell(&mut self) -> Result<(), LabError> {
        for at in 0..self.entries.len() {
            let entry = &self.entries[at];
            let (id, point) = (entry.id, self.subject(entry.point, entry.side)?);
            let Some(foretold) = self.request.foretold.iter().find(|foretold| {
                (&foretold.path, &foretold.variant, &foretold.params)
                    == (&point.path, &point.variant, &point.params)
            }) else {
                continue;
            };
            let begun = self.done.iter().any(|mark| mark.point == id);
            if entry.state == PointState::Pending && !begun && self.store.prediction(id)?.is_none() {
                self.store.predict(id, &foretold.forecast, Timestamp::now())?;
            }
        }
        Ok(())
    }

    /// Freezes the predictions of these points, made from the tolls of this run, else of this machine.
    fn predict(&mut self, which: &[usize]) -> Result<(), LabError> {
        let week = jiff::SignedDuration::from_hours(24 * 7);
        let tolls = self
            .store
            .tolls_of_run(self.run)?
            .or(self.store.tolls(&self.lab.machine, Timestamp::now() - week)?)
            .in_ticks_of(self.lab.hz);
        for at in 0..self.entries.len() {
            let entry = &self.entries[at];
            if !which.contains(&entry.point) || entry.state != PointState::Pending {
                continue;
            }
            let (id, point) = (entry.id, self.subject(entry.point, entry.side)?);
            let begun = self.done.iter().any(|mark| mark.point == id);
            if begun || self.store.prediction(id)?.is_some() {
                continue;
            }
            // A point whose tolls could not be measured is measured all the same, without a prediction.
            if let Some(Ok(forecast)) = point.variant(self.lab.registry)?.predict(&point.params, &tolls) {
                self.store.predict(id, &forecast, Timestamp::now())?;
            }
        }
        Ok(())
    }
}

fn job(point: &Point, batch: u32, planted: u32, seed: u64) -> Job<'_> {
    Job {
        path: &point.path,
        variant: &point.variant,
        params: &point.params,
        plan: &point.plan,
        spec: &point.spec,
        patience: point.patience,
        batch,
        planted,
        seed,
    }
}

/// Steps of delay for each side of a point whose samples took so many ticks, after a try that it has what is
/// planted. `slowed` plays it with so many steps; `None` where that was interrupted.
fn plant(
    sides: &[Side],
    sample: f64,
    cost: &PlantCost,
    mut slowed: impl FnMut(u32) -> Result<Option<Outcome>, Error>,
) -> Result<Option<Vec<u32>>, Error> {
    let steps =
        sides.iter().map(|side| pilot::steps(side.planted, sample, cost)).collect::<Result<_, _>>()?;
    let tried = pilot::steps(pilot::TRIED, sample, cost)?;
    let mut took = f64::INFINITY;
    for _ in 0..pilot::LOOKS {
        let Some(Outcome { spread, .. }) = slowed(tried)? else { return Ok(None) };
        took = took.min(spread.quantile(pilot::LOW).unwrap_or_default() * f64::from(spread.batch));
        if spread.samples() >= pilot::ENOUGH {
            break;
        }
    }
    pilot::is_planted(sample, took)?;
    Ok(Some(steps))
}

/// Plays; a tenant that died may have been unlucky and gets a second chance, a wrong result does not. `None` where it
/// died in an interruption, which may have been meant for it too.
fn twice_at_most(
    lab: &Lab<'_>,
    mut play: impl FnMut() -> Result<Outcome, Error>,
) -> Result<Option<Outcome>, Error> {
    for chance in 0.. {
        match play() {
            Ok(outcome) => return Ok(Some(outcome)),
            Err(Error::Tenant { .. }) if lab.interrupted.load(Ordering::Relaxed) => return Ok(None),
            Err(Error::Tenant { .. }) if chance == 0 => {}
            Err(error) => return Err(error),
        }
    }
    Ok(None)
}
