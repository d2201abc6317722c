//! A run, read from the store and ready to be written in any form.

use std::collections::{BTreeMap, BTreeSet};

use tollway_core::Spread;
use tollway_store::{PointRecord, RunId, RunState, Store};

use crate::Result;
use crate::document::{EarlierDocument, MomentDocument, PointDocument, RunDocument, SampleKind};
use crate::html::Distribution;

/// So many earlier runs of a row are shown beside it, the latest.
const EARLIER: usize = 11;

/// The report of a run.
#[derive(Debug)]
pub struct RunReport {
    document: RunDocument,
    distributions: Vec<Option<Distribution>>,
}

impl RunReport {
    /// Reads a run with all its figures.
    ///
    /// # Errors
    /// Where the store cannot be read or has no such run.
    pub fn from_store(store: &Store, run: RunId) -> Result<RunReport> {
        let record = store.record(run)?;
        let mut document = RunDocument::of(&record);
        (document.bills, document.changes) = crate::bill::of_run(store, run, document.run.hz)?;
        document.remarks = crate::remark::remarks(&document);
        for (record, point) in record.points.iter().zip(&mut document.points) {
            if !point.rates.is_empty() && point.samples == SampleKind::Operations {
                point.p999 = crate::timed::figures(&by_block(store, record)?, document.run.hz).p999;
            }
        }
        let on_card = document.points.iter().filter(|p| document.on_card(p));
        let of_card: BTreeSet<String> = on_card.map(|p| p.path.clone()).collect();
        let mut histories = crate::history::of_run(store, run, EARLIER + 1, &of_card)?;
        for point in &mut document.points {
            let Some(mut row) = histories.remove(&point.id) else { continue };
            let own = row.runs.pop_if(|moment| moment.run == run.0);
            point.changed = own.map(|moment| moment.changed).unwrap_or_default();
            let earlier = |moment: MomentDocument| EarlierDocument {
                run: moment.run,
                started: moment.started,
                figure: moment.figure,
                quiet_share: moment.quiet_share,
                changed: moment.changed,
            };
            point.earlier = row.runs.into_iter().map(earlier).collect();
        }
        let distributions = record
            .points
            .iter()
            .zip(&document.points)
            .map(|(record, point)| match point.median {
                Some(_) => Ok(Distribution::of(&store.spread(record.point.id)?, document.run.hz)),
                None => Ok(None),
            })
            .collect::<Result<_>>()?;
        Ok(RunReport { document, distributions })
    }

    /// Everything that the report says, in base units.
    pub fn document(&self) -> &RunDocument {
        &self.document
    }

    /// Whether the run was interrupted, or some of it failed, and it has no figure: what is made of it takes the place
    /// of nothing. Where all was skipped that is what there is to tell.
    pub fn has_come_to_nothing(&self) -> bool {
        let has_figure =
            |point: &PointDocument| point.median.is_some() || point.mean.is_some() || !point.rates.is_empty();
        let has_failed = |point: &PointDocument| point.error.is_some();
        let RunDocument { run, points, .. } = &self.document;
        (run.state == RunState::Interrupted.name() || points.iter().any(has_failed))
            && !points.iter().any(has_figure)
    }

    /// The price list and what is remarkable, for a terminal of `width` columns; `None` where the output is no terminal:
    /// unwrapped text without bars. Styles are in it as escape sequences: write it through `anstream`.
    pub fn terminal(&self, width: Option<usize>) -> String {
        crate::terminal::run(&self.document, width)
    }

    /// What a person sees of a run of several paths, for a terminal: the price list, the score card, the headlines, what is remarkable. Of a run
    /// of one path all that [`terminal`](Self::terminal) has.
    pub fn summary(&self, width: Option<usize>) -> String {
        crate::terminal::summary(&self.document, width)
    }

    /// What was measured, where and how quietly, for a terminal.
    pub fn head(&self, width: Option<usize>) -> String {
        crate::terminal::head(&self.document, width)
    }

    /// The bills alone, for a terminal.
    pub fn bills(&self, width: Option<usize>) -> String {
        crate::bill::terminal::all(&self.document, width).join("\n")
    }

    /// The bills as bars, each cut into its gates, for a terminal; empty where there is none.
    pub fn drawn(&self, width: Option<usize>) -> String {
        crate::bill::drawn::all(&self.document, width)
    }

    /// The document as JSON, with a newline at the end.
    ///
    /// # Errors
    /// None that a stored run can bring about.
    pub fn json(&self) -> Result<String> {
        Ok(serde_json::to_string_pretty(&self.document)? + "\n")
    }

    /// The figures as CSV (RFC 4180): a line for each point.
    pub fn csv(&self) -> String {
        crate::csv::run(&self.document)
    }

    /// The price list as Markdown.
    pub fn markdown(&self) -> String {
        crate::markdown::run(&self.document)
    }

    /// One page that needs no other file.
    ///
    /// # Errors
    /// None that a stored run can bring about.
    pub fn html(&self) -> Result<String> {
        crate::html::page(&self.document, &self.distributions, false)
    }

    /// The same page with the bills first, for a run that was made for them.
    ///
    /// # Errors
    /// As of [`html`](Self::html).
    pub fn html_of_bills(&self) -> Result<String> {
        crate::html::page(&self.document, &self.distributions, true)
    }
}

/// What a point's trials recorded, block by block.
fn by_block(store: &Store, record: &PointRecord) -> Result<BTreeMap<u32, Spread>> {
    let mut blocks: BTreeMap<u32, Spread> = BTreeMap::new();
    for trial in &record.measured {
        blocks.entry(trial.block).or_default().merge(&store.spread_of_trial(trial.id)?);
    }
    Ok(blocks)
}
