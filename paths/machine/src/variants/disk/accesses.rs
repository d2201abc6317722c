//! `disk`: accesses to a file, many under way.

use std::time::Duration;

use tollway_core::{
    Actor, Address, Axis, Domain, Params, Place, Plan, Recorder, Requirement, Result, Role, Tally, Value,
    Variant, Window, Yield,
};
use tollway_host::clock::RunClock;
use tollway_load::wait_until;

use super::by_fio::ByFio;
use super::kept::Shelf;
use super::{
    CHECKED, Counted, MIB, access_told, before, counts, depth, file_told, make_takes, mib, pattern, room,
    size, yields,
};
use crate::engine::disk::{Accesses, Load, Pattern, fio};
use crate::params::{self, TOLLWAY};
use crate::surroundings;

const FIO: &str = "fio";

/// Accesses to a file, so many under way.
pub(super) struct Disk;

impl Variant for Disk {
    fn name(&self) -> &str {
        "disk"
    }

    fn about(&self) -> &str {
        "reads and writes of a file, many under way"
    }

    fn caveats(&self) -> &str {
        "A file without a name in the scratch folder (TOLLWAY_SCRATCH), full of bytes that cannot be compressed. A virtual disk may answer \
         from its host's memory, and say that it has written what it has not. Buffered writes are those that the page cache took. \
         A latency is from the beginning of an access until the program sees its end, its wait for others included."
    }

    fn axes(&self) -> Vec<Axis> {
        let own = vec![
            pattern(),
            size(),
            Axis {
                name: "access",
                about: "past the page cache, or through it",
                domain: Domain::Words(&["direct", "buffered"]),
                default: Value::Text("direct".into()),
            },
            depth(),
            mib(256),
            params::by(&[TOLLWAY, FIO]),
        ];
        [own, surroundings::axes()].concat()
    }

    fn plan(&self, params: &Params) -> Result<Plan> {
        let load = load(params)?;
        load.check(params.int("mib")? * MIB)?;
        let mut requires = vec![Requirement::IoUring];
        if load.direct {
            requires.push(Requirement::DirectIo);
        }
        if surroundings::by_a_tool(params)? {
            requires.push(Requirement::Program(FIO.into(), FIO.into()));
        }
        let plan = Plan {
            operation: "access".into(),
            roles: vec![Role::measured("disk")],
            gates: Vec::new(),
            provides: None,
            needs: Vec::new(),
            requires,
            guests: Vec::new(),
        };
        surroundings::settled(plan, params, Some(room(params)?))
    }

    fn yields(&self, params: &Params) -> Vec<Yield> {
        yields(params)
    }

    fn title(&self, params: &Params) -> Option<String> {
        let through = if params.word("access").ok()? == "direct" { "" } else { ", through the page cache" };
        let file = file_told(params, 256);
        surroundings::titled(format!("{}{through}{file}", access_told(params)?), params)
    }

    fn patience(&self, params: &Params) -> Duration {
        let tool = if params.word("by").is_ok_and(|by| by == FIO) { fio::PATIENCE } else { Duration::ZERO };
        make_takes(params) + tool
    }

    fn actor(&self, _: &str, params: &Params) -> Result<Box<dyn Actor>> {
        let (load, bytes) = (load(params)?, params.int("mib")? * MIB);
        Ok(match surroundings::by_a_tool(params)? {
            true => Box::new(ByFio::new(load, bytes)),
            false => Box::new(Ours { load, bytes, accesses: None, tally: Tally::default() }),
        })
    }
}

fn load(params: &Params) -> Result<Load> {
    Ok(Load {
        pattern: Pattern::of(params.word("pattern")?)?,
        size: params.int("size")? as usize,
        depth: params.int("depth")? as usize,
        direct: params.word("access")? == "direct",
    })
}

/// This program's accesses.
struct Ours {
    load: Load,
    bytes: u64,
    accesses: Option<Accesses>,
    tally: Tally,
}

impl Actor for Ours {
    fn ready(&mut self, place: &Place) -> Result<Address> {
        let file = Shelf::Whole.take(self.bytes, place.lot.seed)?;
        self.accesses = Some(Accesses::new(file, self.load, place.lot.seed)?);
        Ok(Address::none())
    }

    fn run(&mut self, window: &Window, recorder: &mut Recorder) -> Result<()> {
        let accesses = self.accesses.as_mut().ok_or_else(|| before("run"))?;
        let clock = RunClock::chosen();
        wait_until(clock, window.warm);
        let mut counted = Counted::default();
        accesses.run(clock, |at, took| counted.look(window, recorder, at, took))
    }

    fn verify(&mut self) -> Result<()> {
        let accesses = self.accesses.take().ok_or_else(|| before("verify"))?;
        self.tally = counts(accesses.read(), accesses.written());
        Shelf::Whole.keep(accesses.verified(CHECKED)?);
        Ok(())
    }

    fn tally(&mut self) -> Tally {
        std::mem::take(&mut self.tally)
    }
}
