//! What is left of a run that did not end: where the lab goes on.

use std::collections::BTreeSet;

use rusqlite::OptionalExtension;

use crate::{Point, PointId, Result, Run, RunId, RunState, Store};

/// The place of a trial in its run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TrialMark {
    /// Its point.
    pub point: PointId,
    /// Its block.
    pub block: u32,
    /// Its place in the order of the run.
    pub ordinal: u32,
}

/// A run that was begun and has neither completed nor failed.
#[derive(Clone, Debug, PartialEq)]
pub struct Unfinished {
    /// The run. Its process may still be there ([`Run::is_measured`]): the caller looks.
    pub run: Run,
    /// Its points, in the order in which they were added.
    pub points: Vec<Point>,
    /// The trials that it has.
    pub trials: BTreeSet<TrialMark>,
}

impl Store {
    /// The newest unfinished run, or that one; `None` where there is none, or where that one has ended for good.
    pub fn unfinished(&self, run: Option<RunId>) -> Result<Option<Unfinished>> {
        let run = match run {
            Some(run) => Some(run),
            None => self.sql(|db| {
                db.query_row(
                    "SELECT id FROM run WHERE state IN ('running', 'interrupted')
                     ORDER BY id DESC LIMIT 1",
                    [],
                    |row| row.get(0),
                )
                .optional()
            })?,
        };
        let Some(run) = run.map(|run| self.run(run)).transpose()? else { return Ok(None) };
        if !matches!(run.state, RunState::Running | RunState::Killed | RunState::Interrupted) {
            return Ok(None);
        }
        let points = self.points(run.id)?;
        let trials = self.sql(|db| {
            db.prepare_cached(
                "SELECT point, block, ordinal FROM point JOIN trial ON trial.point = point.id WHERE run = ?1",
            )?
            .query_map([run.id], |row| {
                Ok(TrialMark { point: row.get(0)?, block: row.get(1)?, ordinal: row.get(2)? })
            })?
            .collect()
        })?;
        Ok(Some(Unfinished { run, points, trials }))
    }
}
