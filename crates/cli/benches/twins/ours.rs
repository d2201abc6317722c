//! Our side: a trial as every run of Tollway plays it, from processes started for it alone.

use anyhow::{Context, Result};
use tollway_core::{Error, Params, Plan, Registry, TrialSpec};
use tollway_host::{clock, requirement};
use tollway_lab::crew::{Crew, GRACE, Job};
use tollway_lab::guests::Guests;
use tollway_tenant::Executable;

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
        let (_, plan) = self.point(figure)?;
        plan.requires.iter().try_for_each(|r| requirement::check(r).map_err(|m| Error::Missing(m).into()))
    }

    /// The median of one trial of the figure, in ticks per operation.
    pub fn play(&self, figure: &Figure) -> Result<f64> {
        let (params, plan) = self.point(figure)?;
        let outcome = Crew::new(&self.executable, self.cpus, self.hz, GRACE).play(
            &Job {
                path: figure.path,
                variant: figure.variant,
                params: &params,
                plan: &plan,
                spec: &SPEC,
                batch: 0,
                planted: 0,
                seed: 0,
            },
            &mut Guests::default(),
        )?;
        outcome.spread.quantile(0.5).context("the trial recorded nothing")
    }

    fn point(&self, figure: &Figure) -> Result<(Params, Plan)> {
        let variant = self.registry.path(figure.path)?.variant(figure.variant)?;
        let mut params = Params::new();
        for (axis, value) in figure.at {
            match *value {
                At::Word(word) => params.set(*axis, word),
                At::Whole(n) => params.set(*axis, n),
            }
        }
        let params = params.complete(&variant.axes())?;
        let plan = variant.plan(&params)?;
        Ok((params, plan))
    }
}
