//! `fsync`: a block made durable.

use std::time::Duration;

use tollway_core::{
    Actor, Address, Axis, Domain, Params, Place, Plan, Recorder, Result, Role, Value, Variant, Window,
};
use tollway_host::clock::RunClock;
use tollway_host::scratch;
use tollway_load::repeat;

use super::{CHECKED, MIB, before, file_told, make_takes, mib, on_a_disk, room, size};
use crate::engine::disk::{Durable, Sync, TestFile};
use crate::surroundings;

/// A block made durable.
pub(super) struct Fsync;

impl Variant for Fsync {
    fn name(&self) -> &str {
        "fsync"
    }

    fn about(&self) -> &str {
        "a block written and waited for until it is on the disk"
    }

    fn caveats(&self) -> &str {
        "A write of a block of a file through the page cache, in random order, and the call that waits for it: the disk's cache is flushed, \
         and with fsync the file system's journal is written too. A virtual disk may confirm a flush that it has not done."
    }

    fn axes(&self) -> Vec<Axis> {
        let call = Axis {
            name: "call",
            about: "what waits: fsync for all that is known of the file, fdatasync for the block",
            domain: Domain::Words(&["fsync", "fdatasync"]),
            default: Value::Text("fsync".into()),
        };
        [vec![call, size(), mib(16)], surroundings::axes()].concat()
    }

    fn plan(&self, params: &Params) -> Result<Plan> {
        let plan = Plan {
            operation: "block made durable".into(),
            roles: vec![Role::measured("disk")],
            gates: Vec::new(),
            provides: None,
            needs: Vec::new(),
            requires: Vec::new(),
            guests: Vec::new(),
        };
        surroundings::settled(plan, params, Some(room(params)?))
    }

    fn title(&self, params: &Params) -> Option<String> {
        let call = params.word("call").ok()?;
        let size = surroundings::size(params.int("size").ok()?);
        surroundings::titled(format!("write made durable, {size}, {call}{}", file_told(params, 16)), params)
    }

    fn patience(&self, params: &Params) -> Duration {
        make_takes(params)
    }

    fn actor(&self, _: &str, params: &Params) -> Result<Box<dyn Actor>> {
        let by = if params.word("call")? == "fsync" { Sync::All } else { Sync::Data };
        let (size, bytes) = (params.int("size")? as usize, params.int("mib")? * MIB);
        Ok(Box::new(Synced { by, size, bytes, durable: None }))
    }
}

struct Synced {
    by: Sync,
    size: usize,
    bytes: u64,
    durable: Option<Durable>,
}

impl Actor for Synced {
    fn ready(&mut self, place: &Place) -> Result<Address> {
        let folder = scratch::folder();
        on_a_disk(&folder)?;
        // Small, and so made anew.
        let file = TestFile::make(&folder, self.bytes, place.lot.seed)?;
        self.durable = Some(Durable::new(file, self.size, self.by, place.lot.seed)?);
        Ok(Address::none())
    }

    fn run(&mut self, window: &Window, recorder: &mut Recorder) -> Result<()> {
        let durable = self.durable.as_mut().ok_or_else(|| before("run"))?;
        repeat(RunClock::chosen(), window, recorder, &mut || durable.once());
        Ok(())
    }

    fn verify(&mut self) -> Result<()> {
        self.durable.take().ok_or_else(|| before("verify"))?.verified(CHECKED).map(drop)
    }
}
