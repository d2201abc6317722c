//! A program's bill in the store, so that two of them can be compared: of two versions, two kernels, a host and a guest.
//!
//! A run has one trial of each point for each time that the program was watched; these are its blocks. The point of the kernel's time keeps the whole bill.

use std::collections::BTreeMap;

use jiff::Timestamp;
use tollway_core::{Boundary, Params, Recorder, Tally, Value};
use tollway_store::{NewTrial, PointId, PointSpec, PointState, Result, RunId, RunSpec, RunState, Store};

use crate::document::{BillDocument, LineDocument};

/// The path of such points.
pub const PATH: &str = "program";
/// The points of which one keeps the bill: the kernel's time, or where its own account does not tell what the tolls come to.
const KERNEL: &str = "kernel-time";
const TOLLS: &str = "tolls";
/// The bill, in what is kept around that point's trial.
const BILL: &str = "bill";

/// A run of bills that grows.
pub struct Kept {
    run: RunId,
    hz: f64,
    program: String,
    points: BTreeMap<String, PointId>,
    block: u32,
}

impl Kept {
    /// Begins a run. `program` is what is compared with what: the name that the program was started by.
    ///
    /// # Errors
    /// The store's.
    pub fn begin(store: &mut Store, spec: &RunSpec, program: &str) -> Result<Kept> {
        let run = store.begin_run(spec)?;
        Ok(Kept { run, hz: spec.hz, program: program.into(), points: BTreeMap::new(), block: 0 })
    }

    /// Its number.
    pub fn run(&self) -> RunId {
        self.run
    }

    /// Keeps a bill; it is on the disk when this returns.
    ///
    /// # Errors
    /// The store's.
    pub fn add(&mut self, store: &mut Store, bill: &BillDocument) -> Result<()> {
        let meters = serde_json::json!({ BILL: bill });
        let first = match bill.kernel.filter(|_| bill.is_sampled) {
            Some(kernel) => (KERNEL, "processor time in the kernel", kernel.ns, meters),
            None => (TOLLS, "sum of the tolls", bill.explained.ns, meters),
        };
        let whole = [
            first,
            ("processor-time", "processor time, all of it", bill.ran, serde_json::Value::Null),
            (
                "user-time",
                "processor time in user mode",
                bill.user.unwrap_or_default(),
                serde_json::Value::Null,
            ),
            ("elapsed", "time that went by", bill.watching.watched_s * 1e9, serde_json::Value::Null),
        ];
        for (variant, title, ns, meters) in whole {
            self.record(store, bill, (variant, None, title), ns, (Tally::default(), meters))?;
        }
        for line in &bill.lines {
            if let Some(inside) = line.inside {
                let title = format!("{}, in the kernel", line.what);
                let told = (Tally::default().counter("times", line.count as u64), serde_json::Value::Null);
                self.record(store, bill, ("call", Some(line), &title), inside, told)?;
            }
        }
        self.block += 1;
        Ok(())
    }

    /// Ends the run.
    ///
    /// # Errors
    /// The store's.
    pub fn end(&self, store: &mut Store, state: RunState) -> Result<()> {
        for point in self.points.values() {
            store.set_point_state(*point, &PointState::Done)?;
        }
        store.end_run(self.run, state, Timestamp::now())
    }

    fn record(
        &mut self,
        store: &mut Store,
        bill: &BillDocument,
        (variant, line, title): (&str, Option<&LineDocument>, &str),
        ns: f64,
        (tally, meters): (Tally, serde_json::Value),
    ) -> Result<()> {
        let ticks = ns / 1e9 * self.hz;
        // A program that did nothing has a bill all the same.
        if ticks < 1.0 && meters.is_null() {
            return Ok(());
        }
        let mut params = Params::new().with("program", Value::Text(self.program.clone()));
        if let Some(line) = line {
            params = params.with("call", Value::Text(line.what.clone()));
        }
        let name = format!("{variant} {}", line.map_or("", |line| line.what.as_str()));
        let point = match self.points.get(&name) {
            Some(point) => *point,
            None => {
                let spec = PointSpec {
                    side: None,
                    path: PATH.into(),
                    variant: variant.into(),
                    params,
                    operation: bill.per.clone(),
                    toll: None,
                    boundary: Some(Boundary::UserKernel),
                    gates: Vec::new(),
                    changes: None,
                    yields: Vec::new(),
                    headline: line.is_none(),
                    title: title.into(),
                    caveats: String::new(),
                };
                let point = store.add_points(self.run, &[spec])?.into_iter().next().expect("one for one");
                self.points.insert(name, point);
                point
            }
        };
        let mut recorder = Recorder::new();
        recorder.set_batch((bill.count.round() as u64).clamp(1, u64::from(u32::MAX)) as u32);
        recorder.sample(ticks.round().max(1.0) as u64);
        let trial = NewTrial {
            block: self.block,
            ordinal: 0,
            started: Timestamp::now(),
            spread: recorder.spread(),
            noise: None,
            tally,
            meters,
            lost_ticks: 0.0,
            actors: Vec::new(),
        };
        store.record_trial(point, &trial).map(drop)
    }
}

/// The bills of a run, in the order in which they were kept; empty where it has none.
///
/// # Errors
/// The store's.
pub fn bills_of(store: &Store, run: RunId) -> Result<Vec<BillDocument>> {
    let points = store.points(run)?;
    let keeps = |variant: &str| variant == KERNEL || variant == TOLLS;
    let mut trials = Vec::new();
    for point in points.iter().filter(|point| point.spec.path == PATH && keeps(&point.spec.variant)) {
        trials.extend(store.trials_of(point.id)?);
    }
    trials.sort_by_key(|trial| trial.block);
    let bills =
        trials.into_iter().filter_map(|trial| serde_json::from_value(trial.meters.get(BILL)?.clone()).ok());
    Ok(bills.collect())
}
