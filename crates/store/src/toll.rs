//! Tolls: figures of points that measure a crossing, by key, for one machine or one run.

use std::collections::BTreeMap;

use jiff::Timestamp;
use rusqlite::types::Type;
use rusqlite::{Row, params};
use tollway_core::{Toll, TollKey, TollSource};

use crate::column::{micros, unusable};
use crate::{PointId, Result, RunId, Store};

/// The tolls of a machine or a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tolls(BTreeMap<TollKey, Toll>);

impl Tolls {
    /// All of them, by key.
    pub fn iter(&self) -> impl Iterator<Item = &Toll> {
        self.0.values()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The same costs in ticks of a clock of that rate (ticks per second): runs may have counted by different clocks.
    pub fn in_ticks_of(mut self, hz: f64) -> Tolls {
        for toll in self.0.values_mut() {
            let scale = hz / toll.hz;
            let Toll { median, lo, hi, work, work_lo, work_hi, .. } = toll;
            for ticks in [median, lo, hi, work, work_lo, work_hi] {
                *ticks *= scale;
            }
            toll.hz = hz;
        }
        self
    }

    /// Adds those of `other` whose keys are not here: the tolls of a run first, then those of its machine.
    pub fn or(mut self, other: Tolls) -> Tolls {
        for (key, toll) in other.0 {
            self.0.entry(key).or_insert(toll);
        }
        self
    }
}

impl TollSource for Tolls {
    fn toll(&self, key: &TollKey) -> Option<Toll> {
        self.0.get(key).cloned()
    }
}

/// A point that measures a toll.
struct Candidate {
    key: TollKey,
    point: PointId,
    run: RunId,
    hz: f64,
}

impl Store {
    /// The newest toll for each key on that machine, from runs that began at `since` or later.
    ///
    /// A toll comes from a point that is done; sides of a comparison provide none, as they differ from the machine's
    /// usual state by intent.
    pub fn tolls(&self, machine: &str, since: Timestamp) -> Result<Tolls> {
        let candidates = self.sql(|db| {
            db.prepare_cached(
                "SELECT toll, point.id, run.id, hz FROM run JOIN point ON point.run = run.id
                 WHERE machine = ?1 AND started_us >= ?2 AND toll IS NOT NULL AND side IS NULL
                 AND point.state = 'done' ORDER BY run.id DESC, point.id DESC",
            )?
            .query_map(params![machine, micros(since)], read_candidate)?
            .collect::<rusqlite::Result<Vec<_>>>()
        })?;
        self.first_of_each(candidates)
    }

    /// The tolls that a run has measured so far itself, points that failed excepted.
    pub fn tolls_of_run(&self, run: RunId) -> Result<Tolls> {
        let candidates = self.sql(|db| {
            db.prepare_cached(
                "SELECT toll, point.id, run.id, hz FROM run JOIN point ON point.run = run.id
                 WHERE run.id = ?1 AND toll IS NOT NULL AND point.state IN ('pending', 'done')
                 ORDER BY side IS NOT NULL, point.id DESC",
            )?
            .query_map([run], read_candidate)?
            .collect::<rusqlite::Result<Vec<_>>>()
        })?;
        self.first_of_each(candidates)
    }

    /// The first candidate of each key that has an interval.
    fn first_of_each(&self, candidates: Vec<Candidate>) -> Result<Tolls> {
        // One look at the file instead of two a toll.
        let reading = self.told(self.connection.unchecked_transaction())?;
        let mut tolls = Tolls::default();
        for Candidate { key, point, run, hz } in candidates {
            if tolls.0.contains_key(&key) {
                continue;
            }
            let Some(figure) = self.figure(point)? else { continue };
            let (Some(median), Some(work)) = (figure.median, self.work(point)?.or(figure.mean)) else {
                continue;
            };
            let toll = Toll {
                key: key.clone(),
                median: median.estimate,
                lo: median.lo,
                hi: median.hi,
                work: work.estimate,
                work_lo: work.lo,
                work_hi: work.hi,
                hz,
                run: run.0,
            };
            tolls.0.insert(key, toll);
        }
        self.told(reading.finish())?;
        Ok(tolls)
    }
}

fn read_candidate(row: &Row<'_>) -> rusqlite::Result<Candidate> {
    let key: String = row.get(0)?;
    Ok(Candidate {
        key: key.parse().map_err(|e| unusable(0, Type::Text, e))?,
        point: row.get(1)?,
        run: row.get(2)?,
        hz: row.get(3)?,
    })
}
