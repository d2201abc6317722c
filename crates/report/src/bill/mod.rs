//! Bills: visits × tolls, gate by gate, against the end-to-end cost that was measured on its own.
//!
//! Tolls and path are paired by block: what a block's tolls come to is taken from what the path cost in that block, and
//! the interval is that of the differences. So a machine that was slower for a while leaves nothing unexplained. A toll
//! that two gates share, or that one has less than another, enters each block's sum as it is: nothing counts twice.
//!
//! A gate that another role pays for is no part of the sum. One of which only a knock-out is known is shown with its
//! interval, and a bill that has one among the gates it adds up does not claim to close.

mod changes;
pub(crate) mod drawn;
pub(crate) mod latency;
pub(crate) mod profile;
pub(crate) mod terminal;
pub(crate) mod words;

use std::collections::BTreeMap;

use tollway_core::{Gate, TollKey, Visits};
use tollway_stats::{Interval, summary, t_interval};
use tollway_store::{BlockWork, Point, PointState, RunId, Store};

use crate::Result;
use crate::document::{BillDocument, ChangeDocument, Estimate, GateDocument, Span};

/// Confidence of the intervals.
const CONFIDENCE: f64 = 0.95;

/// A bill closes where what is unexplained is within this share of the whole.
const SHARE: f64 = 0.05;

/// Or within so many times its resolution.
const RESOLUTIONS: f64 = 2.0;

/// Values by block.
pub(crate) type ByBlock = BTreeMap<u32, f64>;

/// The bills of all points of a run that have gates and are no toll themselves, and what their changes bring.
pub(crate) fn of_run(store: &Store, run: RunId, hz: f64) -> Result<(Vec<BillDocument>, Vec<ChangeDocument>)> {
    let points = store.points(run)?;
    let mut tolls = Tolls::of_run(store, &points);
    let mut bills = Vec::new();
    for point in points.iter().filter(|p| p.spec.toll.is_none() && p.spec.side.is_none()) {
        let explained = point.spec.gates.iter().any(|gate| tolls.has(gate));
        let failed = matches!(point.state, PointState::Failed(_));
        if explained && !failed {
            bills.extend(bill(store, &mut tolls, point, hz)?);
        }
    }
    let bills = profile::beside_what_nobody_looked_at(bills);
    let changes = changes::of(store, &bills, hz)?;
    Ok((bills.into_iter().map(|b| b.document).collect(), changes))
}

/// A bill, and what it was made of.
struct Billed<'p> {
    point: &'p Point,
    /// What the gates come to in each block; `None` where one of them is not known.
    sum: Option<ByBlock>,
    /// What the whole cost in each block.
    measured: ByBlock,
    document: BillDocument,
}

/// The tolls that a run measured, block by block.
pub(crate) struct Tolls<'a> {
    store: &'a Store,
    points: &'a [Point],
    known: BTreeMap<TollKey, std::result::Result<ByBlock, String>>,
}

impl<'a> Tolls<'a> {
    pub(crate) fn of_run(store: &'a Store, points: &'a [Point]) -> Tolls<'a> {
        Tolls { store, points, known: BTreeMap::new() }
    }

    /// What a gate of a point costs in each block, an operation and a visit, or why that is not known.
    pub(crate) fn gate(
        &mut self,
        gate: &Gate,
        work: &[BlockWork],
    ) -> Result<std::result::Result<Passed, String>> {
        passed(gate, visits(gate, work).as_ref(), self)
    }

    /// Whether the run was to measure what explains a gate.
    fn has(&self, gate: &Gate) -> bool {
        gate.toll.is_some() && self.points.iter().any(|point| point.spec.toll == gate.toll)
    }

    /// The work of one crossing in each block, or why it is not known.
    fn of(&mut self, key: &TollKey) -> Result<std::result::Result<ByBlock, String>> {
        if let Some(known) = self.known.get(key) {
            return Ok(known.clone());
        }
        let measures = |p: &&Point| p.spec.toll.as_ref() == Some(key) && p.spec.side.is_none();
        let found = match self.points.iter().find(measures) {
            None => Err(format!("the run has no toll `{key}`; measure it in the same run")),
            Some(point) => match &point.state {
                PointState::Skipped(missing) => Err(format!("skipped: {missing}")),
                PointState::Failed(why) => Err(format!("its toll failed: {why}")),
                _ => Ok(ticks(&self.store.work_by_block(point.id)?)),
            },
        };
        self.known.insert(key.clone(), found.clone());
        Ok(found)
    }
}

pub(crate) fn ticks(blocks: &[BlockWork]) -> ByBlock {
    blocks.iter().map(|b| (b.block, b.ticks)).collect()
}

/// A gate's figures by block.
pub(crate) struct Passed {
    pub(crate) a_visit: ByBlock,
    pub(crate) cost: ByBlock,
}

fn bill<'p>(store: &Store, tolls: &mut Tolls<'_>, point: &'p Point, hz: f64) -> Result<Option<Billed<'p>>> {
    let work = store.work_by_block(point.id)?;
    let measured = ticks(&work);
    let Some(whole) = interval(measured.values().copied()) else { return Ok(None) };
    let (mut gates, mut apart) = (Vec::new(), Vec::new());
    let mut sum: ByBlock = measured.keys().map(|block| (*block, 0.0)).collect();
    let (mut explained, mut all_known) = (false, true);
    for gate in &point.spec.gates {
        let visits = visits(gate, &work);
        let passed = passed(gate, visits.as_ref(), tolls)?;
        if gate.apart {
            apart.push(document(gate, visits.as_ref(), passed, None, hz));
            continue;
        }
        let counts = passed.as_ref().ok().filter(|_| !gate.knock_out);
        if let Some(passed) = counts {
            explained = true;
            sum = sum.iter().filter_map(|(b, s)| Some((*b, s + passed.cost.get(b)?))).collect();
        }
        all_known &= counts.is_some();
        gates.push(document(gate, visits.as_ref(), passed, Some(whole.estimate), hz));
    }
    let rest = interval(sum.iter().map(|(block, sum)| measured[block] - sum)).filter(|_| explained);
    let resolution = rest.map(|r| r.half_width());
    let document = BillDocument {
        point: point.id.0,
        path: point.spec.path.clone(),
        variant: point.spec.variant.clone(),
        params: point.spec.params.to_string(),
        operation: point.spec.operation.clone(),
        profile: profile::of(&work, &gates),
        latency: latency::of(&store.stages(point.id)?, hz),
        gates,
        apart,
        sum: interval(sum.values().copied()).filter(|_| explained).map(|s| Estimate::of_ticks(&s, hz)),
        measured: Estimate::of_ticks(&whole, hz),
        unexplained: rest.map(|r| Estimate::of_ticks(&r, hz)),
        unexplained_share: rest.map(|r| r.estimate / whole.estimate),
        resolution_ticks: resolution,
        closes: rest.filter(|_| all_known).map(|r| {
            r.estimate.abs() <= (SHARE * whole.estimate).max(RESOLUTIONS * resolution.unwrap_or_default())
        }),
    };
    Ok(Some(Billed { point, sum: all_known.then_some(sum), measured, document }))
}

/// How often a gate is passed in each block; `None` where that is not known.
fn visits(gate: &Gate, work: &[BlockWork]) -> Option<ByBlock> {
    match gate.visits {
        Visits::Fixed(n) => Some(work.iter().map(|b| (b.block, n)).collect()),
        Visits::Counted => work.iter().map(|b| Some((b.block, *b.visits.get(&gate.name)?))).collect(),
        // How many bytes an operation has is not known here.
        Visits::PerByte(_) => None,
    }
}

/// What a gate costs in each block, or why that is not known.
fn passed(
    gate: &Gate,
    visits: Option<&ByBlock>,
    tolls: &mut Tolls<'_>,
) -> Result<std::result::Result<Passed, String>> {
    let Some(visits) = visits else {
        return Ok(Err("its visits were not counted in every block".into()));
    };
    let Some(key) = &gate.toll else {
        return Ok(Err("no instrument of this machine sees it alone".into()));
    };
    let mut a_visit = match tolls.of(key)? {
        Ok(toll) => toll,
        Err(why) => return Ok(Err(why)),
    };
    if let Some(less) = &gate.less {
        match tolls.of(less)? {
            Ok(less) => a_visit = a_visit.iter().filter_map(|(b, t)| Some((*b, t - less.get(b)?))).collect(),
            Err(why) => return Ok(Err(why)),
        }
    }
    let cost = a_visit.iter().filter_map(|(b, t)| Some((*b, t * visits.get(b)?))).collect();
    Ok(Ok(Passed { a_visit, cost }))
}

fn document(
    gate: &Gate,
    visits: Option<&ByBlock>,
    passed: std::result::Result<Passed, String>,
    whole: Option<f64>,
    hz: f64,
) -> GateDocument {
    let visits: Option<Vec<f64>> = visits.map(|v| v.values().copied().collect());
    let mut row = GateDocument {
        name: gate.name.clone(),
        role: gate.role.clone(),
        visits: visits.and_then(|v| summary::mean(&v).ok()),
        counted: gate.visits == Visits::Counted,
        toll: gate.toll.as_ref().map(TollKey::to_string),
        less: gate.less.as_ref().map(TollKey::to_string),
        a_visit: None,
        cost: None,
        share: None,
        knock_out: gate.knock_out,
        unknown: None,
    };
    match passed {
        Err(why) => row.unknown = Some(why),
        Ok(passed) => {
            let cost = interval(passed.cost.values().copied());
            row.a_visit = interval(passed.a_visit.values().copied()).map(|i| Span {
                estimate: i.estimate,
                lo: i.lo,
                hi: i.hi,
            });
            row.share = cost.zip(whole).map(|(c, whole)| c.estimate / whole);
            row.cost = cost.map(|c| Estimate::of_ticks(&c, hz));
        }
    }
    row
}

pub(crate) fn interval(values: impl Iterator<Item = f64>) -> Option<Interval> {
    t_interval(&values.collect::<Vec<_>>(), CONFIDENCE).ok()
}
