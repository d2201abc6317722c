//! Nothing, over and over: many times between two stamps, or once.

use tollway_core::{
    Actor, Address, Crossing, Error, Gate, Params, Place, Plan, Recorder, Result, Role, Tally, TollKey,
    Variant, Window,
};
use tollway_host::clock::RunClock;
use tollway_load::repeat;

/// One actor that does nothing.
pub struct Nothing {
    name: &'static str,
    about: &'static str,
    crossing: Crossing,
    /// Operations between two stamps; 0 has them found.
    batch: u32,
}

impl Nothing {
    /// In batches: what the loop around an operation costs.
    pub const BATCHED: Nothing = Nothing {
        name: "batched",
        about: "nothing, repeated in batches: the floor under every batched figure",
        crossing: Crossing::EmptyLoop,
        batch: 0,
    };

    /// One by one: what stamping an operation on its own costs.
    pub const STAMPED: Nothing = Nothing {
        name: "stamped",
        about: "nothing, stamped one by one: the floor under every stamped figure",
        crossing: Crossing::EmptyStamp,
        batch: 1,
    };
}

impl Variant for Nothing {
    fn name(&self) -> &str {
        self.name
    }

    fn about(&self) -> &str {
        self.about
    }

    fn plan(&self, _: &Params) -> Result<Plan> {
        let key = TollKey::of(self.crossing);
        Ok(Plan {
            operation: "nothing".into(),
            roles: vec![Role::measured("idler")],
            gates: vec![Gate::new(self.name, "idler", key.clone())],
            provides: Some(key),
            needs: Vec::new(),
            requires: Vec::new(),
            guests: Vec::new(),
        })
    }

    fn actor(&self, _: &str, _: &Params) -> Result<Box<dyn Actor>> {
        Ok(Box::new(Idler { batch: self.batch, done: 0 }))
    }
}

struct Idler {
    batch: u32,
    done: u64,
}

impl Actor for Idler {
    fn ready(&mut self, _: &Place) -> Result<Address> {
        Ok(Address::none())
    }

    fn run(&mut self, window: &Window, recorder: &mut Recorder) -> Result<()> {
        let window = Window { batch: if self.batch > 0 { self.batch } else { window.batch }, ..*window };
        self.done = repeat(RunClock::chosen(), &window, recorder, &mut || {});
        Ok(())
    }

    fn verify(&mut self) -> Result<()> {
        if self.done > 0 { Ok(()) } else { Err(Error::Wrong("the loop never ran".into())) }
    }

    fn tally(&mut self) -> Tally {
        Tally::default().counter("operations", self.done)
    }
}
