//! Work: what an operation costs on average, less what something else took meanwhile. It is what a bill adds up.
//!
//! A batch of operations that took 2 µs longer than the median batch was interrupted: what it took beyond the median was
//! spent elsewhere (an interrupt, another process, the hypervisor). Samples of a single operation are left as they are,
//! as their tail is their own.
//!
//! Where samples are no work but time that is waited, actors say themselves what processor time they took, all roles together
//! ([`WORK`]).

use std::collections::BTreeMap;

use rusqlite::types::Type;
use rusqlite::{OptionalExtension, Row};
use tollway_core::{Spread, Tally};
use tollway_stats::{Interval, t_interval};

use crate::column::{from_json, unusable};
use crate::{PointId, Result, Store};

/// The delay beyond which something else must have run, in seconds: as of the gap detector.
const GAP: f64 = 2e-6;

/// The counter of tallies that is work, in ticks, warm-up included.
pub const WORK: &str = "work";

/// Share of intervals that hold the true value.
const CONFIDENCE: f64 = 0.95;

/// The work of one block's trials, taken together.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BlockWork {
    /// Which block.
    pub block: u32,
    /// Ticks per operation.
    pub ticks: f64,
    /// How often each counted gate was passed, per operation.
    pub visits: BTreeMap<String, f64>,
    /// What the actors counted besides, in all its trials.
    pub counters: BTreeMap<String, u64>,
    /// How often a sampling profiler found each part of the work, in all its trials.
    pub samples: BTreeMap<String, u64>,
}

/// Sums over a block's trials.
#[derive(Default)]
struct Sums {
    ops: f64,
    ticks: f64,
    passed: BTreeMap<String, f64>,
    counters: BTreeMap<String, u64>,
    samples: BTreeMap<String, u64>,
    /// Operations during which visits were counted; warm-up included.
    counted: f64,
}

impl Sums {
    fn add(&mut self, spread: &Spread, tally: &Tally, hz: f64) {
        let counted = *tally.counters.get("operations").unwrap_or(&spread.ops) as f64;
        if let Some(work) = tally.counters.get(WORK) {
            self.ops += counted;
            self.ticks += *work as f64;
        } else {
            let lost = if spread.batch > 1 { spread.excess(GAP * hz) } else { 0.0 };
            self.ops += spread.ops as f64;
            self.ticks += spread.ticks as f64 - lost;
        }
        self.counted += counted;
        for (gate, visits) in &tally.visits {
            *self.passed.entry(gate.clone()).or_default() += *visits as f64;
        }
        for (name, count) in &tally.counters {
            *self.counters.entry(name.clone()).or_default() += count;
        }
        for (part, count) in &tally.samples {
            *self.samples.entry(part.clone()).or_default() += count;
        }
    }

    fn of_block(self, block: u32) -> BlockWork {
        let Sums { ops, ticks, passed, counters, samples, counted } = self;
        let visits = passed.into_iter().map(|(gate, n)| (gate, n / counted)).collect();
        BlockWork { block, ticks: ticks / ops, visits, counters, samples }
    }
}

impl Store {
    /// The work of each block of a point, by block. Empty where it has no trial.
    pub fn work_by_block(&self, point: PointId) -> Result<Vec<BlockWork>> {
        let sums = self.sql(|db| {
            let hz: Option<f64> = db
                .prepare_cached("SELECT hz FROM run JOIN point ON point.run = run.id WHERE point.id = ?1")?
                .query_row([point], |row| row.get(0))
                .optional()?;
            let mut sums: BTreeMap<u32, Sums> = BTreeMap::new();
            let mut statement =
                db.prepare_cached("SELECT block, spread, tally FROM trial WHERE point = ?1")?;
            let mut rows = statement.query([point])?;
            while let (Some(row), Some(hz)) = (rows.next()?, hz) {
                sums.entry(row.get(0)?).or_default().add(&spread(row)?, &from_json(row, 2)?, hz);
            }
            Ok(sums)
        })?;
        Ok(sums.into_iter().filter(|(_, s)| s.ops > 0.0).map(|(block, s)| s.of_block(block)).collect())
    }

    /// The work of a point, in ticks per operation, with its interval over blocks; `None` with fewer than two blocks.
    pub fn work(&self, point: PointId) -> Result<Option<Interval>> {
        let blocks: Vec<f64> = self.work_by_block(point)?.iter().map(|b| b.ticks).collect();
        Ok(t_interval(&blocks, CONFIDENCE).ok().map(|i| Interval { lo: i.lo.max(0.0), ..i }))
    }
}

fn spread(row: &Row<'_>) -> rusqlite::Result<Spread> {
    let bytes = row.get_ref(1)?.as_blob().map_err(|e| unusable(1, Type::Blob, e))?;
    Spread::from_bytes(bytes).map_err(|e| unusable(1, Type::Blob, e))
}

#[cfg(test)]
mod tests {
    use tollway_core::Recorder;

    use super::*;

    #[test]
    fn what_an_interruption_took_is_no_work() {
        let mut recorder = Recorder::new();
        recorder.set_batch(100);
        for i in 0..1000 {
            recorder.sample(if i == 500 { 10_000 + 3_000_000 } else { 10_000 });
        }
        let spread = recorder.spread();
        let mut sums = Sums::default();
        sums.add(&spread, &Tally::default().visited("read", 50_000).counter("dropped", 7), 2.5e9);
        sums.add(&spread, &Tally::default().visited("read", 50_000).counter("dropped", 2), 2.5e9);
        let work = sums.of_block(3);
        assert_eq!(work.counters["dropped"], 9);
        assert!(spread.mean().unwrap() > 120.0);
        assert!((work.ticks - 100.0).abs() < 0.1, "{work:?}");
        assert_eq!(work.visits["read"], 0.5);
    }

    #[test]
    fn who_waits_says_what_it_worked() {
        let mut recorder = Recorder::new();
        (0..100).for_each(|_| recorder.sample(50_000));
        let mut sums = Sums::default();
        // Ten of them in the warm-up.
        let tally = Tally::default().counter("operations", 110).counter(WORK, 330_000).visited("kick", 55);
        sums.add(&recorder.spread(), &tally, 2.5e9);
        let work = sums.of_block(0);
        assert_eq!((work.ticks, work.visits["kick"]), (3000.0, 0.5));
    }

    #[test]
    fn single_operations_keep_their_tail() {
        let mut recorder = Recorder::new();
        (0..99).for_each(|_| recorder.sample(10_000));
        recorder.sample(1_010_000);
        let mut sums = Sums::default();
        sums.add(&recorder.spread(), &Tally::default(), 2.5e9);
        assert_eq!(sums.of_block(0).ticks, 20_000.0);
    }
}
