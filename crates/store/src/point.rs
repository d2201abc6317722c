//! Points: one variant at one point of its axes, in one run.

use rusqlite::types::Type;
use rusqlite::{OptionalExtension, Row, TransactionBehavior, params};
use serde::{Deserialize, Serialize};
use tollway_core::{Boundary, Gate, Missing, Params, TollKey, Yield};

use crate::column::{UnknownWord, from_json, from_word, json, unusable, word};
use crate::{PointId, Result, RunId, Store, StoreError};

/// What is known of a point when its run is planned.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PointSpec {
    /// Which side of a comparison it belongs to, by the run's labels.
    pub side: Option<String>,
    /// The path's name.
    pub path: String,
    /// The variant's name.
    pub variant: String,
    /// The value of each of the variant's axes.
    pub params: Params,
    /// What one operation is: "round trip".
    pub operation: String,
    /// The toll that its trials measure, where they measure one.
    pub toll: Option<TollKey>,
    /// The boundary that a price list shows it under.
    pub boundary: Option<Boundary>,
    /// What an operation passes.
    #[serde(default)]
    pub gates: Vec<Gate>,
    /// The variant that this one is a change of.
    #[serde(default)]
    pub changes: Option<String>,
    /// What an operation gives; the first is the headline.
    #[serde(default)]
    pub yields: Vec<Yield>,
    /// Whether it is one of those that tell most of its path.
    #[serde(default)]
    pub headline: bool,
    /// What a person reads.
    pub title: String,
    /// What a reader of its figures must know; may be empty.
    pub caveats: String,
}

/// How far a point has come.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "state", content = "why")]
pub enum PointState {
    /// Not all of its trials are done.
    Pending,
    /// All of its trials are done.
    Done,
    /// The machine lacks something: what, and the remedy. It has no figure, which is not the figure zero.
    Skipped(Missing),
    /// It could not be measured, or its result was wrong: its figure must not be used.
    Failed(String),
}

impl PointState {
    /// The word in the file and in reports.
    pub fn name(&self) -> &'static str {
        match self {
            PointState::Pending => "pending",
            PointState::Done => "done",
            PointState::Skipped(_) => "skipped",
            PointState::Failed(_) => "failed",
        }
    }
}

/// A point as it is stored.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// Its number.
    pub id: PointId,
    /// Its run.
    pub run: RunId,
    /// How far it has come.
    #[serde(flatten)]
    pub state: PointState,
    /// Operations that one sample covers, as the pilot found; `None` before the pilot.
    pub batch: Option<u32>,
    /// How many trials it has.
    pub trials: u32,
    /// What was known when the run was planned.
    #[serde(flatten)]
    pub spec: PointSpec,
}

/// What [`read_point`] reads.
pub(crate) const COLUMNS: &str = "id, run, state, missing, error, batch, trials, side, path, variant, params, operation, toll, \
                       boundary, title, caveats, gates, changes, yields, headline";

impl Store {
    /// Adds points to a run, all or none, in this order.
    pub fn add_points(&mut self, run: RunId, points: &[PointSpec]) -> Result<Vec<PointId>> {
        let rows = points
            .iter()
            .map(|p| {
                if let Some(toll) = &p.toll {
                    self.exactly(toll)?;
                }
                let (values, gates) = (self.exactly(&p.params)?, self.exactly(&p.gates)?);
                Ok((p, values, gates, self.exactly(&p.yields)?, p.boundary.and_then(word)))
            })
            .collect::<Result<Vec<_>>>()?;
        let added = (|| {
            let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let mut insert = transaction.prepare_cached(
                "INSERT INTO point (run, side, path, variant, toll, boundary, operation, title, params, caveats, gates, \
                 changes, yields, headline) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)",
            )?;
            let mut ids = Vec::with_capacity(rows.len());
            for (p, values, gates, yields, boundary) in &rows {
                let toll = p.toll.as_ref().map(TollKey::to_string);
                ids.push(PointId(insert.insert(params![
                    run,
                    p.side,
                    p.path,
                    p.variant,
                    toll,
                    boundary,
                    p.operation,
                    p.title,
                    values,
                    p.caveats,
                    gates,
                    p.changes,
                    yields,
                    p.headline,
                ])?));
            }
            drop(insert);
            transaction.commit()?;
            Ok(ids)
        })();
        self.told(added)
    }

    /// Says how far a point has come.
    pub fn set_point_state(&mut self, point: PointId, state: &PointState) -> Result<()> {
        let missing = match state {
            PointState::Skipped(missing) => Some(self.exactly(missing)?),
            _ => None,
        };
        let error = match state {
            PointState::Failed(error) => Some(error),
            _ => None,
        };
        let changed = self.sql(|db| {
            db.prepare_cached("UPDATE point SET state = ?2, missing = ?3, error = ?4 WHERE id = ?1")?
                .execute(params![point, state.name(), missing, error])
        })?;
        if changed == 0 { Err(self.no_such(format!("point {point}"))) } else { Ok(()) }
    }

    /// Freezes the batch that the pilot found: operations that one sample covers, at least 1.
    pub fn set_batch(&mut self, point: PointId, batch: u32) -> Result<()> {
        let changed = self.sql(|db| {
            db.prepare_cached("UPDATE point SET batch = ?2 WHERE id = ?1")?.execute(params![point, batch])
        })?;
        if changed == 0 { Err(self.no_such(format!("point {point}"))) } else { Ok(()) }
    }

    /// One point.
    pub fn point(&self, point: PointId) -> Result<Point> {
        self.sql(|db| {
            db.prepare_cached(&format!("SELECT {COLUMNS} FROM point WHERE id = ?1"))?
                .query_row([point], read_point)
                .optional()
        })?
        .ok_or_else(|| self.no_such(format!("point {point}")))
    }

    /// All points of a run, in the order in which they were added.
    pub fn points(&self, run: RunId) -> Result<Vec<Point>> {
        self.sql(|db| {
            db.prepare_cached(&format!("SELECT {COLUMNS} FROM point WHERE run = ?1 ORDER BY id"))?
                .query_map([run], read_point)?
                .collect()
        })
    }

    /// A value as JSON that reads back as the same value: a number that is not finite does not.
    pub(crate) fn exactly<T>(&self, value: &T) -> Result<String>
    where
        T: Serialize + for<'de> Deserialize<'de> + PartialEq,
    {
        let lost =
            |why: String| -> StoreError { self.refused(format!("a value cannot be kept as it is ({why})")) };
        let text = json(value).map_err(|e| lost(e.to_string()))?;
        match serde_json::from_str::<T>(&text) {
            Ok(same) if same == *value => Ok(text),
            Ok(_) => Err(lost(format!("{text} is another value"))),
            Err(e) => Err(lost(e.to_string())),
        }
    }
}

pub(crate) fn read_point(row: &Row<'_>) -> rusqlite::Result<Point> {
    let word: String = row.get(2)?;
    let state = match &*word {
        "pending" => PointState::Pending,
        "done" => PointState::Done,
        "skipped" => PointState::Skipped(from_json(row, 3)?),
        "failed" => PointState::Failed(row.get(4)?),
        _ => return Err(unusable(2, Type::Text, UnknownWord(word))),
    };
    let toll = row.get::<_, Option<String>>(12)?;
    Ok(Point {
        id: row.get(0)?,
        run: row.get(1)?,
        state,
        batch: row.get(5)?,
        trials: row.get(6)?,
        spec: PointSpec {
            side: row.get(7)?,
            path: row.get(8)?,
            variant: row.get(9)?,
            params: from_json(row, 10)?,
            operation: row.get(11)?,
            toll: toll.map(|key| key.parse().map_err(|e| unusable(12, Type::Text, e))).transpose()?,
            boundary: row.get::<_, Option<String>>(13)?.map(|_| from_word(row, 13)).transpose()?,
            title: row.get(14)?,
            caveats: row.get(15)?,
            gates: from_json(row, 16)?,
            changes: row.get(17)?,
            yields: from_json(row, 18)?,
            headline: row.get(19)?,
        },
    })
}
