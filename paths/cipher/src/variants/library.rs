//! `library`: the cipher called in the program itself, what every other way is held against.

use tollway_core::{
    Actor, Address, Axis, Error, Params, Place, Plan, Recorder, Result, Role, Tally, Variant, Window,
};
use tollway_host::clock::RunClock;
use tollway_load::{Work, repeat};
use vm_memory::VolatileSlice;

use super::load::Load;
use super::texts::Texts;
use crate::engine::suite::{Job, Session};
use crate::params;

const CALLER: &str = "caller";

/// A call of the library.
pub(super) struct Library;

impl Variant for Library {
    fn name(&self) -> &str {
        "library"
    }

    fn about(&self) -> &str {
        "no card: the program calls the library itself"
    }

    fn caveats(&self) -> &str {
        "As a tenant of the card does, it writes each request's bytes before, and reads and compares the result: both are in the \
         figure."
    }

    fn axes(&self) -> Vec<Axis> {
        vec![params::cipher(), params::size()]
    }

    fn plan(&self, params: &Params) -> Result<Plan> {
        Load::of(&params.clone().with("depth", 1))?;
        Ok(Plan {
            operation: "request".into(),
            roles: vec![Role::measured(CALLER)],
            gates: Vec::new(),
            provides: None,
            needs: Vec::new(),
            requires: Vec::new(),
            guests: Vec::new(),
        })
    }

    fn actor(&self, _: &str, params: &Params) -> Result<Box<dyn Actor>> {
        let load = Load::of(&params.clone().with("depth", 1))?;
        let refused = |status| Error::Wrong(format!("the library refuses {}: {status:?}", load.named.name));
        let session = Session::new(load.named.algorithm, load.key()).map_err(refused)?;
        let (source, result) = (vec![0; load.size], vec![0; load.result()]);
        Ok(Box::new(Caller { texts: Texts::of(&load)?, load, session, source, result, wrong: 0, done: 0 }))
    }
}

struct Caller {
    load: Load,
    texts: Texts,
    session: Session,
    source: Vec<u8>,
    result: Vec<u8>,
    wrong: u64,
    done: u64,
}

impl Work for &mut Caller {
    #[inline]
    fn once(&mut self) {
        let turn = (self.done & 1) as usize;
        self.done += 1;
        self.source.copy_from_slice(std::hint::black_box(&self.texts.sources[turn]));
        let job = Job {
            work: self.load.named.work,
            iv: self.load.iv(),
            associated: &[],
            source: &[VolatileSlice::from(self.source.as_mut_slice())],
            result: &[VolatileSlice::from(self.result.as_mut_slice())],
            digest: 0,
        };
        let done = self.session.run(&job);
        self.wrong += u64::from(done.is_err() || self.result != self.texts.results[turn]);
    }
}

impl Actor for Caller {
    fn ready(&mut self, _: &Place) -> Result<Address> {
        Ok(Address::none())
    }

    fn run(&mut self, window: &Window, recorder: &mut Recorder) -> Result<()> {
        repeat(RunClock::chosen(), window, recorder, &mut &mut *self);
        Ok(())
    }

    fn verify(&mut self) -> Result<()> {
        match (self.done, self.wrong) {
            (0, _) => Err(Error::Wrong("nothing was done".into())),
            (_, 0) => Ok(()),
            (done, wrong) => {
                Err(Error::Wrong(format!("of {done} results {wrong} were not what they had to be")))
            }
        }
    }

    fn tally(&mut self) -> Tally {
        Tally::default().counter("operations", self.done)
    }
}
