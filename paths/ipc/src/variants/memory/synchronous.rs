//! Memory taken and given back by calls that are made: one after the other.

use tollway_core::{
    Actor, Address, Axis, Forecast, Gate, Params, Place, Plan, Recorder, Result, Role, Spread, Tally,
    TollSource, Variant, Window,
};
use tollway_host::clock::RunClock;
use tollway_load::wait_until;

use super::CALLER;
use crate::engine::memory::{Memory, calls, lasted};
use crate::engine::ping_pong::Outcome;
use crate::tolls;
use crate::variants::client::verified;
use crate::variants::counted::Before;
use crate::variants::course::{Course, timed};
use crate::{params, predict};

/// madvise(2).
pub(super) struct Synchronous;

impl Variant for Synchronous {
    fn name(&self) -> &str {
        "memory-sync"
    }

    fn about(&self) -> &str {
        "memory taken and given back by synchronous calls (madvise), one after the other"
    }

    fn caveats(&self) -> &str {
        "Calls take pages (MADV_POPULATE_WRITE) and give them back (MADV_DONTNEED) in turns: the figure is the mean of both. Looking at the first word of each \
         page, and writing to it, is in it; a page fault is not."
    }

    fn axes(&self) -> Vec<Axis> {
        vec![params::pages()]
    }

    fn plan(&self, params: &Params) -> Result<Plan> {
        Ok(Plan {
            operation: "call".into(),
            roles: vec![Role::measured(CALLER)],
            gates: vec![Gate::new("call", CALLER, tolls::pages(params::bytes(params)?))],
            provides: None,
            needs: vec![tolls::pages(params::bytes(params)?)],
            requires: Vec::new(),
            guests: Vec::new(),
        })
    }

    fn predict(&self, params: &Params, tolls: &dyn TollSource) -> Option<Result<Forecast>> {
        Some(params::bytes(params).and_then(|bytes| predict::of_the_call(&tolls::pages(bytes), tolls)))
    }

    fn actor(&self, _: &str, params: &Params) -> Result<Box<dyn Actor>> {
        let memory = Memory::new(1, params::bytes(params)?)?;
        Ok(Box::new(Caller {
            memory,
            outcome: Outcome::default(),
            latencies: Spread::default(),
            tally: Tally::default(),
        }))
    }
}

struct Caller {
    memory: Memory,
    outcome: Outcome,
    latencies: Spread,
    tally: Tally,
}

impl Actor for Caller {
    fn ready(&mut self, _: &Place) -> Result<Address> {
        let memory = &self.memory;
        memory.proves(|part, advice| calls::advise(memory, part, advice))?;
        Ok(Address::none())
    }

    fn run(&mut self, window: &Window, recorder: &mut Recorder) -> Result<()> {
        let clock = RunClock::chosen();
        wait_until(clock, window.warm);
        let before = Before::now();
        let mut course = Course::new(clock, window, recorder, 1, 1);
        self.outcome = calls::ask(&self.memory, &mut course);
        self.latencies = course.latencies().spread();
        self.tally = before.since().counted(Tally::default(), CALLER);
        lasted(&self.outcome)
    }

    fn verify(&mut self) -> Result<()> {
        verified(&self.outcome, self.outcome.asked)?;
        let memory = &self.memory;
        memory.proves(|part, advice| calls::advise(memory, part, advice))
    }

    fn tally(&mut self) -> Tally {
        let done = self.outcome.done;
        // Each call enters the kernel once.
        let tally = self.tally.clone().counter("operations", done).counter(super::ENTRIES, done);
        timed(tally, "call to result", &self.latencies)
    }
}
