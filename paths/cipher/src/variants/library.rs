//! `library`: the cipher called in the program itself, what every other way is held against.

use tollway_core::{Actor, Axis, Error, Params, Plan, Result, Variant};
use vm_memory::VolatileSlice;

use super::caller::{self, Called, Caller};
use super::load::Load;
use super::texts::Texts;
use crate::engine::suite::{Job, Session};
use crate::params;

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
        Ok(caller::plan("request", None))
    }

    fn actor(&self, _: &str, params: &Params) -> Result<Box<dyn Actor>> {
        let load = Load::of(&params.clone().with("depth", 1))?;
        let refused = |status| Error::Wrong(format!("the library refuses {}: {status:?}", load.named.name));
        let session = Session::new(load.named.algorithm, load.key()).map_err(refused)?;
        let (source, result) = (vec![0; load.size], vec![0; load.result()]);
        Ok(Caller::of(Ciphering { texts: Texts::of(&load)?, load, session, source, result, wrong: 0 }))
    }
}

struct Ciphering {
    load: Load,
    texts: Texts,
    session: Session,
    source: Vec<u8>,
    result: Vec<u8>,
    wrong: u64,
}

impl Called for Ciphering {
    #[inline]
    fn once(&mut self, turn: usize) {
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

    fn wrong(&self) -> u64 {
        self.wrong
    }
}
