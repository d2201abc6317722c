//! Figures: what a point costs, worked out of its trials when it is read.

use std::collections::BTreeMap;

use rusqlite::Statement;
use serde::{Deserialize, Serialize};
use tollway_core::Quoted;
use tollway_stats::{figure, summary, t_interval};

pub use tollway_stats::Interval;

use crate::{Grade, PointId, PointState, Prediction, Result, RunId, Store, grade};

/// Share of intervals that hold the true value.
const CONFIDENCE: f64 = 0.95;

/// What a point costs. There is no figure without an interval: a point with a single trial has `None`, shown as "–".
///
/// The same trials give the same figure, always: nothing in it is drawn at random.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Figure {
    /// Which point.
    pub point: PointId,
    /// How many trials.
    pub trials: u32,
    /// How many sets of freshly started processes they ran in. With one set the intervals cover the repetition within
    /// it only, not the luck of its memory layout.
    pub blocks: u32,
    /// Share of quiet trials, 0 to 1.
    pub quiet: f64,
    /// Operations that one sample covers, the most of any trial: with more than one, quantiles are those of batches.
    pub batch: u32,
    /// Median over blocks of the median over trials of the trials' medians, in ticks per operation: what is quoted.
    pub median: Option<Interval>,
    /// Mean over blocks of the mean over trials of the trials' means, in ticks per operation: what a bill adds up.
    pub mean: Option<Interval>,
    /// As the median, of the trials' 99th percentiles, in ticks per operation.
    pub p99: Option<Interval>,
    /// What was predicted for it, if anything was.
    pub prediction: Option<Prediction>,
    /// The figure that it speaks of, if there is one.
    pub foretold: Option<Interval>,
    /// What became of that, against the figure that it speaks of; [`grade`] compares with anything else.
    pub grade: Option<Grade>,
}

/// The columns of the trials of one point that a figure is made of, by block.
#[derive(Default)]
struct Columns {
    block: Option<u32>,
    trials: u32,
    quiet: u32,
    batch: u32,
    medians: Vec<Vec<f64>>,
    means: Vec<Vec<f64>>,
    p99s: Vec<Vec<f64>>,
}

impl Columns {
    const SQL: &str = "SELECT block, quiet, batch, median_ticks, mean_ticks, p99_ticks FROM trial \
                       WHERE point = ?1 ORDER BY block, ordinal";

    fn read(statement: &mut Statement<'_>, point: PointId) -> rusqlite::Result<Columns> {
        let mut columns = Columns::default();
        let mut rows = statement.query([point])?;
        while let Some(row) = rows.next()? {
            let block = Some(row.get(0)?);
            columns.trials += 1;
            columns.quiet += u32::from(row.get::<_, bool>(1)?);
            columns.batch = columns.batch.max(row.get(2)?);
            for (at, blocks) in [(3, &mut columns.medians), (4, &mut columns.means), (5, &mut columns.p99s)] {
                if block != columns.block {
                    blocks.push(Vec::new());
                }
                blocks.last_mut().expect("a block was begun with its first trial").push(row.get(at)?);
            }
            columns.block = block;
        }
        Ok(columns)
    }

    /// `other`: what the prediction speaks of, where that is neither median nor mean.
    fn figure(&self, point: PointId, prediction: Option<Prediction>, other: Option<Interval>) -> Figure {
        let median = cost(figure(&self.medians, CONFIDENCE).ok());
        let mean = cost(mean_of_blocks(&self.means));
        let predicted = match prediction.as_ref().map(|p| p.forecast.of) {
            Some(Quoted::Work | Quoted::Pace) => &other,
            Some(Quoted::Mean) => &mean,
            Some(Quoted::Median) | None => &median,
        };
        let grade = match (&prediction, predicted) {
            (Some(p), Some(measured)) => Some(grade(&p.forecast, measured)),
            _ => None,
        };
        Figure {
            point,
            trials: self.trials,
            blocks: u32::try_from(self.medians.len()).unwrap_or(u32::MAX),
            quiet: f64::from(self.quiet) / f64::from(self.trials),
            batch: self.batch,
            median,
            foretold: prediction.as_ref().and(*predicted),
            mean,
            p99: cost(figure(&self.p99s, CONFIDENCE).ok()),
            prediction,
            grade,
        }
    }
}

/// Nothing costs less than nothing: an interval that was drawn wide from few blocks ends at zero.
fn cost(interval: Option<Interval>) -> Option<Interval> {
    interval.map(|i| Interval { lo: i.lo.max(0.0), ..i })
}

/// Blocks are the units, or the trials where there is one block.
fn mean_of_blocks(blocks: &[Vec<f64>]) -> Option<Interval> {
    match blocks {
        [trials] => t_interval(trials, CONFIDENCE).ok(),
        _ => {
            let means: Result<Vec<f64>, _> = blocks.iter().map(|trials| summary::mean(trials)).collect();
            t_interval(&means.ok()?, CONFIDENCE).ok()
        }
    }
}

impl Store {
    /// The mean of what was timed, block by block, in ticks per operation: the mean over a block's trials of their means.
    pub fn response_by_block(&self, point: PointId) -> Result<BTreeMap<u32, f64>> {
        const SQL: &str = "SELECT block, avg(mean_ticks) FROM trial WHERE point = ?1 GROUP BY block";
        self.sql(|db| {
            db.prepare_cached(SQL)?.query_map([point], |row| Ok((row.get(0)?, row.get(1)?)))?.collect()
        })
    }

    /// The figure of a point; `None` where it has no trial, or where one of them was found wrong.
    pub fn figure(&self, point: PointId) -> Result<Option<Figure>> {
        if matches!(self.point(point)?.state, PointState::Failed(_)) {
            return Ok(None);
        }
        let prediction = self.prediction(point)?;
        let columns = self.sql(|db| Columns::read(&mut *db.prepare_cached(Columns::SQL)?, point))?;
        let other = match prediction.as_ref().map(|p| p.forecast.of) {
            Some(Quoted::Work) => self.work(point)?,
            Some(Quoted::Pace) => self.pace(point)?,
            Some(Quoted::Median | Quoted::Mean) | None => None,
        };
        Ok((columns.trials > 0).then(|| columns.figure(point, prediction, other)))
    }

    /// The figures of all points of a run that have one, in the order in which the points were added.
    pub fn figures(&self, run: RunId) -> Result<Vec<Figure>> {
        let points: Vec<PointId> = self.sql(|db| {
            db.prepare_cached("SELECT id FROM point WHERE run = ?1 AND trials > 0 ORDER BY id")?
                .query_map([run], |row| row.get(0))?
                .collect()
        })?;
        points.into_iter().filter_map(|point| self.figure(point).transpose()).collect()
    }
}
