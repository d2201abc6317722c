//! Runs: a set of trials with the machine's fingerprint.

use std::process;

use jiff::Timestamp;
use rusqlite::{OptionalExtension, Row, params};
use serde::{Deserialize, Serialize};
use tollway_core::GuestFacts;

use crate::column::{from_json, from_word, json, maybe_time, micros, time, unsigned};
use crate::{Result, RunId, Store};

/// What is known of a run when it begins.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunSpec {
    /// When it began; kept to the microsecond.
    pub started: Timestamp,
    /// What a person calls it.
    pub title: String,
    /// The command line.
    pub argv: Vec<String>,
    /// Tollway's version.
    pub version: String,
    /// The seed of everything random in it.
    pub seed: u64,
    /// The kind of machine, by an id that stays the same when it restarts: equal machines have equal tolls and share it.
    pub machine: String,
    /// Ticks per second of the run's clock.
    pub hz: f64,
    /// The labels of what is compared with what; empty where nothing is.
    pub sides: Vec<String>,
    /// The machine, in full.
    pub fingerprint: serde_json::Value,
    /// What the lab needs in order to go on with it: presets, order, options. The store does not look inside.
    pub plan: serde_json::Value,
}

/// How far a run has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RunState {
    /// Begun and not ended: its process measures, or was killed.
    Running,
    /// Begun and not ended, and its process is gone. No file says so: it is told on reading where that is [wanted](Store::tell_killed).
    Killed,
    /// Ended with all that was planned.
    Complete,
    /// Ended before all was measured, by a person or a signal.
    Interrupted,
    /// Ended by an error.
    Failed,
}

impl RunState {
    /// The word in the file and in reports.
    pub fn name(self) -> &'static str {
        match self {
            RunState::Running => "running",
            RunState::Killed => "killed",
            RunState::Complete => "complete",
            RunState::Interrupted => "interrupted",
            RunState::Failed => "failed",
        }
    }
}

/// A run as it is stored.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// Its number.
    pub id: RunId,
    /// How far it has come.
    pub state: RunState,
    /// When it ended, if it did; kept to the microsecond.
    pub ended: Option<Timestamp>,
    /// The process that measures, or measured last.
    pub pid: u32,
    /// The virtual machines that it used so far.
    pub guests: GuestFacts,
    /// What was known when it began.
    #[serde(flatten)]
    pub spec: RunSpec,
}

/// A run in a list.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunSummary {
    /// Its number.
    pub id: RunId,
    /// How far it has come.
    pub state: RunState,
    /// When it began.
    pub started: Timestamp,
    /// When it ended, if it did.
    pub ended: Option<Timestamp>,
    /// What a person calls it.
    pub title: String,
    /// Tollway's version.
    pub version: String,
    /// The machine.
    pub machine: String,
    /// How many points it has.
    pub points: u64,
    /// How many of them were skipped because the machine lacks something.
    pub skipped: u64,
    /// How many of them failed.
    pub failed: u64,
    /// How many trials it has.
    pub trials: u64,
}

/// Reads neither the trials, which are many, nor what is large in a run. Runs are in the order of their
/// numbers: a clock of day is set back.
const LIST: &str =
    "SELECT run.id, started_us, ended_us, run.state, run.title, version, machine, count(point.id),
     count(*) FILTER (WHERE point.state = 'skipped'), count(*) FILTER (WHERE point.state = 'failed'),
     coalesce(sum(trials), 0), pid
     FROM run LEFT JOIN point ON point.run = run.id GROUP BY run.id ORDER BY run.id DESC";

impl Store {
    /// Writes a new run in state running, measured by this process.
    pub fn begin_run(&mut self, spec: &RunSpec) -> Result<RunId> {
        if !spec.hz.is_finite() || spec.hz <= 0.0 {
            return Err(self.refused(format!("a clock has more than 0 ticks per second, not {}", spec.hz)));
        }
        let texts = (|| {
            Ok::<_, serde_json::Error>((
                json(&spec.argv)?,
                json(&spec.sides)?,
                json(&spec.fingerprint)?,
                json(&spec.plan)?,
            ))
        })();
        let (argv, sides, fingerprint, plan) = texts.map_err(|e| self.refused(e.to_string()))?;
        self.sql(|db| {
            db.prepare_cached(
                "INSERT INTO run (started_us, state, pid, title, version, machine, hz, seed, argv, sides, fingerprint,
                 plan) VALUES (?1, 'running', ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
            )?
            .insert(params![
                micros(spec.started),
                process::id(),
                spec.title,
                spec.version,
                spec.machine,
                spec.hz,
                spec.seed.cast_signed(),
                argv,
                sides,
                fingerprint,
                plan,
            ])
        })
        .map(RunId)
    }

    /// Says what virtual machines a run has used so far; what was said before is replaced.
    pub fn note_guests(&mut self, run: RunId, guests: &GuestFacts) -> Result<()> {
        let text = self.exactly(guests)?;
        let changed = self.sql(|db| {
            db.prepare_cached("UPDATE run SET guests = ?2 WHERE id = ?1")?.execute(params![run, text])
        })?;
        if changed == 0 { Err(self.no_such(format!("run {run}"))) } else { Ok(()) }
    }

    /// Replaces the plan of a run, of which no trial was played yet.
    pub fn replan(&mut self, run: RunId, plan: &serde_json::Value) -> Result<()> {
        let text = json(plan).map_err(|e| self.refused(e.to_string()))?;
        let changed = self.sql(|db| {
            db.prepare_cached(
                "UPDATE run SET plan = ?2 WHERE id = ?1
                 AND NOT EXISTS (SELECT 1 FROM point WHERE run = ?1 AND trials > 0)",
            )?
            .execute(params![run, text])
        })?;
        if changed > 0 {
            return Ok(());
        }
        self.run(run)?;
        Err(self.refused(format!("run {run} has trials, which were played by the plan that it has")))
    }

    /// Ends a run in that state, which is neither running nor killed.
    pub fn end_run(&mut self, run: RunId, state: RunState, ended: Timestamp) -> Result<()> {
        if matches!(state, RunState::Running | RunState::Killed) {
            let refused = format!("a run does not end {}; give another state", state.name());
            return Err(self.refused(refused));
        }
        let changed = self.sql(|db| {
            db.prepare_cached("UPDATE run SET state = ?2, ended_us = ?3 WHERE id = ?1")?.execute(params![
                run,
                state.name(),
                micros(ended)
            ])
        })?;
        if changed == 0 { Err(self.no_such(format!("run {run}"))) } else { Ok(()) }
    }

    /// Takes up a run that was left unfinished: it is running again, measured by this process.
    pub fn reopen_run(&mut self, run: RunId) -> Result<()> {
        let changed = self.sql(|db| {
            db.prepare_cached(
                "UPDATE run SET state = 'running', ended_us = NULL, pid = ?2
                 WHERE id = ?1 AND state IN ('running', 'interrupted')",
            )?
            .execute(params![run, process::id()])
        })?;
        if changed > 0 {
            return Ok(());
        }
        let state = self.run(run)?.state.name();
        Err(self.refused(format!("run {run} is {state}: there is nothing to go on with; begin a new run")))
    }

    /// One run.
    pub fn run(&self, run: RunId) -> Result<Run> {
        let run = self.stored_run(run)?;
        Ok(Run { state: self.seen(run.id, run.state, run.pid, &run.spec.machine)?, ..run })
    }

    /// One run, as the file has it.
    pub(crate) fn stored_run(&self, run: RunId) -> Result<Run> {
        self.sql(|db| {
            db.prepare_cached(
                "SELECT id, started_us, ended_us, state, pid, title, version, machine, hz, seed, argv, sides,
                 fingerprint, plan, guests FROM run WHERE id = ?1",
            )?
            .query_row([run], read_run)
            .optional()
        })?
        .ok_or_else(|| self.no_such(format!("run {run}")))
    }

    /// All runs, newest first.
    pub fn runs(&self) -> Result<Vec<RunSummary>> {
        let stored: Vec<(RunSummary, u32)> = self.sql(|db| {
            db.prepare_cached(LIST)?
                .query_map([], |row| {
                    let summary = RunSummary {
                        id: row.get(0)?,
                        started: time(row, 1)?,
                        ended: maybe_time(row, 2)?,
                        state: from_word(row, 3)?,
                        title: row.get(4)?,
                        version: row.get(5)?,
                        machine: row.get(6)?,
                        points: unsigned(row, 7)?,
                        skipped: unsigned(row, 8)?,
                        failed: unsigned(row, 9)?,
                        trials: unsigned(row, 10)?,
                    };
                    Ok((summary, row.get(11)?))
                })?
                .collect()
        })?;
        let seen = |(run, pid): (RunSummary, u32)| {
            Ok(RunSummary { state: self.seen(run.id, run.state, pid, &run.machine)?, ..run })
        };
        stored.into_iter().map(seen).collect()
    }
}

fn read_run(row: &Row<'_>) -> rusqlite::Result<Run> {
    Ok(Run {
        id: row.get(0)?,
        state: from_word(row, 3)?,
        ended: maybe_time(row, 2)?,
        pid: row.get(4)?,
        guests: from_json(row, 14)?,
        spec: RunSpec {
            started: time(row, 1)?,
            title: row.get(5)?,
            version: row.get(6)?,
            machine: row.get(7)?,
            hz: row.get(8)?,
            seed: unsigned(row, 9)?,
            argv: from_json(row, 10)?,
            sides: from_json(row, 11)?,
            fingerprint: from_json(row, 12)?,
            plan: from_json(row, 13)?,
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_does_not_read_trials() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path().join("t.db")).unwrap();
        let plan: Vec<String> = store
            .sql(|db| {
                db.prepare(&format!("EXPLAIN QUERY PLAN {LIST}"))?.query_map([], |r| r.get(3))?.collect()
            })
            .unwrap();
        assert!(plan.iter().any(|step| step.contains("run")), "{plan:?}");
        assert!(plan.iter().all(|step| !step.contains("trial")), "{plan:?}");
    }
}
