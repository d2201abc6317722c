//! How much arithmetic the processor does at most.

use tollway_core::{
    Actor, Address, Axis, Domain, Error, Params, Place, Plan, Recorder, Requirement, Result, Role, Tally,
    Unit, Value, Variant, Window, Yield,
};
use tollway_host::clock::RunClock;
use tollway_load::repeat;

use crate::engine::cpu::peak::{Block, Kind, OPERATIONS, Set, Width};
use crate::{params, surroundings};

/// The word of the axis `set` for the widest vectors.
const BEST: &str = "best";

pub(super) struct Peaks;

impl Variant for Peaks {
    fn name(&self) -> &str {
        "peak"
    }

    fn about(&self) -> &str {
        "arithmetic at most: multiplications and additions in independent chains, by scalar instructions or vectors"
    }

    fn caveats(&self) -> &str {
        "A multiplication and an addition in turns: additions alone, of whole numbers above all, can be more. Nothing is loaded or \
         stored. The counters say by which instructions it was done."
    }

    fn axes(&self) -> Vec<Axis> {
        let mut axes = vec![
            Axis {
                name: "kind",
                about: "whole numbers, floating-point numbers one at a time, or vectors of these with fused steps",
                domain: Domain::Words(Kind::NAMES),
                default: Value::Text("vector".into()),
            },
            Axis {
                name: "bits",
                about: "the width of a number: 32 or 64",
                domain: Domain::Words(&["32", "64"]),
                default: Value::Text("64".into()),
            },
            Axis {
                name: "set",
                about: "the vectors' instructions: the widest that the processor has, or these",
                domain: Domain::Words(&[BEST, "avx512", "avx2", "sse2"]),
                default: Value::Text(BEST.into()),
            },
            params::threads(),
        ];
        axes.extend(surroundings::axes());
        axes
    }

    fn pinned(&self, params: Params) -> Result<Params> {
        params::threads_named(params)
    }

    fn plan(&self, params: &Params) -> Result<Plan> {
        asked(params)?;
        let threads = params::threads_of(params)?;
        let plan = Plan {
            operation: format!("{:.1} million additions and multiplications", OPERATIONS as f64 / 1e6),
            roles: vec![Role { count: threads, ..Role::measured("thread") }],
            gates: Vec::new(),
            provides: None,
            needs: Vec::new(),
            requires: vec![Requirement::Cores(threads)],
            guests: Vec::new(),
        };
        surroundings::settled(plan, params, None)
    }

    fn title(&self, params: &Params) -> Option<String> {
        let (kind, bits) = (params.word("kind").ok()?, params.word("bits").ok()?);
        let set = match params.word("set").ok()? {
            BEST => String::new(),
            set => format!(", {set}"),
        };
        surroundings::titled(format!("{kind} peak, {bits} bits{set}{}", params::threads_told(params)), params)
    }

    fn yields(&self, _: &Params) -> Vec<Yield> {
        vec![Yield { unit: Unit::Arithmetic, each: OPERATIONS as f64 }]
    }

    fn actor(&self, _: &str, params: &Params) -> Result<Box<dyn Actor>> {
        let (kind, width, set) = asked(params)?;
        Ok(Box::new(Thread { block: Block::new(kind, width, set)?, blocks: 0, wrong: 0 }))
    }
}

/// What the axes ask for.
fn asked(params: &Params) -> Result<(Kind, Width, Option<Set>)> {
    let kind = params.word("kind")?.parse()?;
    let width = if params.word("bits")? == "32" { Width::Bits32 } else { Width::Bits64 };
    let set = match params.word("set")? {
        BEST => None,
        word if kind == Kind::Vector => Some(word.parse()?),
        word => {
            return Err(Error::Input {
                place: format!("axis `set`, value `{word}`"),
                reason: "only vectors have sets of instructions to choose from".into(),
                remedy: "set `kind` to vector, or leave `set` out".into(),
            });
        }
    };
    Ok((kind, width, set))
}

struct Thread {
    block: Block,
    blocks: u64,
    wrong: u64,
}

impl Actor for Thread {
    fn ready(&mut self, _: &Place) -> Result<Address> {
        Ok(Address::none())
    }

    fn run(&mut self, window: &Window, recorder: &mut Recorder) -> Result<()> {
        let (block, mut wrong) = (&self.block, 0);
        let mut once = || wrong += u64::from(!block.run());
        self.blocks = repeat(RunClock::chosen(), window, recorder, &mut once);
        self.wrong = wrong;
        Ok(())
    }

    fn verify(&mut self) -> Result<()> {
        match (self.blocks, self.wrong) {
            (0, _) => Err(Error::Wrong("no block was done".into())),
            (_, 0) => Ok(()),
            (blocks, wrong) => Err(Error::Wrong(format!("of {blocks} blocks {wrong} came out wrong"))),
        }
    }

    fn tally(&mut self) -> Tally {
        Tally::default().counter(format!("operations by {}", self.block.set), self.blocks * OPERATIONS)
    }
}
