//! What a server's work costs by itself: calibrated cycles, a product of matrices, memory taken and given back.

use tollway_core::{
    Actor, Address, Axis, Crossing, Error, Gate, Params, Place, Plan, Recorder, Result, Role, Tally, TollKey,
    Value, Variant, Window,
};
use tollway_host::clock::RunClock;
use tollway_load::{Work, repeat};

use crate::engine::memory::Memory;
use crate::engine::service::{Load, Service};
use crate::params;

const WORKER: &str = "worker";

pub(super) fn variants() -> Vec<Box<dyn Variant>> {
    [Crossing::RequestWork, Crossing::MatrixProduct, Crossing::PageCall]
        .map(|crossing| Box::new(Labour(crossing)) as Box<dyn Variant>)
        .into()
}

/// One kind of work.
struct Labour(Crossing);

impl Labour {
    fn load(&self, params: &Params) -> Result<Load> {
        let size = params.int("size")?;
        Ok(match self.0 {
            Crossing::MatrixProduct => Load { rows: size as usize, ..Load::default() },
            Crossing::PageCall => Load { bytes: size as usize, ..Load::default() },
            _ => Load { cycles: size, ..Load::default() },
        })
    }
}

impl Variant for Labour {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn about(&self) -> &str {
        self.0.title()
    }

    fn caveats(&self) -> &str {
        match self.0 {
            Crossing::MatrixProduct => {
                "The matrices lie in the nearest cache that they fit into. The sum of the product's elements is in it."
            }
            Crossing::PageCall => {
                "The mean of a call that takes pages (MADV_POPULATE_WRITE) and one that gives them back (MADV_DONTNEED), of which both are in each sample. \
                 Looking at the first word of each page, and writing to it, is in it; a page fault is not."
            }
            _ => {
                "So many dependent multiplications as take so long on this processor, found out when the worker is made: at another clock rate it \
                 is another time."
            }
        }
    }

    fn axes(&self) -> Vec<Axis> {
        let (axis, default) = match self.0 {
            Crossing::MatrixProduct => (params::matrix(), 20),
            Crossing::PageCall => (params::bytes_of_a_call(), 4096),
            _ => (params::work(), 10_000),
        };
        vec![Axis { name: "size", default: Value::Int(default), ..axis }]
    }

    fn plan(&self, params: &Params) -> Result<Plan> {
        let key = TollKey::of(self.0).size(params.int("size")?);
        if self.0 == Crossing::PageCall {
            // What cannot be is told here.
            Memory::new(1, params.int("size")? as usize)?;
        }
        Ok(Plan {
            operation: "request's work".into(),
            roles: vec![Role::measured(WORKER)],
            gates: vec![Gate::new(self.name(), WORKER, key.clone())],
            provides: Some(key),
            needs: Vec::new(),
            requires: Vec::new(),
            guests: Vec::new(),
        })
    }

    fn actor(&self, _: &str, params: &Params) -> Result<Box<dyn Actor>> {
        Ok(Box::new(Worker { load: self.load(params)?, worked: None, done: 0 }))
    }
}

struct Worker {
    load: Load,
    worked: Option<Worked>,
    done: u64,
}

/// What is timed: the work, and whether it was done.
struct Worked {
    service: Service,
    /// So many times together: memory is taken and given back in turns, of which either is cheaper than the other.
    together: u32,
    /// What each time has to come out.
    result: u64,
    wrong: u64,
}

impl Work for Worked {
    #[inline]
    fn once(&mut self) {
        for _ in 0..self.together {
            self.wrong += u64::from(self.service.works() != self.result);
        }
    }

    fn operations(&self) -> u32 {
        self.together
    }
}

impl Actor for Worker {
    fn ready(&mut self, _: &Place) -> Result<Address> {
        let service = Service::new(self.load, RunClock::chosen())?;
        let together = if self.load.bytes > 0 { 2 } else { 1 };
        self.worked = Some(Worked { service, together, result: self.load.result(), wrong: 0 });
        Ok(Address::none())
    }

    fn run(&mut self, window: &Window, recorder: &mut Recorder) -> Result<()> {
        let Some(worked) = &mut self.worked else { return Ok(()) };
        self.done = repeat(RunClock::chosen(), window, recorder, worked);
        Ok(())
    }

    fn verify(&mut self) -> Result<()> {
        match (self.done, self.worked.as_ref().map_or(0, |worked| worked.wrong)) {
            (0, _) => Err(Error::Wrong("nothing was done".into())),
            (_, 0) => Ok(()),
            (done, wrong) => Err(Error::Wrong(format!("of {done} results {wrong} were wrong"))),
        }
    }

    fn tally(&mut self) -> Tally {
        Tally::default().counter("operations", self.done)
    }
}
