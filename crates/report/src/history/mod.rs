//! How figures went from run to run: the runs of a store, and rows of theirs over time.
//!
//! Runs of different times are compared unpaired: whatever else changed between them is in the ratio, and
//! every form says so. Runs are in the order of their numbers: a clock of day is set back. Only runs of one
//! machine are put beside each other. That is not the machine's id, which a new kernel changes and equal
//! machines share: it is the host, its processor and what it runs on, so that a kernel, microcode or program
//! that changed is a mark in the row.

mod changed;
mod runs;
mod select;
mod terminal;

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

use tollway_core::Params;
use tollway_store::{Point, Run, RunId, Store, Trial};

pub(crate) use changed::same_machine;
pub use runs::history;
pub(crate) use runs::{KILLED, lasted};
pub(crate) use terminal::{changed, sparkline};

use crate::Result;
use crate::document::rate::{self, CONFIDENCE};
use crate::document::{
    HistoryDocument, MomentDocument, RowHistoryDocument, SCHEMA_VERSION, SinceDocument, SinceVerdict, Span,
    causes,
};

/// What makes two points of different runs the same row.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Row {
    path: String,
    variant: String,
    // Debug tells a word from a number: `size=64` and `size="64"` are not one row.
    params: String,
    side: Option<String>,
}

impl Row {
    fn of(path: &str, variant: &str, params: &Params, side: Option<&String>) -> Row {
        Row { path: path.into(), variant: variant.into(), params: format!("{params:?}"), side: side.cloned() }
    }

    fn of_point(point: &Point) -> Row {
        let spec = &point.spec;
        Row::of(&spec.path, &spec.variant, &spec.params, spec.side.as_ref())
    }
}

/// How rows of a store went from run to run.
#[derive(Debug)]
pub struct RowsOverTime {
    document: HistoryDocument,
}

impl RowsOverTime {
    /// The rows that were asked for by path, variant, title or toll, each word of a wish somewhere in them; all their
    /// runs on the machine of the newest, at most `last` of them. `None` where no run has such a row.
    ///
    /// # Errors
    /// Where the store cannot be read.
    pub fn from_store(store: &Store, wishes: &[String], last: usize) -> Result<Option<RowsOverTime>> {
        let mut points = store.measured_points(None)?;
        points.retain(|point| select::wanted(point, wishes));
        let Some(newest) = points.last().map(|point| point.run) else { return Ok(None) };
        let (rows, elsewhere) = rows(store, points, newest, last)?;
        let document = HistoryDocument {
            schema_version: SCHEMA_VERSION,
            paired: false,
            machine: store.run(newest)?.spec.machine,
            runs_elsewhere: elsewhere,
            rows,
        };
        Ok(Some(RowsOverTime { document }))
    }

    /// Everything that is told, in base units.
    pub fn document(&self) -> &HistoryDocument {
        &self.document
    }

    /// For a terminal of `width` columns; `None` where the output is no terminal.
    pub fn terminal(&self, width: Option<usize>) -> String {
        terminal::all(&self.document, width)
    }
}

/// How the rows of a run went before it on the same machine and in it, by the points' numbers; at most `last` runs of each,
/// and only rows that have an earlier one.
pub(crate) fn of_run(
    store: &Store,
    run: RunId,
    last: usize,
    paths: &BTreeSet<String>,
) -> Result<BTreeMap<i64, RowHistoryDocument>> {
    let own = store.points(run)?;
    let mut found = BTreeMap::new();
    for path in paths {
        let mut points = store.measured_points(Some(path))?;
        let mine: BTreeMap<Row, i64> =
            own.iter().filter(|p| p.spec.path == **path).map(|p| (Row::of_point(p), p.id.0)).collect();
        points.retain(|point| mine.contains_key(&Row::of_point(point)));
        points.retain(|point| point.run <= run);
        for row in rows(store, points, run, last)?.0 {
            let params = row.params.iter().fold(Params::new(), |all, (k, v)| all.with(k.clone(), v.clone()));
            let key = Row::of(&row.path, &row.variant, &params, row.side.as_ref());
            if let Some(id) = mine.get(&key).filter(|_| row.runs.len() > 1) {
                found.insert(*id, row);
            }
        }
    }
    Ok(found)
}

/// The points as rows over time, in the order of their newest run, and how many runs were of other machines.
fn rows(
    store: &Store,
    points: Vec<Point>,
    newest: RunId,
    last: usize,
) -> Result<(Vec<RowHistoryDocument>, u64)> {
    let mut runs: BTreeMap<RunId, Run> = BTreeMap::new();
    for point in &points {
        if let Entry::Vacant(entry) = runs.entry(point.run) {
            entry.insert(store.run(point.run)?);
        }
    }
    let Some(here) = runs.get(&newest).map(|run| run.spec.fingerprint.clone()) else {
        return Ok((Vec::new(), 0));
    };
    let elsewhere = runs.values().filter(|run| !changed::same_machine(&run.spec.fingerprint, &here)).count();
    let mut by_row: BTreeMap<Row, Vec<Point>> = BTreeMap::new();
    for point in points {
        if changed::same_machine(&runs[&point.run].spec.fingerprint, &here) {
            by_row.entry(Row::of_point(&point)).or_default().push(point);
        }
    }
    let mut rows: Vec<(_, RowHistoryDocument)> = Vec::new();
    for points in by_row.into_values() {
        let skipped = points.len().saturating_sub(last);
        let place = points.last().map(|point| (std::cmp::Reverse(point.run), point.id));
        if let Some(row) = row(store, &points[skipped..], &runs)? {
            rows.push((place, row));
        }
    }
    rows.sort_by_key(|(place, _)| *place);
    Ok((rows.into_iter().map(|(_, row)| row).collect(), elsewhere as u64))
}

/// A row with its runs, the oldest first; `None` where no run has a figure.
fn row(store: &Store, points: &[Point], runs: &BTreeMap<RunId, Run>) -> Result<Option<RowHistoryDocument>> {
    let Some(spec) = points.last().map(|point| &point.spec) else { return Ok(None) };
    let unit = spec.yields.first().map(|first| first.unit.per_second());
    let mut moments: Vec<MomentDocument> = Vec::new();
    for point in points {
        let run = &runs[&point.run];
        let trials = store.trials_of(point.id)?;
        let same_unit = point.spec.yields.first().map(|first| first.unit.per_second()) == unit;
        let Some(figure) = figure(point, &trials, run.spec.hz).filter(|_| same_unit) else { continue };
        let changed = match moments.last() {
            Some(before) => changed::between(&runs[&RunId(before.run)], run),
            None => Vec::new(),
        };
        let quiet = trials.iter().filter(|trial| trial.quiet).count();
        moments.push(MomentDocument {
            run: run.id.0,
            title: run.spec.title.clone(),
            started: run.spec.started,
            figure,
            trials: point.trials,
            blocks: trials.iter().map(|t| t.block).collect::<BTreeSet<_>>().len() as u32,
            quiet_share: quiet as f64 / trials.len() as f64,
            noise: most_frequent(&trials),
            before: None,
            best: None,
            changed,
        });
    }
    let more_is_better = unit.is_some();
    compare(&mut moments, more_is_better);
    Ok((!moments.is_empty()).then(|| RowHistoryDocument {
        path: spec.path.clone(),
        variant: spec.variant.clone(),
        params: spec.params.iter().map(|(k, v)| (k.to_string(), v.clone())).collect(),
        side: spec.side.clone(),
        title: spec.title.clone(),
        unit: unit.unwrap_or("ns").into(),
        more_is_better,
        runs: moments,
    }))
}

/// The headline rate, else the median in nanoseconds.
fn figure(point: &Point, trials: &[Trial], hz: f64) -> Option<Span> {
    if !point.spec.yields.is_empty() {
        return rate::of_trials(trials, &point.spec.yields).first().map(|rate| rate.per_second);
    }
    let mut blocks: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
    for trial in trials {
        blocks.entry(trial.block).or_default().push(trial.median);
    }
    let median = tollway_stats::figure(&blocks.into_values().collect::<Vec<_>>(), CONFIDENCE).ok()?;
    Some(Span { estimate: median.estimate, lo: median.lo.max(0.0), hi: median.hi }.times(1e9 / hz))
}

fn most_frequent(trials: &[Trial]) -> Option<String> {
    let mut reasons: BTreeMap<String, usize> = BTreeMap::new();
    for cause in trials.iter().filter_map(|t| t.noise.as_ref()).flat_map(|noise| causes(noise)) {
        *reasons.entry(cause).or_default() += 1;
    }
    reasons.into_iter().max_by_key(|(_, n)| *n).map(|(cause, _)| cause)
}

/// Holds each moment against the one before and the best.
fn compare(moments: &mut [MomentDocument], more_is_better: bool) {
    let worth = |m: &MomentDocument| if more_is_better { m.figure.estimate } else { -m.figure.estimate };
    let best = moments.iter().max_by(|a, b| worth(a).total_cmp(&worth(b))).map(|m| (m.run, m.figure));
    let mut before: Option<(i64, Span)> = None;
    for moment in moments {
        let since = |(run, that): (i64, Span)| {
            let ratio = moment.figure.over(that);
            let (more, less) = (ratio.is_some_and(|r| r.lo > 1.0), ratio.is_some_and(|r| r.hi < 1.0));
            let verdict = match (more, less) {
                (true, _) if more_is_better => SinceVerdict::Better,
                (_, true) if !more_is_better => SinceVerdict::Better,
                (false, false) => SinceVerdict::NotSeparable,
                _ => SinceVerdict::Worse,
            };
            SinceDocument { run, ratio, verdict }
        };
        moment.before = before.map(since);
        moment.best = best.filter(|(run, _)| *run != moment.run).map(since);
        before = Some((moment.run, moment.figure));
    }
}
