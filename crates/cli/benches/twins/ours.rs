//! Our side: a trial as every run of Tollway plays it, from processes started for it alone.

use anyhow::{Context, Result};
use tollway_core::{Params, Registry, TrialSpec};
use tollway_host::clock;
use tollway_lab::crew::{Crew, Job};
use tollway_tenant::Executable;

use crate::figures::{At, Figure};
use crate::twin::too_few_cores;

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

    /// The median of one trial of the figure, in ticks per operation.
    pub fn play(&mut self, figure: &Figure) -> Result<f64> {
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
        if plan.cores() as usize > self.cpus.len() {
            return Err(too_few_cores(self.cpus).into());
        }
        let outcome = Crew::new(&self.executable, self.cpus, self.hz).play(&Job {
            path: figure.path,
            variant: figure.variant,
            params: &params,
            plan: &plan,
            spec: &SPEC,
            batch: 0,
            planted: 0,
        })?;
        outcome.spread.quantile(0.5).context("the trial recorded nothing")
    }
}
