//! What a server's work costs by itself: calibrated cycles, a product of matrices, memory taken and given back.

use tollway_core::{
    Actor, Address, Axis, Crossing, Error, Gate, Params, Place, Plan, Recorder, Result, Role, Tally, TollKey,
    Value, Variant, Window,
};
use tollway_host::clock::RunClock;
use tollway_load::repeat;

use crate::engine::memory::Memory;
use crate::engine::service::{Load, Service};
use crate::params;

const WORKER: &str = "worker";

pub(super) fn variants() -> Vec<Box<dyn Variant>> {
    [Crossing::RequestWork, Crossing::MatrixProduct, Crossing::PageCall]
        .map(|crossing| Box::new(Labour(crossing)) as Box<dyn Variant>)
        .into()
}

/// The toll of so many cycles of work.
fn work_key(cycles: u64) -> TollKey {
    TollKey::of(Crossing::RequestWork).size(cycles)
}

/// The toll of a product of matrices of so many rows.
fn matrix_key(rows: usize) -> TollKey {
    TollKey::of(Crossing::MatrixProduct).size(rows as u64)
}

/// The toll of a call that takes so many bytes of memory or gives them back.
pub(super) fn pages_key(bytes: usize) -> TollKey {
    TollKey::of(Crossing::PageCall).size(bytes as u64)
}

/// The tolls of what a server does for a request.
pub(super) fn keys(load: Load) -> Vec<TollKey> {
    gates(load).map(|(_, key)| key).collect()
}

/// The same with their names in a bill.
pub(super) fn gates(load: Load) -> impl Iterator<Item = (&'static str, TollKey)> {
    let work = (load.cycles > 0).then(|| ("work", work_key(load.cycles)));
    let product = (load.rows > 0).then(|| ("matrix product", matrix_key(load.rows)));
    let pages = (load.bytes > 0).then(|| ("memory taken or given back", pages_key(load.bytes)));
    work.into_iter().chain(product).chain(pages)
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
                "Calls take pages and give them back in turns, as those of `memory-sync` do: the figure is the mean of both."
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
        Ok(Box::new(Worker { load: self.load(params)?, service: None, result: 0, done: 0, wrong: 0 }))
    }
}

struct Worker {
    load: Load,
    service: Option<Service>,
    /// What each time has to come out.
    result: u64,
    done: u64,
    wrong: u64,
}

impl Actor for Worker {
    fn ready(&mut self, _: &Place) -> Result<Address> {
        self.service = Some(Service::new(self.load, RunClock::chosen())?);
        self.result = self.load.result();
        Ok(Address::none())
    }

    fn run(&mut self, window: &Window, recorder: &mut Recorder) -> Result<()> {
        let Some(service) = &mut self.service else { return Ok(()) };
        let (result, wrong) = (self.result, &mut self.wrong);
        let mut work = || *wrong += u64::from(service.works() != result);
        self.done = repeat(RunClock::chosen(), window, recorder, &mut work);
        Ok(())
    }

    fn verify(&mut self) -> Result<()> {
        match (self.done, self.wrong) {
            (0, _) => Err(Error::Wrong("nothing was done".into())),
            (_, 0) => Ok(()),
            (done, wrong) => Err(Error::Wrong(format!("of {done} results {wrong} were wrong"))),
        }
    }

    fn tally(&mut self) -> Tally {
        Tally::default().counter("operations", self.done)
    }
}
