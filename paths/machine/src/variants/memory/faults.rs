//! What the first touch of a page costs.

use tollway_core::{
    Actor, Address, Axis, Domain, Error, Params, Place, Plan, Recorder, Result, Tally, Unit, Value, Variant,
    Window, Yield,
};
use tollway_host::clock::RunClock;
use tollway_host::samplers::usage::Usage;
use tollway_load::{Work, repeat};

use super::plan;
use crate::engine::memory::faults::{Kind, Region};
use crate::{params, surroundings};

/// Faults of the recorder's own memory, and of whatever else a thread touches for the first time.
const OTHERS: u64 = 256;

/// The variant.
pub(super) struct Faults;

impl Variant for Faults {
    fn name(&self) -> &str {
        "faults"
    }

    fn about(&self) -> &str {
        "minor page faults: the first touch of a page that the kernel has to find memory for"
    }

    fn caveats(&self) -> &str {
        "Memory that the process had before and gave back, so that a guest's own host has it at hand; giving it back is not timed. Threads are \
         processes with memory of their own: what threads of one process wait for each other is not in it. A fault on a file maps 16 pages."
    }

    fn axes(&self) -> Vec<Axis> {
        let kind = Axis {
            name: "kind",
            about: "4 KiB of no file, written; 2 MiB of no file, written; a page of a mapped file that is in memory, read",
            domain: Domain::Words(&["anonymous", "huge", "file"]),
            default: Value::Text("anonymous".into()),
        };
        [kind, params::threads()].into_iter().chain(surroundings::axes()).collect()
    }

    fn pinned(&self, params: Params) -> Result<Params> {
        params::threads_named(params)
    }

    fn plan(&self, params: &Params) -> Result<Plan> {
        plan("fault", params::threads_of(params)?, params)
    }

    fn title(&self, params: &Params) -> Option<String> {
        let page = match params.word("kind").ok()? {
            "huge" => "a page of 2 MiB",
            "file" => "a page of a file",
            _ => "a page of 4 KiB",
        };
        surroundings::titled(format!("first touch of {page}{}", params::threads_told(params)), params)
    }

    fn yields(&self, _: &Params) -> Vec<Yield> {
        vec![Yield::one(Unit::Faults)]
    }

    fn actor(&self, _: &str, params: &Params) -> Result<Box<dyn Actor>> {
        let kind = match params.word("kind")? {
            "huge" => Kind::Huge,
            "file" => Kind::File,
            _ => Kind::Anonymous,
        };
        Ok(Box::new(Toucher { kind, region: None, done: 0, faults: 0 }))
    }
}

struct Toucher {
    kind: Kind,
    region: Option<Region>,
    done: u64,
    faults: u64,
}

struct Touching<'r>(&'r mut Region);

impl Work for Touching<'_> {
    #[inline]
    fn once(&mut self) {
        self.0.touch();
    }

    fn operations(&self) -> u32 {
        self.0.round()
    }

    fn uses_up(&self) -> bool {
        true
    }

    fn restock(&mut self) {
        self.0.give_back();
    }
}

impl Actor for Toucher {
    fn ready(&mut self, _: &Place) -> Result<Address> {
        self.region = Some(Region::new(self.kind)?);
        Ok(Address::none())
    }

    fn run(&mut self, window: &Window, recorder: &mut Recorder) -> Result<()> {
        let Some(region) = &mut self.region else { return Ok(()) };
        let faults = || Usage::read().map(|usage| usage.minor_faults).map_err(Error::Missing);
        let before = faults()?;
        self.done = repeat(RunClock::chosen(), window, recorder, &mut Touching(region));
        self.faults = faults()? - before;
        // The rest of the window pages were given back.
        recorder.took(recorder.total().1);
        Ok(())
    }

    fn verify(&mut self) -> Result<()> {
        let (done, faults) = (self.done, self.faults);
        if done == 0 || !(done..=done + done / 100 + OTHERS).contains(&faults) {
            return Err(Error::Wrong(format!("{done} pages were touched, with {faults} faults")));
        }
        self.region.as_mut().map_or(Ok(()), Region::check)
    }

    fn tally(&mut self) -> Tally {
        Tally::default().counter("operations", self.done).counter("faults", self.faults)
    }
}
