//! Pace: what passes on the clock from one operation of an actor to its next, waiting included.
//!
//! It is worked out of rates, by the mean over a trial's measured actors: those who share something get, all together, what
//! there is of it, however unevenly.

use std::collections::BTreeMap;

use rusqlite::OptionalExtension;
use tollway_core::ActorRecord;
use tollway_stats::{Interval, figure, summary};

use crate::column::from_json;
use crate::{PointId, Result, Store};

/// Share of intervals that hold the true value.
const CONFIDENCE: f64 = 0.95;

impl Store {
    /// The pace of a point's measured actors, in ticks per operation: median over blocks of the median over trials. `None`
    /// where a trial has no rate, or there are fewer than two.
    pub fn pace(&self, point: PointId) -> Result<Option<Interval>> {
        let trials = self.of_tenants(point, pace)?;
        // On logarithms, so that neither a pace nor the rate that it is the reciprocal of can come out below nothing.
        let logs: Option<Vec<Vec<f64>>> = trials
            .into_values()
            .map(|block| block.into_iter().map(|pace| Some(pace?.ln())).collect())
            .collect();
        let found = logs.and_then(|blocks| figure(&blocks, CONFIDENCE).ok());
        let ends = found.map(|log| [log.estimate, log.lo, log.hi].map(f64::exp));
        Ok(ends.and_then(|[estimate, lo, hi]| Interval::new(estimate, lo, hi, CONFIDENCE).ok()))
    }

    /// The same block by block: the mean over a block's trials. Blocks with a trial that has none are left out.
    pub fn pace_by_block(&self, point: PointId) -> Result<BTreeMap<u32, f64>> {
        Ok(means(self.of_tenants(point, pace)?))
    }

    /// Operations a second of all measured actors together, block by block: the mean over a block's trials. Blocks with a trial
    /// that has no rate are left out.
    pub fn rate_by_block(&self, point: PointId) -> Result<BTreeMap<u32, f64>> {
        Ok(means(self.of_tenants(point, |actors, _| rate(actors))?))
    }

    /// How many actors are measured in a trial of a point; `None` without a trial.
    pub fn measured_actors(&self, point: PointId) -> Result<Option<usize>> {
        let count =
            |actors: &[ActorRecord], _| Some(actors.iter().filter(|a| a.ops.is_some()).count() as f64);
        let trials = self.of_tenants(point, count)?;
        Ok(trials.into_values().flatten().flatten().next().map(|count| count as usize))
    }

    /// The rate of the fastest measured actor over that of the slowest, block by block: the mean over a block's trials. Blocks
    /// in which one got nothing are left out.
    pub fn unevenness_by_block(&self, point: PointId) -> Result<BTreeMap<u32, f64>> {
        Ok(means(self.of_tenants(point, |actors, _| unevenness(actors))?))
    }

    /// A number made of each trial's actors and the ticks of a second, by block.
    fn of_tenants(
        &self,
        point: PointId,
        number: impl Fn(&[ActorRecord], f64) -> Option<f64>,
    ) -> Result<BTreeMap<u32, Vec<Option<f64>>>> {
        self.sql(|db| {
            let hz: Option<f64> = db
                .prepare_cached("SELECT hz FROM run JOIN point ON point.run = run.id WHERE point.id = ?1")?
                .query_row([point], |row| row.get(0))
                .optional()?;
            let mut trials: BTreeMap<u32, Vec<Option<f64>>> = BTreeMap::new();
            let mut statement = db.prepare_cached("SELECT block, actors FROM trial WHERE point = ?1")?;
            let mut rows = statement.query([point])?;
            while let (Some(row), Some(hz)) = (rows.next()?, hz) {
                let actors: Vec<ActorRecord> = from_json(row, 1)?;
                trials.entry(row.get(0)?).or_default().push(number(&actors, hz));
            }
            Ok(trials)
        })
    }
}

fn means(blocks: BTreeMap<u32, Vec<Option<f64>>>) -> BTreeMap<u32, f64> {
    let mean = |trials: Vec<Option<f64>>| {
        let trials: Option<Vec<f64>> = trials.into_iter().collect();
        summary::mean(&trials?).ok()
    };
    blocks.into_iter().filter_map(|(block, trials)| Some((block, mean(trials)?))).collect()
}

/// Operations a second, all together; `None` where one was measured and has no rate, or none did anything.
pub(crate) fn rate(actors: &[ActorRecord]) -> Option<f64> {
    let rates: Option<Vec<f64>> = actors.iter().filter(|a| a.ops.is_some()).map(ActorRecord::rate).collect();
    Some(rates?.iter().sum::<f64>()).filter(|sum| *sum > 0.0)
}

/// The fastest over the slowest; `None` where there is none, or one did nothing.
fn unevenness(actors: &[ActorRecord]) -> Option<f64> {
    let rates = || actors.iter().filter_map(ActorRecord::rate);
    let slowest = rates().reduce(f64::min).filter(|slowest| *slowest > 0.0)?;
    Some(rates().fold(slowest, f64::max) / slowest)
}

/// Ticks an operation, by the mean rate of those that were measured; `None` where they did nothing.
fn pace(actors: &[ActorRecord], hz: f64) -> Option<f64> {
    let rates: Vec<f64> = actors.iter().filter_map(ActorRecord::rate).collect();
    let sum: f64 = rates.iter().sum();
    (sum > 0.0).then(|| hz * rates.len() as f64 / sum)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uneven_tenants_have_the_pace_of_their_mean_rate() {
        let actor = |ops| ActorRecord { ops, window_ns: Some(1_000_000_000), ..ActorRecord::default() };
        // 300 and 100 a second, and one that was not measured: 200 a second each, 5 ms of a 1 GHz clock.
        let actors = [actor(Some(300)), actor(Some(100)), actor(None)];
        assert_eq!((pace(&actors, 1e9), rate(&actors)), (Some(5e6), Some(400.0)));
        assert_eq!(rate(&[actor(Some(300)), ActorRecord { ops: Some(1), ..ActorRecord::default() }]), None);
        assert_eq!(pace(&[actor(Some(0))], 1e9), None);
        assert_eq!(pace(&[], 1e9), None);
        assert_eq!(unevenness(&actors), Some(3.0));
        assert_eq!((unevenness(&[actor(Some(0)), actor(Some(1))]), unevenness(&[])), (None, None));
    }
}
