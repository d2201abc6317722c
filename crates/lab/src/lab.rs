//! The laboratory of a machine: what a request would do, beginning a run, and going on with one.

use std::collections::BTreeSet;
use std::fmt;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use jiff::Timestamp;
use tollway_core::{Error, Missing, Registry};
use tollway_host::steadiness::Steadiness;
use tollway_store::{PointSpec, RunId, RunSpec, RunState, Store, StoreError, TrialMark};
use tollway_tenant::{Executable, Target};

use crate::footprint::{self, Footprint};
use crate::guests::Guests;
use crate::noise::Watch;
use crate::paces::Paces;
use crate::point::Point;
use crate::progress::Progress;
use crate::restore;
use crate::script::{Request, Script};
use crate::session::{Entry, Session};
use crate::side::{Setting, Side};
use crate::spending::Spending;
use crate::steady;
use crate::timing::{self, Estimate, Forecasted, Part};

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

/// The laboratory of a machine: this one, or another host.
pub struct Lab<'a> {
    /// All paths.
    pub registry: &'a Registry,
    /// The machine that is measured; what follows of processors, clock and fingerprint is of that one.
    pub target: Target,
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
    /// Of which sources this program's agents are built; those in Linux guests must be of the same.
    pub build: String,
    /// Set from outside (Ctrl-C) to end after the running trial.
    pub interrupted: &'a AtomicBool,
    /// How long an actor may take beyond its window, or for a command that has none, before its process is ended:
    /// [`crew::GRACE`](crate::crew::GRACE) where nobody knows better.
    pub grace: Duration,
}

impl fmt::Debug for Lab<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lab")
            .field("target", &self.target)
            .field("machine", &self.machine)
            .finish_non_exhaustive()
    }
}

impl Lab<'_> {
    /// What the request would do, without doing it.
    pub fn estimate(&self, request: &Request) -> Result<Estimate, LabError> {
        let points = request.points(self.registry)?;
        let sides = request.sides.len().max(1);
        let can_run = points.iter().filter(|point| self.lacking(point).is_none());
        let can_run: Vec<&Point> = can_run.collect();
        let parts: Vec<_> =
            can_run.iter().map(|point| Part::whole(point, point.spec.clone(), sides)).collect();
        let seconds = timing::seconds(&parts, sides);
        let shares = timing::shares(request.within, &request.selection.presets, &can_run, sides);
        let footprint = Footprint::of(&request.sides, can_run.iter().map(|point| &point.plan));
        let mut estimate = Estimate { points: Vec::new(), shares, trials: 0, seconds, footprint };
        for point in &points {
            let missing = self.lacking(point);
            let trials =
                if missing.is_some() { 0 } else { point.spec.runs * point.spec.repeats * sides as u32 };
            if missing.is_none() {
                estimate.trials += u64::from(trials) + 1;
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
        restore::abandoned(store, &self.machine)?;
        restore::files();
        let points = request.points(self.registry)?;
        let specs = specs(&points, self.registry, request)?;
        self.refuse_elsewhere(request)?;
        self.check_sides(request)?;
        let found = self.target.is_here().then(steady::check);
        found.iter().for_each(|found| progress.checked(found));
        self.sides_start(request)?;
        let before = standing(&request.sides)?;
        let script = Script { request: request.clone(), before, elsewhere: !self.target.is_here() };
        let run = store.begin_run(&RunSpec {
            started: Timestamp::now(),
            title: request.title.clone(),
            argv: self.argv.clone(),
            version: self.version.clone(),
            seed: request.seed,
            machine: self.machine.clone(),
            hz: self.hz,
            sides: request.sides.iter().map(|s| s.label.clone()).collect(),
            fingerprint: steady::noted(self.fingerprint.clone(), found.as_ref()),
            plan: serde_json::to_value(&script).map_err(|e| Error::system("writing the run's plan", e))?,
        })?;
        store.add_points(run, &specs)?;
        let stored = store.points(run)?;
        self.session(store, progress, run, request.clone(), points, &stored, BTreeSet::new(), found.as_ref())?
            .go()
    }

    /// Goes on with the newest run that did not end.
    pub fn resume(&self, store: &mut Store, progress: &mut dyn Progress) -> Result<Ended, LabError> {
        restore::abandoned(store, &self.machine)?;
        restore::files();
        let refuse = |reason: String, remedy: &str| LabError::NoResume { reason, remedy: remedy.into() };
        let Some(left) = store.unfinished(None)? else {
            return Err(refuse("no run of this store is unfinished".into(), "start one without --resume"));
        };
        let run = left.run.id;
        if left.run.is_measured() {
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
        if script.elsewhere == self.target.is_here() {
            return Err(refuse(
                format!(
                    "run {run} was begun {} this machine",
                    if script.elsewhere { "on another host than" } else { "on" }
                ),
                "go on with --on as it was begun, or start a new run",
            ));
        }
        let points = script.request.points(self.registry)?;
        let specs = specs(&points, self.registry, &script.request)?;
        let found = self.target.is_here().then(steady::check);
        found.iter().for_each(|found| progress.checked(found));
        self.check_sides(&script.request)?;
        self.sides_start(&script.request)?;
        store.reopen_run(run)?;
        let mut stored = left.points;
        if stored.is_empty() {
            // It was killed between its beginning and its points.
            store.add_points(run, &specs)?;
            stored = store.points(run)?;
        }
        let same = |(stored, now): (&PointSpec, &PointSpec)| {
            (&stored.path, &stored.variant, &stored.params, &stored.side)
                == (&now.path, &now.variant, &now.params, &now.side)
        };
        if stored.len() != specs.len() || !stored.iter().map(|p| &p.spec).zip(&specs).all(same) {
            store.end_run(run, RunState::Interrupted, Timestamp::now())?;
            return Err(refuse(
                format!(
                    "run {run} was begun by a program with other paths, or a file that it reads has changed"
                ),
                "start a new run, or go on with that program and that file",
            ));
        }
        self.session(store, progress, run, script.request, points, &stored, left.trials, found.as_ref())?.go()
    }

    /// Refuses sides that another host cannot have: it has one program, and nobody would put back what was set there.
    fn refuse_elsewhere(&self, request: &Request) -> Result<(), Error> {
        let here_only = |side: &&Side| side.program.is_some() || !side.settings.is_empty();
        match request.sides.iter().find(here_only) {
            Some(side) if !self.target.is_here() => Err(Error::Input {
                place: format!("side {} on another host", side.label),
                reason: "another program, or settings of the host, can only be had on this machine".into(),
                remedy: "run tollway on that host".into(),
            }),
            _ => Ok(()),
        }
    }

    /// Refuses sides whose settings this process may not write: whoever opens a store for the run asks
    /// before.
    ///
    /// # Errors
    /// [`Error::Missing`] with what would help.
    pub fn check_sides(&self, request: &Request) -> Result<(), Error> {
        footprint::check_sides(&request.sides)
    }

    /// Starts an agent of each side once: one that is no agent, or reads another clock, is told before a run begins.
    fn sides_start(&self, request: &Request) -> Result<(), LabError> {
        for side in sides_of(request) {
            self.target.start(&side.executable(&self.own))?;
        }
        Ok(())
    }

    /// The first thing that a point needs and the machine lacks.
    pub(crate) fn lacking(&self, point: &Point) -> Option<Missing> {
        point.plan.requires.iter().find_map(|requirement| self.target.check(requirement).err())
    }

    /// A session over the points of a run as they stand in the store.
    #[allow(clippy::too_many_arguments)]
    fn session<'s>(
        &'s self,
        store: &'s mut Store,
        progress: &'s mut dyn Progress,
        run: RunId,
        request: Request,
        points: Vec<Point>,
        stored: &[tollway_store::Point],
        done: BTreeSet<TrialMark>,
        found: Option<&Steadiness>,
    ) -> Result<Session<'s>, LabError> {
        let sides = sides_of(&request);
        let entries = stored
            .iter()
            .enumerate()
            .map(|(i, p)| Entry {
                id: p.id,
                point: i / sides.len(),
                side: i % sides.len(),
                batch: p.batch,
                steps: 0,
                state: p.state.clone(),
            })
            .collect();
        let watch = Watch::begin(&self.target)?;
        let overheads = vec![timing::overhead(); points.len()];
        let until = vec![u32::MAX; points.len()];
        let mut spending = Spending::begin(&request);
        for point in stored.iter().enumerate().flat_map(|(i, stored)| {
            let trials = done.iter().filter(|mark| mark.point == stored.id);
            let point = &points[i / sides.len()];
            trials.map(move |_| point)
        }) {
            let took = (point.spec.window_ms + point.spec.warmup_ms) / 1e3 + timing::overhead();
            spending.iter_mut().for_each(|spending| spending.charge_earlier(point.preset, took));
        }
        let noted = store.run(run)?.guests;
        let guests = Guests::new(noted.clone(), self.build.clone());
        Ok(Session {
            lab: self,
            store,
            progress,
            run,
            request,
            sides,
            points,
            until,
            spending,
            overheads,
            entries,
            done,
            watch,
            paces: Paces::since(found),
            guests,
            noted,
        })
    }
}

/// The sides of a request: where nothing is compared, the program as it is.
fn sides_of(request: &Request) -> Vec<Side> {
    if request.sides.is_empty() { vec![Side::as_it_is("")] } else { request.sides.clone() }
}

/// What stands in the settings that the sides change.
fn standing(sides: &[Side]) -> Result<Vec<Setting>, Error> {
    sides.iter().flat_map(|s| &s.settings).map(Setting::standing).collect()
}

/// What the store is to know of each point on each side, in the order of both.
fn specs(points: &[Point], registry: &Registry, request: &Request) -> Result<Vec<PointSpec>, Error> {
    for side in &request.sides {
        refuse_foreign_axes(side, points, registry)?;
    }
    let mut specs = Vec::new();
    for point in points {
        for side in sides_of(request) {
            let label = (!request.sides.is_empty()).then_some(&side.label);
            specs.push(spec_of(&point.on(&side, registry)?, registry, label)?);
        }
    }
    Ok(specs)
}

/// Refuses a side that sets an axis that no point has: it would be compared with itself.
fn refuse_foreign_axes(side: &Side, points: &[Point], registry: &Registry) -> Result<(), Error> {
    for (name, _) in side.axes.iter() {
        let mut known = false;
        for point in points {
            known |= point.variant(registry)?.axes().iter().any(|axis| axis.name == name);
        }
        if !known {
            return Err(Error::Input {
                place: format!("side {}, axis `{name}`", side.label),
                reason: "no point that is compared has such an axis".into(),
                remedy: "`tollway list PATH` shows the axes of its variants".into(),
            });
        }
    }
    Ok(())
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
        boundary: point.plan.provides.as_ref().map(|k| k.boundary()),
        gates: point.plan.gates.clone(),
        changes: variant.changes().map(Into::into),
        yields: variant.yields(&point.params),
        headline: point.headline,
        title: point.title(),
        caveats: variant.caveats().into(),
    })
}
