//! Our side: a trial as every run of Tollway plays it, from processes started for it alone.

use std::time::Duration;

use anyhow::{Context, Result};
use tollway_core::{Error, GuestFacts, Params, Plan, Registry, TrialSpec};
use tollway_host::clock;
use tollway_lab::crew::{Crew, GRACE, Job, Outcome};
use tollway_lab::guests::Guests;
use tollway_tenant::{Executable, Target};

use crate::figures::{At, Figure};

/// The window: as long as a twin takes on short operations.
const SPEC: TrialSpec = TrialSpec { window_ms: 30.0, warmup_ms: 3.0, runs: 1, repeats: 1 };

/// What trials are played with.
pub struct Ours<'a> {
    registry: Registry,
    executable: Executable,
    cpus: &'a [u32],
    hz: f64,
}

/// A point of a path.
pub struct Point {
    path: &'static str,
    variant: &'static str,
    params: Params,
    plan: Plan,
}

impl Point {
    /// Whether this machine has all that it needs.
    pub fn check(&self) -> Result<()> {
        let mut needs = self.plan.requires.iter();
        needs.try_for_each(|need| tollway_tenant::check(need).map_err(|m| Error::Missing(m).into()))
    }
}

impl<'a> Ours<'a> {
    /// Agents of the program that was built with this benchmark, on these processors.
    pub fn new(cpus: &'a [u32]) -> Self {
        Ours {
            registry: tollway_all::registry(),
            executable: Executable {
                program: env!("CARGO_BIN_EXE_tollway").into(),
                arguments: vec!["agent".into()],
                environment: Vec::new(),
            },
            cpus,
            hz: clock::calibrate().hz,
        }
    }

    /// Whether this machine has all that the figure needs.
    pub fn check(&self, figure: &Figure) -> Result<()> {
        self.point(figure.path, figure.variant, figure.at)?.check()
    }

    /// The median of one trial of the figure, in ticks per operation.
    pub fn play(&self, figure: &Figure) -> Result<f64> {
        let point = self.point(figure.path, figure.variant, figure.at)?;
        let outcome = self.trial(&point, &SPEC, &mut self.crew(), &mut Guests::default())?;
        outcome.spread.quantile(0.5).context("the trial recorded nothing")
    }

    /// A point with these axes, and all others at their default.
    pub fn point(
        &self,
        path: &'static str,
        variant: &'static str,
        at: &[(&'static str, At)],
    ) -> Result<Point> {
        let designed = self.registry.path(path)?.variant(variant)?;
        let mut params = Params::new();
        for (axis, value) in at {
            match *value {
                At::Word(word) => params.set(*axis, word),
                At::Whole(n) => params.set(*axis, n),
            }
        }
        let params = params.complete(&designed.axes())?;
        let plan = designed.plan(&params)?;
        Ok(Point { path, variant, params, plan })
    }

    /// The processes of a round.
    pub fn crew(&self) -> Crew<'_> {
        Crew::new(&Target::ThisHost, &self.executable, self.cpus, self.hz, GRACE)
    }

    /// The Linux guests of a round: none yet.
    pub fn guests(&self) -> Guests {
        Guests::new(GuestFacts::default(), tollway_agent::BUILD.into())
    }

    /// One trial of a point.
    pub fn trial(
        &self,
        point: &Point,
        spec: &TrialSpec,
        crew: &mut Crew<'_>,
        guests: &mut Guests,
    ) -> Result<Outcome> {
        let Point { path, variant, params, plan } = point;
        let job = Job {
            path,
            variant,
            params,
            plan,
            spec,
            patience: Duration::ZERO,
            batch: 0,
            planted: 0,
            seed: 0,
        };
        Ok(crew.play(&job, guests)?)
    }

    /// So many ticks, in seconds.
    pub fn seconds(&self, ticks: f64) -> f64 {
        ticks / self.hz
    }
}
