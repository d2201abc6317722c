//! Accesses by fio.

use std::time::Duration;

use tollway_core::{Actor, Address, Place, Recorder, Result, Tally, Ticks, Window};
use tollway_host::clock::{self, RunClock};
use tollway_load::wait_until;

use super::kept::Shelf;
use super::{CHECKED, before, counts};
use crate::engine::disk::{Load, TestFile, fio};

/// fio's.
pub(super) struct ByFio {
    load: Load,
    bytes: u64,
    seed: u64,
    file: Option<TestFile>,
    told: Option<fio::Told>,
}

impl ByFio {
    pub(super) fn new(load: Load, bytes: u64) -> ByFio {
        ByFio { load, bytes, seed: 0, file: None, told: None }
    }

    fn shelf(&self) -> Shelf {
        if self.load.pattern.writes() { Shelf::Foreign } else { Shelf::Whole }
    }
}

impl Actor for ByFio {
    fn ready(&mut self, place: &Place) -> Result<Address> {
        self.seed = place.lot.seed;
        let file = self.shelf().take(self.bytes, self.seed)?;
        file.access(self.load.direct, self.load.size)?;
        self.file = Some(file);
        // The first call takes a while.
        clock::hz()?;
        Ok(Address::none())
    }

    fn run(&mut self, window: &Window, recorder: &mut Recorder) -> Result<()> {
        let file = self.file.as_ref().ok_or_else(|| before("run"))?;
        let hz = clock::hz()?;
        let long = |from: Ticks, to: Ticks| Duration::from_secs_f64(to.saturating_sub(from) as f64 / hz);
        let ticks = |time: Duration| (time.as_secs_f64() * hz) as Ticks;
        wait_until(RunClock::chosen(), window.warm);
        let (ramp, runtime) = (long(window.warm, window.open), long(window.open, window.close));
        let told = fio::run(file, fio::Asked { load: self.load, ramp, runtime, seed: self.seed })?;
        for (ns, n) in &told.latencies {
            let took = ticks(Duration::from_nanos(*ns));
            (0..*n).for_each(|_| recorder.sample(took));
        }
        // A few latencies are of accesses that fio does not count: the rate is to be what it says.
        recorder.took((recorder.total().0 as f64 / told.rate() * hz) as Ticks);
        self.told = Some(told);
        Ok(())
    }

    fn verify(&mut self) -> Result<()> {
        let (Some(file), Some(_)) = (self.file.take(), &self.told) else { return Err(before("verify")) };
        if !self.load.pattern.writes() {
            let blocks = (CHECKED.min(self.bytes) / self.load.size as u64).max(1);
            file.check(self.load.size, 0..blocks)?;
        }
        self.shelf().keep(file);
        Ok(())
    }

    fn tally(&mut self) -> Tally {
        self.told.take().map_or_else(Tally::default, |told| counts(told.read, told.written))
    }
}
