//! Predictions: frozen before the first trial of their point, graded whenever they are read.

use jiff::Timestamp;
use rusqlite::{OptionalExtension, params};
use serde::{Deserialize, Serialize};
use tollway_core::Forecast;
use tollway_stats::Interval;

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
    /// The word for it.
    pub outcome: Outcome,
}

/// Whether a prediction was borne out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// The figure lies in the prediction's interval, ends included.
    Holds,
    /// It does not.
    Missed,
    /// The interval of the prediction or of the figure is so wide that neither is shown.
    SaysNothing,
}

/// The widest interval that decides anything, as its upper end over its lower one: a prediction of "between 100 and
/// 200" is just of use, one of "between 100 and 300" would hold nearly whatever came.
pub const WIDEST: f64 = 2.0;

/// Compares a forecast with the figure that was measured, in ticks per operation.
///
/// Where one of the two intervals is wider than [`WIDEST`], a prediction can only be missed, and only by a figure
/// whose interval has nothing in common with the prediction's.
pub fn grade(forecast: &Forecast, measured: &Interval) -> Grade {
    let ratio = measured.estimate / forecast.ticks;
    let inside = forecast.lo <= measured.estimate && measured.estimate <= forecast.hi;
    let apart = measured.hi < forecast.lo || forecast.hi < measured.lo;
    let decides = |lo: f64, hi: f64| hi <= WIDEST * lo;
    let both_decide = decides(forecast.lo, forecast.hi) && decides(measured.lo, measured.hi);
    let outcome = match (inside, both_decide) {
        (true, true) => Outcome::Holds,
        (false, true) => Outcome::Missed,
        (_, false) if apart => Outcome::Missed,
        (_, false) => Outcome::SaysNothing,
    };
    Grade { ratio: ratio.is_finite().then_some(ratio), outcome }
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
