//! Nothing between two stamps: what stamping an operation on its own costs.

use tollway_core::{Actor, Address, Crossing, Error, Params, Place, Plan, Recorder, Result, Variant, Window};
use tollway_host::clock::RunClock;
use tollway_load::repeat;

/// The harness, stamping every operation.
pub struct Stamped;

impl Variant for Stamped {
    fn name(&self) -> &str {
        "stamped"
    }

    fn about(&self) -> &str {
        "nothing, stamped one by one: the floor under every stamped figure"
    }

    fn plan(&self, _: &Params) -> Result<Plan> {
        Ok(super::plan(Crossing::EmptyStamp))
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
        let stamped = Window { batch: 1, ..*window };
        self.done = repeat(RunClock::chosen(), &stamped, recorder, &mut || {});
        Ok(())
    }

    fn verify(&mut self) -> Result<()> {
        if self.done > 0 { Ok(()) } else { Err(Error::Wrong("the loop never ran".into())) }
    }
}
