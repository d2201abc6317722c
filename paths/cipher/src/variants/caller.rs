//! One that needs nobody else: it calls something again and again, and looks whether it was as it had to be.

use tollway_core::{
    Actor, Address, Error, Gate, Place, Plan, Recorder, Result, Role, Tally, TollKey, Window,
};
use tollway_host::clock::RunClock;
use tollway_load::{Work, repeat};

const CALLER: &str = "caller";

/// What is called.
pub(super) trait Called: Send {
    /// Calls it; `turn` is 0 and 1 in turns.
    fn once(&mut self, turn: usize);

    /// How often it was not as it had to be.
    fn wrong(&self) -> u64;
}

/// The actor.
pub(super) struct Caller<C> {
    what: C,
    done: u64,
}

impl<C: Called + 'static> Caller<C> {
    pub(super) fn of(what: C) -> Box<dyn Actor> {
        Box::new(Caller { what, done: 0 })
    }
}

/// A plan in which it is alone. Where it has a toll it is a gate by itself.
pub(super) fn plan(operation: &str, toll: Option<TollKey>) -> Plan {
    Plan {
        operation: operation.into(),
        roles: vec![Role::measured(CALLER)],
        gates: toll.iter().map(|key| Gate::new(key.crossing.name(), CALLER, key.clone())).collect(),
        provides: toll,
        needs: Vec::new(),
        requires: Vec::new(),
        guests: Vec::new(),
    }
}

impl<C: Called> Work for &mut Caller<C> {
    #[inline]
    fn once(&mut self) {
        self.what.once((self.done & 1) as usize);
        self.done += 1;
    }
}

impl<C: Called> Actor for Caller<C> {
    fn ready(&mut self, _: &Place) -> Result<Address> {
        Ok(Address::none())
    }

    fn run(&mut self, window: &Window, recorder: &mut Recorder) -> Result<()> {
        repeat(RunClock::chosen(), window, recorder, &mut &mut *self);
        Ok(())
    }

    fn verify(&mut self) -> Result<()> {
        match (self.done, self.what.wrong()) {
            (0, _) => Err(Error::Wrong("nothing was done".into())),
            (_, 0) => Ok(()),
            (done, wrong) => Err(Error::Wrong(format!("of {done} {wrong} were not what they had to be"))),
        }
    }

    fn tally(&mut self) -> Tally {
        Tally::default().counter("operations", self.done)
    }
}
