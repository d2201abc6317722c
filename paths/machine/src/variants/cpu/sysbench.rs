//! sysbench in our place: it keeps its own time.

use tollway_core::{Actor, Address, Error, Place, Recorder, Result, Tally, Ticks, Window};
use tollway_host::clock;
use tollway_host::cpu::{Topology, choose_slots_from, cpus_of_process};

use crate::engine::cpu::sysbench::{Report, run};

pub(super) struct Sysbench {
    below: u64,
    threads: u32,
    cpus: Vec<u32>,
    hz: f64,
    report: Option<Report>,
}

impl Sysbench {
    pub(super) fn new(below: u64, threads: u32) -> Sysbench {
        Sysbench { below, threads, cpus: Vec::new(), hz: 0.0, report: None }
    }
}

impl Actor for Sysbench {
    fn ready(&mut self, _: &Place) -> Result<Address> {
        self.hz = clock::hz()?;
        let (all, topology) = (cpus_of_process()?, Topology::read().unwrap_or_default());
        // Threads beyond the processors share them.
        let wanted = self.threads.min(all.len() as u32);
        self.cpus = choose_slots_from(wanted, &all, &topology).map_err(Error::Missing)?.cpus;
        Ok(Address::none())
    }

    fn run(&mut self, window: &Window, recorder: &mut Recorder) -> Result<()> {
        let seconds = (window.close.saturating_sub(window.open) as f64 / self.hz).ceil().max(1.0) as u64;
        let report = run(self.threads, self.below, seconds, &self.cpus)?;
        recorder.set_batch(1);
        for (milliseconds, events) in &report.latencies {
            let ticks = (milliseconds / 1e3 * self.hz) as Ticks;
            (0..*events).for_each(|_| recorder.sample(ticks));
        }
        recorder.took((report.events as f64 / report.per_second * self.hz) as Ticks);
        self.report = Some(report);
        Ok(())
    }

    fn verify(&mut self) -> Result<()> {
        match &self.report {
            Some(_) => Ok(()),
            None => Err(Error::Wrong("sysbench told of no event".into())),
        }
    }

    fn tally(&mut self) -> Tally {
        Tally::default().counter("events that sysbench told of", self.report.as_ref().map_or(0, |r| r.events))
    }
}
