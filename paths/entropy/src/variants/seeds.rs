//! `seed`: seed-grade values out of RDRAND, whole; and `entropy-reduce`: the reduction alone. The draws' toll is
//! `entropy-draw`, so a bill says what of a seed's cost is the generator and what is AES.

use tollway_core::{
    Actor, Address, CpuFeature, Crossing, Error, Forecast, Gate, Params, Place, Plan, Recorder, Requirement,
    Result, Tally, TollKey, TollSource, Variant, Visits, Window,
};
use tollway_host::clock::RunClock;
use tollway_load::{Work, repeat};
use tollway_model::scaling::sum_of_gates;

use crate::engine::condition::{Conditioned, INPUT, Reduction, SAMPLE, STREAMS};
use crate::engine::source::{Rdrand, Seeded, Source};

/// Draws of 64 bits that become one value.
const DRAWS: f64 = (INPUT / 8) as f64;

const ROLE: &str = "worker";

/// The whole: draw 512 samples, reduce them, 64 values at a time.
pub(super) struct Seed;

/// The reduction alone, of samples that lie ready.
pub(super) struct Reducing;

fn draws() -> Gate {
    let toll = TollKey::of(Crossing::EntropyDraw).kind("rdrand").depth(1);
    Gate::new("draw", ROLE, toll).visits(Visits::Fixed(DRAWS))
}

fn reduction() -> Gate {
    Gate::new("reduce", ROLE, TollKey::of(Crossing::EntropyReduce))
}

fn plan(gates: Vec<Gate>) -> Plan {
    super::plan_of_one("seed-grade value of 128 bits", ROLE, gates)
}

impl Variant for Seed {
    fn name(&self) -> &str {
        "seed"
    }

    fn about(&self) -> &str {
        "128 bits of seed grade out of RDRAND: 512 samples drawn, reduced by AES-CBC-MAC"
    }

    fn caveats(&self) -> &str {
        "64 values at a time: their 512 KiB of samples are drawn, reduced and wiped. What wiping takes is unexplained."
    }

    fn plan(&self, _: &Params) -> Result<Plan> {
        let gates = vec![draws(), reduction()];
        let needs = gates.iter().filter_map(|gate| gate.toll.clone()).collect();
        let requires = vec![Requirement::Cpu(CpuFeature::Rdrand)];
        Ok(Plan { needs, requires, ..plan(gates) })
    }

    fn actor(&self, _: &str, _: &Params) -> Result<Box<dyn Actor>> {
        Ok(Worker::of(Whole(Conditioned::of(Rdrand::open()?)?)))
    }

    fn predict(&self, params: &Params, tolls: &dyn TollSource) -> Option<Result<Forecast>> {
        Some(self.plan(params).and_then(|plan| sum_of_gates(&plan.gates, tolls)))
    }
}

impl Variant for Reducing {
    fn name(&self) -> &str {
        Crossing::EntropyReduce.name()
    }

    fn about(&self) -> &str {
        "512 samples of 128 bits reduced to one, 64 streams in flight, of samples that lie ready"
    }

    fn caveats(&self) -> &str {
        "The samples, 512 KiB, come from the second-level cache, as those just drawn do. With AES-NI, VAES where there is any, \
         or in plain code."
    }

    fn plan(&self, _: &Params) -> Result<Plan> {
        let gate = reduction();
        Ok(Plan { provides: gate.toll.clone(), ..plan(vec![gate]) })
    }

    fn actor(&self, _: &str, _: &Params) -> Result<Box<dyn Actor>> {
        let mut samples = vec![0; STREAMS * INPUT];
        Seeded::new(1).fill(&mut samples)?;
        Ok(Worker::of(Alone { reduction: Reduction::new(&[1; SAMPLE]), samples }))
    }
}

/// What makes [`STREAMS`] values.
trait Making: Send {
    fn make(&mut self, values: &mut [[u8; SAMPLE]; STREAMS]) -> bool;

    /// Whether every call makes the same.
    const SAME: bool;
}

struct Whole(Conditioned<Rdrand>);

impl Making for Whole {
    const SAME: bool = false;

    fn make(&mut self, values: &mut [[u8; SAMPLE]; STREAMS]) -> bool {
        self.0.fill(values.as_flattened_mut()).is_ok()
    }
}

struct Alone {
    reduction: Reduction,
    samples: Vec<u8>,
}

impl Making for Alone {
    const SAME: bool = true;

    fn make(&mut self, values: &mut [[u8; SAMPLE]; STREAMS]) -> bool {
        self.reduction.reduce(std::hint::black_box(&self.samples), values);
        true
    }
}

struct Worker<M> {
    maker: M,
    values: [[u8; SAMPLE]; STREAMS],
    /// Calls that gave something else than they had to, or nothing.
    wrong: u64,
    done: u64,
}

impl<M: Making + 'static> Worker<M> {
    fn of(maker: M) -> Box<dyn Actor> {
        Box::new(Worker { maker, values: [[0; SAMPLE]; STREAMS], wrong: 0, done: 0 })
    }
}

impl<M: Making> Work for &mut Worker<M> {
    fn once(&mut self) {
        let before = self.values[STREAMS - 1];
        let made = self.maker.make(&mut self.values);
        let same = self.values[STREAMS - 1] == before;
        self.wrong += u64::from(!made || same != M::SAME);
    }

    fn operations(&self) -> u32 {
        STREAMS as u32
    }
}

impl<M: Making> Actor for Worker<M> {
    fn ready(&mut self, _: &Place) -> Result<Address> {
        self.maker.make(&mut self.values);
        Ok(Address::none())
    }

    fn run(&mut self, window: &Window, recorder: &mut Recorder) -> Result<()> {
        self.done = repeat(RunClock::chosen(), window, recorder, &mut &mut *self);
        Ok(())
    }

    fn verify(&mut self) -> Result<()> {
        match (self.done, self.wrong) {
            (0, _) => Err(Error::Wrong("nothing was made".into())),
            (_, 0) => Ok(()),
            (_, n) => Err(Error::Wrong(format!("{n} groups of values were not what they had to be"))),
        }
    }

    fn tally(&mut self) -> Tally {
        Tally::default().counter("operations", self.done)
    }
}
