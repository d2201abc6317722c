//! Predictions: frozen before the first trial of their point, graded whenever they are read.

use jiff::Timestamp;
use rusqlite::{OptionalExtension, params};
use serde::{Deserialize, Serialize};
use tollway_core::Forecast;

use crate::column::{from_json, micros, time};
use crate::{PointId, Result, Store};

/// A prediction as it is stored.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Prediction {
    /// When it was made: before the first trial of its point. Kept to the microsecond.
    pub made_at: Timestamp,
    /// What it says, and from which tolls.
    pub forecast: Forecast,
}

/// What became of a prediction.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Grade {
    /// Measured over predicted: 1.1 says that it cost 10 % more. `None` where nothing was predicted to cost nothing.
    pub ratio: Option<f64>,
    /// Whether what was measured lies in the prediction's interval, ends included.
    pub inside: bool,
}

/// Compares a forecast with what was measured, in ticks per operation.
pub fn grade(forecast: &Forecast, measured: f64) -> Grade {
    let ratio = measured / forecast.ticks;
    Grade {
        ratio: ratio.is_finite().then_some(ratio),
        inside: forecast.lo <= measured && measured <= forecast.hi,
    }
}

impl Store {
    /// Freezes a prediction for a point.
    ///
    /// It is refused where the point has a trial or a prediction already; the file itself enforces that.
    pub fn predict(&mut self, point: PointId, forecast: &Forecast, made_at: Timestamp) -> Result<()> {
        let text = self.exactly(forecast)?;
        self.sql(|db| {
            db.prepare_cached("INSERT INTO prediction (point, made_at_us, forecast) VALUES (?1, ?2, ?3)")?
                .execute(params![point, micros(made_at), text])
        })?;
        Ok(())
    }

    /// The prediction for a point, if one was made.
    pub fn prediction(&self, point: PointId) -> Result<Option<Prediction>> {
        self.sql(|db| {
            db.prepare_cached("SELECT made_at_us, forecast FROM prediction WHERE point = ?1")?
                .query_row([point], |row| {
                    Ok(Prediction { made_at: time(row, 0)?, forecast: from_json(row, 1)? })
                })
                .optional()
        })
    }
}
