//! Trials: one measured window each, never changed once written.

use jiff::Timestamp;
use rusqlite::types::Type;
use rusqlite::{OptionalExtension, Row, params};
use serde::{Deserialize, Serialize};
use tollway_core::{ActorRecord, Spread, Tally};

use crate::column::{from_json, json, micros, time, unsigned, unusable};
use crate::{PointId, Result, RunId, Store, TrialId};

/// A trial that was just measured.
#[derive(Clone, Debug, PartialEq)]
pub struct NewTrial {
    /// Which set of freshly started processes it ran in.
    pub block: u32,
    /// Its place in the order of the run; unique within its point and block.
    pub ordinal: u32,
    /// When its window opened; kept to the microsecond.
    pub started: Timestamp,
    /// What was recorded; median, mean and the rest are taken from it.
    pub spread: Spread,
    /// Why it is not quiet; `None` where it is.
    pub noise: Option<String>,
    /// What its actors counted, all together.
    pub tally: Tally,
    /// What the counters around it showed. The store does not look inside.
    pub meters: serde_json::Value,
    /// Ticks of its window that something else took.
    pub lost_ticks: f64,
    /// What each of its actors did and used, in the plan's order of roles.
    pub actors: Vec<ActorRecord>,
}

/// A trial as it is stored; its distribution is read by [`Store::spread`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Trial {
    /// Its number.
    pub id: TrialId,
    /// Its point.
    pub point: PointId,
    /// Which set of freshly started processes it ran in.
    pub block: u32,
    /// Its place in the order of the run.
    pub ordinal: u32,
    /// When its window opened.
    pub started: Timestamp,
    /// Median of its samples, in ticks per operation.
    pub median: f64,
    /// Mean over its operations, in ticks per operation.
    pub mean: f64,
    /// 99th percentile of its samples, in ticks per operation.
    pub p99: f64,
    /// Smallest sample, in ticks per operation.
    pub min: f64,
    /// Largest sample, in ticks per operation.
    pub max: f64,
    /// Operations in its window.
    pub ops: u64,
    /// Samples of them.
    pub samples: u64,
    /// Operations that one sample covers.
    pub batch: u32,
    /// Whether the machine was quiet: little steal, little foreign CPU time.
    pub quiet: bool,
    /// Why it was not.
    pub noise: Option<String>,
    /// What its actors counted, all together.
    pub tally: Tally,
    /// What the counters around it showed.
    pub meters: serde_json::Value,
    /// Ticks of its window that something else took.
    pub lost_ticks: f64,
    /// What each of its actors did and used, in the plan's order of roles.
    pub actors: Vec<ActorRecord>,
}

/// What [`read_trial`] reads.
const TRIAL_COLUMNS: &str = "trial.id, point, block, ordinal, started_us, median_ticks, mean_ticks, p99_ticks, min_ticks, \
                                        max_ticks, ops, samples, trial.batch, noise, lost_ticks, actors, tally, meters";

impl Trial {
    /// Operations in a second of all actors that were measured; `None` where one has no rate, or none did anything.
    pub fn rate(&self) -> Option<f64> {
        crate::pace::rate(&self.actors)
    }
}

impl Store {
    /// Writes a trial; it is on the disk when this returns.
    ///
    /// A trial without a sample is refused: it has no figure, which is not the figure zero.
    pub fn record_trial(&mut self, point: PointId, trial: &NewTrial) -> Result<TrialId> {
        let spread = &trial.spread;
        let (Some(median), Some(mean), Some(p99), Some(min), Some(max)) = (
            spread.quantile(0.5),
            spread.mean(),
            spread.quantile(0.99),
            spread.quantile(0.0),
            spread.quantile(1.0),
        ) else {
            return Err(self.refused("a trial without a sample is no trial; say that its point failed"));
        };
        let count = |what: &str, n: u64| {
            i64::try_from(n).map_err(|_| self.refused(format!("{n} {what} are more than a window can have")))
        };
        let (ops, samples) = (count("operations", spread.ops)?, count("samples", spread.samples())?);
        if !trial.lost_ticks.is_finite() {
            return Err(self.refused(format!("{} ticks cannot be lost", trial.lost_ticks)));
        }
        let (actors, tally) = (self.exactly(&trial.actors)?, self.exactly(&trial.tally)?);
        let meters = json(&trial.meters).map_err(|e| self.refused(e.to_string()))?;
        // One statement is one transaction; the trigger that counts the trial is part of it.
        self.sql(|db| {
            db.prepare_cached(
                "INSERT INTO trial (point, block, ordinal, started_us, median_ticks, mean_ticks, p99_ticks, min_ticks,
                 max_ticks, ops, samples, batch, lost_ticks, noise, actors, tally, meters, spread)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18)",
            )?
            .insert(params![
                point,
                trial.block,
                trial.ordinal,
                micros(trial.started),
                median,
                mean,
                p99,
                min,
                max,
                ops,
                samples,
                spread.batch.max(1),
                trial.lost_ticks,
                trial.noise,
                actors,
                tally,
                meters,
                spread.to_bytes(),
            ])
        })
        .map(TrialId)
    }

    /// All trials of a run, in the order in which they were measured.
    pub fn trials(&self, run: RunId) -> Result<Vec<Trial>> {
        self.sql(|db| {
            db.prepare_cached(&format!(
                "SELECT {TRIAL_COLUMNS} FROM point JOIN trial ON trial.point = point.id WHERE run = ?1
                 ORDER BY ordinal, trial.id"
            ))?
            .query_map([run], read_trial)?
            .collect()
        })
    }

    /// The trials of a point, in the order in which they were measured.
    pub fn trials_of(&self, point: PointId) -> Result<Vec<Trial>> {
        self.sql(|db| {
            db.prepare_cached(&format!(
                "SELECT {TRIAL_COLUMNS} FROM trial WHERE point = ?1 ORDER BY ordinal, trial.id"
            ))?
            .query_map([point], read_trial)?
            .collect()
        })
    }

    /// The distributions of all trials of a point, joined: what a histogram of it shows.
    pub fn spread(&self, point: PointId) -> Result<Spread> {
        self.sql(|db| {
            let mut all = Spread::default();
            let mut statement =
                db.prepare_cached("SELECT spread FROM trial WHERE point = ?1 ORDER BY block, ordinal")?;
            let mut rows = statement.query([point])?;
            while let Some(row) = rows.next()? {
                let bytes = row.get_ref(0)?.as_blob().map_err(|e| unusable(0, Type::Blob, e))?;
                let one = Spread::from_bytes(bytes).map_err(|e| unusable(0, Type::Blob, e))?;
                // Sums beyond 64 bits cannot have been measured.
                let sums = [(all.ops, one.ops), (all.ticks, one.ticks), (all.samples(), one.samples())];
                if sums.iter().any(|(a, b)| a.checked_add(*b).is_none()) {
                    return Err(rusqlite::Error::IntegralValueOutOfRange(0, one.ops.cast_signed()));
                }
                all.merge(&one);
            }
            Ok(all)
        })
    }

    /// The distribution of one trial.
    pub fn spread_of_trial(&self, trial: TrialId) -> Result<Spread> {
        let bytes = self.sql(|db| {
            db.prepare_cached("SELECT spread FROM trial WHERE id = ?1")?
                .query_row([trial], |row| row.get::<_, Vec<u8>>(0))
                .optional()
        })?;
        let bytes = bytes.ok_or_else(|| self.no_such(format!("trial {trial}")))?;
        Spread::from_bytes(&bytes).map_err(|e| self.damaged(e.to_string()))
    }
}

fn read_trial(row: &Row<'_>) -> rusqlite::Result<Trial> {
    let noise: Option<String> = row.get(13)?;
    Ok(Trial {
        id: row.get(0)?,
        point: row.get(1)?,
        block: row.get(2)?,
        ordinal: row.get(3)?,
        started: time(row, 4)?,
        median: row.get(5)?,
        mean: row.get(6)?,
        p99: row.get(7)?,
        min: row.get(8)?,
        max: row.get(9)?,
        ops: unsigned(row, 10)?,
        samples: unsigned(row, 11)?,
        batch: row.get(12)?,
        quiet: noise.is_none(),
        noise,
        lost_ticks: row.get(14)?,
        actors: from_json(row, 15)?,
        tally: from_json(row, 16)?,
        meters: from_json(row, 17)?,
    })
}
