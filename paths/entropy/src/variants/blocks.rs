//! `fips`: a stream drawn and tested, block by block; and `fips-test`: the tests alone, of blocks that lie ready.

use tollway_core::{
    Actor, Address, Axis, CpuFeature, Crossing, Error, Forecast, Gate, Params, Place, Plan, Recorder,
    Requirement, Result, Tally, TollKey, TollSource, Variant, Visits, Window,
};
use tollway_host::clock::RunClock;
use tollway_load::{Work, repeat};
use tollway_model::scaling::sum_of_gates;

use super::drawer::ASKED;
use crate::engine::condition::{Conditioned, SAMPLE};
use crate::engine::fips::{self, BLOCK_BYTES, Block, Finding, Tester, Verdict};
use crate::engine::source::{Getrandom, Rdrand, Rdseed, Seeded, Source};
use crate::params;

const ROLE: &str = "tester";

/// A stream, drawn and tested.
pub(super) struct Stream;

/// The tests alone.
pub(super) struct Testing;

/// Blocks drawn at once, and tested then.
const BLOCKS: usize = 16;

fn tests() -> Gate {
    Gate::new("tests", ROLE, TollKey::of(Crossing::FipsTest))
}

fn plan(gates: Vec<Gate>) -> Plan {
    super::plan_of_one("block of 20,000 bits", ROLE, gates)
}

impl Variant for Testing {
    fn name(&self) -> &str {
        Crossing::FipsTest.name()
    }

    fn about(&self) -> &str {
        "the FIPS 140-2 tests of a block of 20,000 bits that lies ready"
    }

    fn caveats(&self) -> &str {
        "The widest vectors that the processor has. The block comes from the first-level cache."
    }

    fn plan(&self, _: &Params) -> Result<Plan> {
        let gate = tests();
        Ok(Plan { provides: gate.toll.clone(), ..plan(vec![gate]) })
    }

    fn actor(&self, _: &str, _: &Params) -> Result<Box<dyn Actor>> {
        let mut blocks = vec![[0; BLOCK_BYTES]; BLOCKS];
        Seeded::new(1).fill(blocks.as_flattened_mut())?;
        Ok(Box::new(Worker::of(blocks, None, usize::MAX)))
    }
}

impl Variant for Stream {
    fn name(&self) -> &str {
        "fips"
    }

    fn about(&self) -> &str {
        "a stream drawn from a source and put to the FIPS 140-2 tests"
    }

    fn caveats(&self) -> &str {
        "Sixteen blocks are drawn and then tested (of RDSEED one). An ideal source fails 8 of 10,000 blocks: the counters have what \
         failed."
    }

    fn axes(&self) -> Vec<Axis> {
        vec![params::stream()]
    }

    fn plan(&self, params: &Params) -> Result<Plan> {
        let kind = params.word("kind")?;
        let draws = |kind: &str, of_one: f64| {
            let toll = TollKey::of(Crossing::EntropyDraw).kind(kind).depth(1);
            Gate::new("draw", ROLE, toll).visits(Visits::Fixed(of_one * BLOCK_BYTES as f64 / 8.0))
        };
        let gates = match kind {
            "rdrand-512" => {
                let values = BLOCK_BYTES as f64 / SAMPLE as f64;
                let reduction = Gate::new("reduce", ROLE, TollKey::of(Crossing::EntropyReduce));
                vec![draws("rdrand", 512.0), reduction.visits(Visits::Fixed(values)), tests()]
            }
            kind => vec![draws(kind, 1.0), tests()],
        };
        let needs = gates.iter().filter_map(|gate| gate.toll.clone()).collect();
        let requires = match kind {
            "getrandom" => Vec::new(),
            "rdseed" => vec![Requirement::Cpu(CpuFeature::Rdseed)],
            _ => vec![Requirement::Cpu(CpuFeature::Rdrand)],
        };
        Ok(Plan { needs, requires, ..plan(gates) })
    }

    fn actor(&self, _: &str, params: &Params) -> Result<Box<dyn Actor>> {
        let (source, blocks): (Box<dyn Source>, usize) = match params.word("kind")? {
            "rdseed" => (Box::new(Rdseed::open()?), 1),
            "getrandom" => (Box::new(Getrandom::default()), BLOCKS),
            "rdrand-512" => (Box::new(Conditioned::of(Rdrand::open()?)?), BLOCKS),
            _ => (Box::new(Rdrand::open()?), BLOCKS),
        };
        // As its toll was measured.
        let portion = if params.word("kind")? == "getrandom" { ASKED } else { usize::MAX };
        Ok(Box::new(Worker::of(vec![[0; BLOCK_BYTES]; blocks], Some(source), portion)))
    }

    fn predict(&self, params: &Params, tolls: &dyn TollSource) -> Option<Result<Forecast>> {
        Some(self.plan(params).and_then(|plan| sum_of_gates(&plan.gates, tolls)))
    }
}

struct Worker {
    blocks: Vec<Block>,
    /// Where blocks come from; nowhere if the same are tested again.
    source: Option<Box<dyn Source>>,
    /// Bytes drawn at once.
    portion: usize,
    tester: Tester,
    tally: fips::Tally,
    dry: u64,
    done: u64,
}

impl Worker {
    fn of(blocks: Vec<Block>, source: Option<Box<dyn Source>>, portion: usize) -> Worker {
        let (tester, tally) = (Tester::new([0; 4]), fips::Tally::default());
        Worker { blocks, source, portion, tester, tally, dry: 0, done: 0 }
    }
}

impl Work for &mut Worker {
    fn once(&mut self) {
        if let Some(source) = &mut self.source {
            for portion in self.blocks.as_flattened_mut().chunks_mut(self.portion) {
                self.dry += u64::from(source.fill(portion).is_err());
            }
        }
        for block in &self.blocks {
            self.tally.add(self.tester.test(std::hint::black_box(block)));
        }
    }

    fn operations(&self) -> u32 {
        self.blocks.len() as u32
    }
}

impl Actor for Worker {
    fn ready(&mut self, _: &Place) -> Result<Address> {
        Ok(Address::none())
    }

    fn run(&mut self, window: &Window, recorder: &mut Recorder) -> Result<()> {
        self.done = repeat(RunClock::chosen(), window, recorder, &mut &mut *self);
        Ok(())
    }

    fn verify(&mut self) -> Result<()> {
        if self.done == 0 || self.tally.blocks() != self.done {
            let (tested, done) = (self.tally.blocks(), self.done);
            return Err(Error::Wrong(format!("{tested} blocks were tested in {done} operations")));
        }
        if self.dry > 0 {
            return Err(Error::Wrong(format!("{} times the source gave nothing", self.dry)));
        }
        // The same blocks again and again are no stream to judge.
        if self.source.is_some() {
            judge(&self.tally)?;
        }
        Ok(())
    }

    fn tally(&mut self) -> Tally {
        let tally = Tally::default().counter("operations", self.done);
        if self.source.is_some() { counted(tally, &self.tally) } else { tally }
    }
}

/// Refuses a stream of which so many blocks failed that no good source is to be thought of.
pub(super) fn judge(tally: &fips::Tally) -> Result<()> {
    // One look in two hundred at a good source finds too many; one far above that rate is found by the lower end.
    let verdict = Verdict::of(tally);
    match verdict.rate {
        Some(rate) if verdict.finding == Finding::TooManyFailures && rate.lo > FAR_TOO_MANY => {
            Err(Error::Wrong(format!("{} of {} blocks failed the FIPS tests", tally.failed, tally.blocks())))
        }
        _ => Ok(()),
    }
}

/// Twelve times the rate of an ideal source: no luck explains it.
const FAR_TOO_MANY: f64 = 0.01;

/// With what was tested.
pub(super) fn counted(tally: Tally, blocks: &fips::Tally) -> Tally {
    tally.counter("fips_blocks", blocks.blocks()).counter("fips_failures", blocks.failed)
}
