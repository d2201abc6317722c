//! What the trials of a point came to.

use std::collections::BTreeMap;

use tollway_core::{Error, Result, SUB_TICKS, Spread, Taken};
use tollway_stats::Location;
use tollway_store::{PointState, RunId, Store};

use super::asked::At;

/// What a point came to; times in nanoseconds.
#[derive(Clone, Debug)]
pub struct Observed {
    /// Of all trials together.
    pub spread: Spread,
    /// Mean of each block.
    pub means: Vec<f64>,
    /// 99th percentile of each.
    pub p99s: Vec<f64>,
    /// Ticks of a nanosecond.
    per_ns: f64,
    counters: BTreeMap<String, u64>,
    /// What was taken of watched cores: of each trial a list for each core.
    pub taken: Vec<Vec<Vec<Taken>>>,
}

impl Observed {
    /// Reads it.
    ///
    /// # Errors
    /// If it was skipped or failed, or the store cannot be read.
    pub fn read(store: &Store, run: RunId, at: &At, hz: f64) -> anyhow::Result<Observed> {
        let is = |p: &&tollway_store::Point| {
            let spec = &p.spec;
            spec.path == at.path && spec.variant == at.variant && spec.params == at.params
        };
        let points = store.points(run)?;
        let Some(point) = points.iter().find(is) else {
            return Err(Error::Wrong(format!("run {run} has no point {} {}", at.variant, at.params)).into());
        };
        match &point.state {
            PointState::Skipped(missing) => return Err(Error::Missing(missing.clone()).into()),
            PointState::Failed(why) => {
                return Err(Error::Wrong(format!("{} could not be measured: {why}", point.spec.title)).into());
            }
            PointState::Pending | PointState::Done => {}
        }
        let per_ns = hz / 1e9;
        let (mut counters, mut taken) = (BTreeMap::new(), Vec::new());
        let mut blocks: BTreeMap<u32, Vec<(f64, f64)>> = BTreeMap::new();
        for trial in store.trials(run)?.iter().filter(|trial| trial.point == point.id) {
            blocks.entry(trial.block).or_default().push((trial.mean / per_ns, trial.p99 / per_ns));
            taken.push(trial.tally.taken.clone());
            for (name, count) in &trial.tally.counters {
                *counters.entry(name.clone()).or_insert(0) += count;
            }
        }
        let mean = |of: fn(&(f64, f64)) -> f64| {
            let of_block = |block: &Vec<(f64, f64)>| block.iter().map(of).sum::<f64>() / block.len() as f64;
            blocks.values().map(of_block).collect()
        };
        let spread = store.spread(point.id)?;
        if spread.samples() == 0 {
            return Err(Error::Wrong(format!("{} has no trial", point.spec.title)).into());
        }
        Ok(Observed { means: mean(|x| x.0), p99s: mean(|x| x.1), spread, per_ns, counters, taken })
    }

    /// Mean of all that was timed.
    pub fn mean(&self) -> f64 {
        self.spread.mean().unwrap_or(f64::NAN) / self.per_ns
    }

    /// Times, ascending, and how often each was seen.
    pub fn seen(&self) -> impl Iterator<Item = (f64, u64)> {
        let parts = self.per_ns * SUB_TICKS as f64;
        self.spread.counts.iter().map(move |(value, often)| (*value as f64 / parts, *often))
    }

    /// What this share of all does not exceed.
    pub fn quantile(&self, share: f64) -> f64 {
        self.spread.quantile(share).unwrap_or(f64::NAN) / self.per_ns
    }

    /// How exactly the mean is known, by the means of blocks.
    ///
    /// # Errors
    /// With fewer than two blocks.
    pub fn location(&self) -> Result<Location> {
        Location::student(&self.means)
            .map_err(|e| Error::Wrong(format!("an interval of a mean response: {e}; give more runs")))
    }

    /// A counter of the trials, all together.
    pub fn count(&self, name: &str) -> f64 {
        self.counters.get(name).copied().unwrap_or_default() as f64
    }
}
