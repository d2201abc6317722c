//! A run from its request to its end.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use jiff::Timestamp;
use tollway_core::{Error, Missing, Registry};
use tollway_host::requirement;
use tollway_store::{
    NewTrial, PointId, PointSpec, PointState, RunId, RunSpec, RunState, Store, StoreError, TrialMark,
};
use tollway_tenant::Executable;

use crate::crew::{Crew, Job, Outcome};
use crate::noise::Watch;
use crate::order::{self, Slot};
use crate::point::{self, Point};
use crate::progress::Progress;
use crate::script::{Request, Script};
use crate::side::{Applied, Setting, Side};
use crate::timing::{self, Estimate, Forecasted};
use crate::{pilot, restore};

/// What can end a run before its time.
#[derive(Debug, thiserror::Error)]
pub enum LabError {
    /// What was asked for is not usable, or the machine failed.
    #[error(transparent)]
    Contract(#[from] Error),
    /// The store failed; what it acknowledged before is kept.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// There is nothing to go on with.
    #[error("{reason}; {remedy}")]
    NoResume {
        /// Why.
        reason: String,
        /// What to do instead.
        remedy: String,
    },
    /// A killed run left a setting of the host changed, and it cannot be put back.
    #[error(
        "{}: a run that was killed left this setting changed, and it cannot be put back ({reason}); write `{value}` to it",
        file.display()
    )]
    Setting {
        /// The setting's file.
        file: PathBuf,
        /// What stood there.
        value: String,
        /// What the system answered.
        reason: String,
    },
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ended {
    /// Its number in the store.
    pub run: RunId,
    /// Whether all was measured, or it was interrupted.
    pub state: RunState,
    /// Points that were skipped because the machine lacks something.
    pub skipped: usize,
    /// Points that failed.
    pub failed: usize,
}

/// The laboratory on this machine.
pub struct Lab<'a> {
    /// All paths.
    pub registry: &'a Registry,
    /// How this program is started as an agent.
    pub own: Executable,
    /// The processors for the plans' core slots.
    pub cpus: Vec<u32>,
    /// Ticks per second of the run's clock.
    pub hz: f64,
    /// The machine's id.
    pub machine: String,
    /// The machine in full.
    pub fingerprint: serde_json::Value,
    /// The command line, for the record.
    pub argv: Vec<String>,
    /// The program's version, for the record.
    pub version: String,
    /// Set from outside (Ctrl-C) to end after the running trial.
    pub interrupted: &'a AtomicBool,
}

/// A point of one side, in the store.
struct Entry {
    id: PointId,
    /// Index of the point, the same for all sides.
    point: usize,
    /// Index of the side.
    side: usize,
    batch: Option<u32>,
    steps: u32,
    state: PointState,
    failures: u32,
}

/// A run under way.
struct Session<'s> {
    lab: &'s Lab<'s>,
    store: &'s mut Store,
    progress: &'s mut dyn Progress,
    run: RunId,
    request: Request,
    sides: Vec<Side>,
    points: Vec<Point>,
    entries: Vec<Entry>,
    done: BTreeSet<TrialMark>,
    watch: Watch,
}

impl Lab<'_> {
    /// What the request would do, without doing it.
    pub fn estimate(&self, request: &Request) -> Result<Estimate, LabError> {
        let points = point::points(self.registry, &request.selection)?;
        let sides = request.sides.len().max(1);
        let mut estimate = Estimate { points: Vec::new(), trials: 0, seconds: 0.0 };
        for point in &points {
            let missing = lacking(point);
            let trials =
                if missing.is_some() { 0 } else { point.spec.runs * point.spec.repeats * sides as u32 };
            if missing.is_none() {
                estimate.trials += u64::from(trials) + 1;
                estimate.seconds += timing::seconds(&point.spec, sides);
            }
            estimate.points.push(Forecasted {
                title: point.title(),
                path: point.path.clone(),
                variant: point.variant.clone(),
                trials,
                missing,
            });
        }
        Ok(estimate)
    }

    /// Runs the request into the store.
    pub fn run(
        &self,
        store: &mut Store,
        request: &Request,
        progress: &mut dyn Progress,
    ) -> Result<Ended, LabError> {
        restore::abandoned(store)?;
        let points = point::points(self.registry, &request.selection)?;
        let before = standing(&request.sides)?;
        let script = Script { request: request.clone(), before };
        let run = store.begin_run(&RunSpec {
            started: Timestamp::now(),
            title: request.title.clone(),
            argv: self.argv.clone(),
            version: self.version.clone(),
            seed: request.seed,
            machine: self.machine.clone(),
            hz: self.hz,
            sides: request.sides.iter().map(|s| s.label.clone()).collect(),
            fingerprint: self.fingerprint.clone(),
            plan: serde_json::to_value(&script).map_err(|e| Error::system("writing the run's plan", e))?,
        })?;
        let sides = sides_of(request);
        let mut specs = Vec::new();
        for point in &points {
            for side in &sides {
                specs.push(spec_of(
                    point,
                    self.registry,
                    (!request.sides.is_empty()).then_some(&side.label),
                )?);
            }
        }
        let ids = store.add_points(run, &specs)?;
        let entries = ids
            .into_iter()
            .enumerate()
            .map(|(i, id)| Entry {
                id,
                point: i / sides.len(),
                side: i % sides.len(),
                batch: None,
                steps: 0,
                state: PointState::Pending,
                failures: 0,
            })
            .collect();
        let request = request.clone();
        Session {
            lab: self,
            store,
            progress,
            run,
            request,
            sides,
            points,
            entries,
            done: BTreeSet::new(),
            watch: Watch::begin(Duration::ZERO),
        }
        .go()
    }

    /// Goes on with the newest run that did not end.
    pub fn resume(&self, store: &mut Store, progress: &mut dyn Progress) -> Result<Ended, LabError> {
        restore::abandoned(store)?;
        let refuse = |reason: String, remedy: &str| LabError::NoResume { reason, remedy: remedy.into() };
        let Some(left) = store.unfinished(None)? else {
            return Err(refuse("no run of this store is unfinished".into(), "start one without --resume"));
        };
        let run = left.run.id;
        if left.run.state == RunState::Running && restore::alive(left.run.pid) {
            return Err(refuse(
                format!("run {run} is being measured by process {}", left.run.pid),
                "wait for it to end",
            ));
        }
        if left.run.spec.machine != self.machine {
            return Err(refuse(
                format!("run {run} was begun on another machine, or under another kernel"),
                "start a new run: figures of two machines do not mix",
            ));
        }
        let script: Script = serde_json::from_value(left.run.spec.plan.clone())
            .map_err(|e| refuse(format!("the plan of run {run} cannot be read ({e})"), "start a new run"))?;
        let points = point::points(self.registry, &script.request.selection)?;
        let sides = sides_of(&script.request);
        if left.points.len() != points.len() * sides.len() {
            return Err(refuse(
                format!("run {run} was begun by a program with other paths"),
                "start a new run, or go on with that program",
            ));
        }
        store.reopen_run(run)?;
        let entries = left
            .points
            .iter()
            .enumerate()
            .map(|(i, p)| Entry {
                id: p.id,
                point: i / sides.len(),
                side: i % sides.len(),
                batch: p.batch,
                steps: 0,
                state: p.state.clone(),
                failures: 0,
            })
            .collect();
        let request = script.request;
        Session {
            lab: self,
            store,
            progress,
            run,
            request,
            sides,
            points,
            entries,
            done: left.trials,
            watch: Watch::begin(Duration::ZERO),
        }
        .go()
    }
}

impl Session<'_> {
    fn go(mut self) -> Result<Ended, LabError> {
        let result = self.stages();
        let state = match &result {
            Ok(true) => RunState::Complete,
            Ok(false) => RunState::Interrupted,
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
        self.skip_what_is_lacking()?;
        let pending: Vec<usize> = (0..self.points.len()).filter(|p| self.is_pending(*p)).collect();
        let sides = self.sides.len();
        let trials: u64 = pending
            .iter()
            .map(|p| u64::from(self.points[*p].spec.runs * self.points[*p].spec.repeats) * sides as u64 + 1)
            .sum::<u64>()
            - self.done.len() as u64;
        let seconds = pending.iter().map(|p| timing::seconds(&self.points[*p].spec, sides)).sum();
        self.progress.planned(trials, seconds);
        let (first, last): (Vec<usize>, Vec<usize>) =
            (0..self.points.len()).partition(|p| self.points[*p].plan.needs.is_empty());
        self.progress.stage("pilots");
        if !self.pilots()? {
            return Ok(false);
        }
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
        Ok(true)
    }

    fn is_pending(&self, point: usize) -> bool {
        self.entries.iter().any(|e| e.point == point && e.state == PointState::Pending)
    }

    fn skip_what_is_lacking(&mut self) -> Result<(), LabError> {
        for point in 0..self.points.len() {
            if self.is_pending(point)
                && let Some(missing) = lacking(&self.points[point])
            {
                self.progress.skipped(&self.points[point].title(), &missing, 0);
                self.settle(point, &PointState::Skipped(missing))?;
            }
        }
        Ok(())
    }

    /// Sets the state of a point on all sides.
    fn settle(&mut self, point: usize, state: &PointState) -> Result<(), LabError> {
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

    fn pilots(&mut self) -> Result<bool, LabError> {
        let side = self.sides[0].clone();
        let executable = side.executable(&self.lab.own);
        let mut crew = Crew::new(&executable, &self.lab.cpus, self.lab.hz);
        let planting = self.sides.iter().any(|s| s.planted > 0.0);
        let ticks_per_step = if planting { pilot::ticks_per_step() } else { 1.0 };
        for point in 0..self.points.len() {
            if self.lab.interrupted.load(Ordering::Relaxed) {
                return Ok(false);
            }
            let has_batch = self.entries.iter().any(|e| e.point == point && e.batch.is_some());
            if !self.is_pending(point) || (has_batch && !planting) {
                continue;
            }
            let subject = self.points[point].clone();
            self.progress.playing(&subject.title());
            let job = job(&subject, 0, 0);
            let outcome = {
                let _applied = Applied::apply(&side.settings)?;
                pilot::play(&mut crew, &job).or_else(|e| match e {
                    Error::Tenant { .. } => pilot::play(&mut crew, &job),
                    e => Err(e),
                })
            };
            match outcome {
                Ok(outcome) => {
                    let sample =
                        outcome.spread.quantile(0.5).unwrap_or_default() * f64::from(outcome.spread.batch);
                    for entry in self.entries.iter_mut().filter(|e| e.point == point) {
                        let batch = *entry.batch.get_or_insert(outcome.spread.batch);
                        self.store.set_batch(entry.id, batch)?;
                        entry.steps = pilot::steps(self.sides[entry.side].planted, sample, ticks_per_step);
                    }
                    self.progress.played();
                }
                Err(error) => {
                    let trials =
                        u64::from(subject.spec.runs * subject.spec.repeats) * self.sides.len() as u64;
                    self.give_up(point, &error, trials + 1)?;
                }
            }
        }
        Ok(true)
    }

    /// Plays all trials of these points, block by block; false where it was interrupted.
    fn play_all(&mut self, which: &[usize], ordinal: &mut u32) -> Result<bool, LabError> {
        let blocks = which.iter().map(|p| self.points[*p].spec.runs).max().unwrap_or(0);
        let executables: Vec<Executable> = self.sides.iter().map(|s| s.executable(&self.lab.own)).collect();
        for block in 0..blocks {
            let in_block: Vec<(usize, u32)> = which
                .iter()
                .filter(|p| block < self.points[**p].spec.runs)
                .map(|p| (*p, self.points[*p].spec.repeats))
                .collect();
            let mut crews: Vec<Crew<'_>> =
                executables.iter().map(|e| Crew::new(e, &self.lab.cpus, self.lab.hz)).collect();
            for slot in order::block(self.request.seed, block, &in_block, self.sides.len()) {
                let place = *ordinal;
                *ordinal += 1;
                if self.lab.interrupted.load(Ordering::Relaxed) {
                    return Ok(false);
                }
                self.play_one(slot, place, &mut crews)?;
            }
        }
        for point in which {
            if self.is_pending(*point) {
                self.settle(*point, &PointState::Done)?;
            }
        }
        Ok(true)
    }

    fn play_one(&mut self, slot: Slot, ordinal: u32, crews: &mut [Crew<'_>]) -> Result<(), LabError> {
        let Some(at) = self.entries.iter().position(|e| e.point == slot.point && e.side == slot.side) else {
            return Ok(());
        };
        let entry = &self.entries[at];
        let mark = TrialMark { point: entry.id, block: slot.block, ordinal };
        if entry.state != PointState::Pending || self.done.contains(&mark) {
            return Ok(());
        }
        let (id, batch, steps) = (entry.id, entry.batch.unwrap_or(0), entry.steps);
        let point = self.points[slot.point].clone();
        self.progress.playing(&point.title());
        let started = Timestamp::now();
        let outcome = {
            let _applied = Applied::apply(&self.sides[slot.side].settings)?;
            let job = job(&point, batch, steps);
            // A tenant that died may have been unlucky: it gets a second chance, a wrong result does not.
            crews[slot.side].play(&job).or_else(|e| match e {
                Error::Tenant { .. } => crews[slot.side].play(&job),
                e => Err(e),
            })
        };
        match outcome {
            Ok(outcome) => {
                let agents = crews.iter().map(Crew::processor_time).sum();
                let trial = self.trial(&outcome, agents, slot.block, ordinal, started, &point)?;
                self.store.record_trial(id, &trial)?;
                self.progress.played();
                Ok(())
            }
            Err(error) => {
                self.entries[at].failures += 1;
                let left = u64::from((point.spec.runs - slot.block) * point.spec.repeats);
                self.give_up(slot.point, &error, left * self.sides.len() as u64)
            }
        }
    }

    fn trial(
        &mut self,
        outcome: &Outcome,
        agents: Duration,
        block: u32,
        ordinal: u32,
        started: Timestamp,
        point: &Point,
    ) -> Result<NewTrial, LabError> {
        let window = point.spec.window_ms / 1e3 * self.lab.hz;
        let gaps = outcome.gaps(self.lab.hz);
        let noise = self.watch.after_trial(agents, gaps);
        let mut cpu_ns = BTreeMap::new();
        for (role, ran) in &outcome.roles {
            *cpu_ns.entry(role.clone()).or_insert(0) += ran.cpu_ns;
        }
        Ok(NewTrial {
            block,
            ordinal,
            started,
            spread: outcome.spread.clone(),
            noise,
            tally: outcome.tally.clone(),
            meters: serde_json::to_value(&outcome.meters)
                .map_err(|e| Error::system("writing counters", e))?,
            lost_ticks: gaps.share().unwrap_or_default() * window,
            cpu_ns,
        })
    }

    /// Freezes the predictions of these points, made from the tolls of this run, else of this machine.
    fn predict(&mut self, which: &[usize]) -> Result<(), LabError> {
        let week = jiff::SignedDuration::from_hours(24 * 7);
        let tolls = self
            .store
            .tolls_of_run(self.run)?
            .or(self.store.tolls(&self.lab.machine, Timestamp::now() - week)?);
        for at in 0..self.entries.len() {
            let entry = &self.entries[at];
            if !which.contains(&entry.point) || entry.state != PointState::Pending {
                continue;
            }
            let (id, point) = (entry.id, &self.points[entry.point]);
            if self.store.prediction(id)?.is_some() {
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

fn job(point: &Point, batch: u32, planted: u32) -> Job<'_> {
    Job {
        path: &point.path,
        variant: &point.variant,
        params: &point.params,
        plan: &point.plan,
        spec: &point.spec,
        batch,
        planted,
    }
}

/// The first thing that a point needs and this machine lacks.
fn lacking(point: &Point) -> Option<Missing> {
    point.plan.requires.iter().find_map(|r| requirement::check(r).err())
}

/// The sides of a request: where nothing is compared, the program as it is.
fn sides_of(request: &Request) -> Vec<Side> {
    if request.sides.is_empty() { vec![Side::as_it_is("")] } else { request.sides.clone() }
}

/// What stands in the settings that the sides change.
fn standing(sides: &[Side]) -> Result<Vec<Setting>, Error> {
    sides.iter().flat_map(|s| &s.settings).map(Setting::standing).collect()
}

fn spec_of(point: &Point, registry: &Registry, side: Option<&String>) -> Result<PointSpec, Error> {
    let variant = point.variant(registry)?;
    Ok(PointSpec {
        side: side.cloned(),
        path: point.path.clone(),
        variant: point.variant.clone(),
        params: point.params.clone(),
        operation: point.plan.operation.clone(),
        toll: point.plan.provides.clone(),
        boundary: point.plan.provides.as_ref().map(|k| k.crossing.boundary()),
        title: point.title(),
        caveats: variant.caveats().into(),
    })
}
