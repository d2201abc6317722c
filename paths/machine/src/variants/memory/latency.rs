//! How long a load takes whose address is known only when the one before has arrived.

use std::time::Duration;

use tollway_core::{
    Actor, Address, Axis, Domain, Error, Params, Place, Plan, Recorder, Result, Value, Variant, Window,
};
use tollway_host::clock::RunClock;
use tollway_load::{Work, repeat};

use super::{backing, backing_told, fits, pages_of, plan};
use crate::engine::memory::Pages;
use crate::engine::memory::chase::{Cycle, NODE};
use crate::surroundings;

/// Loads between two looks at whether the batch is done.
const HOPS: u32 = 256;

/// The variant.
pub(super) struct Latency;

impl Variant for Latency {
    fn name(&self) -> &str {
        "latency"
    }

    fn about(&self) -> &str {
        "a load from memory whose address the load before it brings: pointers around a random cycle"
    }

    fn caveats(&self) -> &str {
        "Each load is from another cache line, and beyond some MiB from another page, so the way to the page (TLB, page tables, in a guest both guest's and \
         host's) is a part of it; `backing=huge` has less of that. Sizes near that of a cache are of both, and a shared cache has what others leave."
    }

    fn axes(&self) -> Vec<Axis> {
        let size = Axis {
            name: "kib",
            about: "bytes that the cycle goes through, in KiB",
            domain: Domain::Whole(4, 1 << 20),
            default: Value::Int(64 << 10),
        };
        [size, backing()].into_iter().chain(surroundings::axes()).collect()
    }

    fn plan(&self, params: &Params) -> Result<Plan> {
        plan("load", 1, params)
    }

    fn title(&self, params: &Params) -> Option<String> {
        let size = surroundings::size(params.int("kib").ok()? << 10);
        surroundings::titled(format!("latency of a load, {size}{}", backing_told(params)), params)
    }

    fn patience(&self, params: &Params) -> Duration {
        // To make and to check the cycle takes some loads for each of its lines, in a guest without hardware's help up to 4 µs.
        let lines = params.int("kib").unwrap_or_default() * 1024 / NODE as u64;
        Duration::from_micros(4 * lines)
    }

    fn actor(&self, _: &str, params: &Params) -> Result<Box<dyn Actor>> {
        let (kib, pages) = (params.int("kib")?, pages_of(params)?);
        Ok(Box::new(Chaser { kib, pages, cycle: None, done: 0 }))
    }
}

struct Chaser {
    kib: u64,
    pages: Pages,
    cycle: Option<Cycle>,
    done: u64,
}

struct Chase<'c>(&'c mut Cycle);

impl Work for Chase<'_> {
    #[inline(always)]
    fn once(&mut self) {
        self.0.hop::<HOPS>();
    }

    fn operations(&self) -> u32 {
        HOPS
    }
}

impl Actor for Chaser {
    fn ready(&mut self, place: &Place) -> Result<Address> {
        fits(self.kib << 10, 0)?;
        self.cycle = Some(Cycle::new((self.kib << 10) as usize, self.pages, place.lot.seed)?);
        Ok(Address::none())
    }

    fn run(&mut self, window: &Window, recorder: &mut Recorder) -> Result<()> {
        if let Some(cycle) = &mut self.cycle {
            self.done = repeat(RunClock::chosen(), window, recorder, &mut Chase(cycle));
        }
        Ok(())
    }

    fn verify(&mut self) -> Result<()> {
        match &self.cycle {
            Some(cycle) if self.done > 0 && cycle.hops() == self.done => cycle.check(),
            _ => Err(Error::Wrong(format!("{} loads were counted, and others made", self.done))),
        }
    }
}
