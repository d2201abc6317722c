//! Nothing, many times between two stamps: what the loop around an operation costs.

use tollway_core::{
    Actor, Address, Crossing, Error, Params, Place, Plan, Recorder, Result, Tally, Variant, Window,
};
use tollway_host::clock::RunClock;
use tollway_load::repeat;

/// The harness in a batch.
pub struct Batched;

impl Variant for Batched {
    fn name(&self) -> &str {
        "batched"
    }

    fn about(&self) -> &str {
        "nothing, repeated in batches: the floor under every batched figure"
    }

    fn plan(&self, _: &Params) -> Result<Plan> {
        Ok(super::plan(Crossing::EmptyLoop))
    }

    fn actor(&self, _: &str, _: &Params) -> Result<Box<dyn Actor>> {
        Ok(Box::new(Idler { done: 0 }))
    }
}

struct Idler {
    done: u64,
}

impl Actor for Idler {
    fn ready(&mut self, _: &Place) -> Result<Address> {
        Ok(Address::none())
    }

    fn run(&mut self, window: &Window, recorder: &mut Recorder) -> Result<()> {
        self.done = repeat(RunClock::chosen(), window, recorder, &mut || {});
        Ok(())
    }

    fn verify(&mut self) -> Result<()> {
        if self.done > 0 { Ok(()) } else { Err(Error::Wrong("the loop never ran".into())) }
    }

    fn tally(&mut self) -> Tally {
        Tally::default().counter("operations", self.done)
    }
}
