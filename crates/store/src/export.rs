//! A whole run as one value, for whoever writes it as JSON or CSV.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use crate::{Figure, Point, Prediction, Result, Run, RunId, Store, Trial};

/// A run with everything in it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunRecord {
    /// The run. Times are RFC 3339; its `hz` turns ticks into seconds.
    #[serde(flatten)]
    pub run: Run,
    /// Its points, in the order in which they were added.
    pub points: Vec<PointRecord>,
}

/// A point with everything in it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PointRecord {
    /// The point.
    #[serde(flatten)]
    pub point: Point,
    /// What it costs; `None` where it has no trial.
    pub figure: Option<Figure>,
    /// What was predicted for it, if anything was; the grade is in the figure.
    pub prediction: Option<Prediction>,
    /// Its trials, in the order in which they were measured.
    pub measured: Vec<Trial>,
}

impl Store {
    /// A run with all points, figures, predictions and trials, without the distributions.
    pub fn record(&self, run: RunId) -> Result<RunRecord> {
        // All of it as of one moment, though a run may be writing.
        let reading = self.told(self.connection.unchecked_transaction())?;
        let mut measured: HashMap<_, Vec<Trial>> = HashMap::new();
        for trial in self.trials(run)? {
            measured.entry(trial.point).or_default().push(trial);
        }
        let mut points = Vec::new();
        for point in self.points(run)? {
            points.push(PointRecord {
                figure: self.figure(point.id)?,
                prediction: self.prediction(point.id)?,
                measured: measured.remove(&point.id).unwrap_or_default(),
                point,
            });
        }
        let mut run = self.stored_run(run)?;
        self.told(reading.finish())?;
        run.state = self.seen(run.id, run.state, run.pid, &run.spec.machine)?;
        Ok(RunRecord { run, points })
    }
}
