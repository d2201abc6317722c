//! One replication: its warm-up, its batches, its end.

use crate::SimError;
use crate::engine::{Engine, Progress};
use crate::histogram::Histogram;
use crate::lindley::Lindley;
use crate::outcome::Invariant;
use crate::system::System;
use crate::totals::{Layout, whole};

/// Either way to simulate.
pub(crate) enum Machine<'s> {
    Events(Box<Engine<'s>>),
    Lindley(Box<Lindley<'s>>),
}

impl<'s> Machine<'s> {
    fn run(&mut self, target: u64) -> Result<Progress, SimError> {
        match self {
            Machine::Events(engine) => Ok(engine.run(target)?),
            Machine::Lindley(lindley) => lindley.run(target),
        }
    }

    fn left(&self) -> u64 {
        match self {
            Machine::Events(engine) => engine.left(),
            Machine::Lindley(lindley) => lindley.left,
        }
    }

    fn events(&self) -> u64 {
        match self {
            Machine::Events(engine) => engine.events,
            // An arrival and a departure each.
            Machine::Lindley(lindley) => 2 * lindley.left,
        }
    }

    fn write(&mut self, row: &mut Vec<f64>) {
        match self {
            Machine::Events(engine) => engine.write(row),
            Machine::Lindley(lindley) => lindley.write(row),
        }
    }

    fn histograms(&mut self) -> Histograms<'_> {
        match self {
            Machine::Events(engine) => engine.histograms(),
            Machine::Lindley(lindley) => lindley.histograms(),
        }
    }

    fn laws(&mut self, layout: Layout) -> Vec<Invariant> {
        match self {
            Machine::Events(engine) => engine.laws(layout),
            Machine::Lindley(lindley) => lindley.laws(),
        }
    }
}

/// Times of those who left, and of how long they were held back.
pub(crate) struct Histograms<'a> {
    pub(crate) waits: &'a mut Histogram,
    pub(crate) responses: &'a mut Histogram,
    pub(crate) delays: Option<&'a mut Histogram>,
}

/// What a replication is watched by, after every few thousand events.
pub(crate) trait Watch: Sync {
    /// So many more customers left; whether it shall go on.
    fn go_on(&self, customers: u64) -> bool;
}

/// The totals at the end of the warm-up and of each batch, in a row each.
#[derive(Clone, Debug)]
pub(crate) struct Rows {
    values: Vec<f64>,
    columns: usize,
}

impl Rows {
    pub(crate) fn iter(&self) -> impl Iterator<Item = &[f64]> {
        self.values.chunks_exact(self.columns)
    }

    fn count(&self) -> usize {
        self.values.len() / self.columns
    }
}

/// One replication, which can be gone on with.
pub(crate) struct Replication<'s> {
    machine: Machine<'s>,
    layout: Layout,
    warm_up: u64,
    /// Customers in a batch.
    batch: u64,
    /// The most batches that are kept.
    most: usize,
    rows: Rows,
    events: Option<u64>,
}

impl<'s> Replication<'s> {
    /// At its beginning, with batches for so many customers at first.
    pub(crate) fn new(
        system: &'s System,
        machine: Machine<'s>,
        warm_up: u64,
        first: u64,
        most: usize,
        events: Option<u64>,
    ) -> Self {
        let layout = Layout::new(system);
        let rows = Rows { values: Vec::with_capacity((most + 1) * layout.columns), columns: layout.columns };
        let batch = first.div_ceil(most as u64).max(1);
        Replication { machine, layout, warm_up, batch, most, rows, events }
    }

    /// Goes on until so many customers left after the warm-up; whether it came so far.
    pub(crate) fn advance(&mut self, customers: u64, watch: &dyn Watch) -> Result<bool, SimError> {
        if self.rows.count() == 0 {
            if !self.run_to(self.warm_up, watch)? {
                return Ok(false);
            }
            self.row();
            let histograms = self.machine.histograms();
            histograms.waits.clear();
            histograms.responses.clear();
            histograms.delays.into_iter().for_each(Histogram::clear);
        }
        let end = self.warm_up + customers;
        loop {
            let batches = self.rows.count() as u64 - 1;
            let next = self.warm_up + (batches + 1) * self.batch;
            if next > end {
                return self.run_to(end, watch);
            }
            if batches == self.most as u64 {
                self.join();
                continue;
            }
            if !self.run_to(next, watch)? {
                return Ok(false);
            }
            self.row();
        }
    }

    fn run_to(&mut self, target: u64, watch: &dyn Watch) -> Result<bool, SimError> {
        loop {
            let before = self.machine.left();
            let progress = self.machine.run(target)?;
            if let Some(events) = self.events.filter(|events| self.machine.events() > *events) {
                return Err(SimError::Events { events });
            }
            let go_on = watch.go_on(self.machine.left() - before);
            if progress == Progress::Reached {
                return Ok(true);
            }
            if !go_on {
                return Ok(false);
            }
        }
    }

    /// The end of the warm-up or of a batch.
    fn row(&mut self) {
        self.machine.write(&mut self.rows.values);
    }

    /// Joins batches two and two.
    fn join(&mut self) {
        let columns = self.rows.columns;
        let kept = self.rows.count().div_ceil(2);
        for row in 1..kept {
            self.rows.values.copy_within(2 * row * columns..(2 * row + 1) * columns, row * columns);
        }
        self.rows.values.truncate(kept * columns);
        self.batch *= 2;
    }

    /// Customers who left after the warm-up.
    pub(crate) fn counted(&self) -> u64 {
        if self.rows.count() == 0 { 0 } else { self.machine.left() - self.warm_up.min(self.machine.left()) }
    }

    /// Events, warm-up included.
    pub(crate) fn events(&self) -> u64 {
        self.machine.events()
    }

    /// The rows until now: a batch that is not full belongs to the last full one.
    pub(crate) fn rows(&mut self) -> Rows {
        let mut rows = self.rows.clone();
        if rows.count() > 1 {
            rows.values.truncate((rows.count() - 1) * rows.columns);
        }
        self.machine.write(&mut rows.values);
        rows
    }

    /// Times of those who left after the warm-up.
    pub(crate) fn histograms(&mut self) -> Histograms<'_> {
        self.machine.histograms()
    }

    /// Laws that hold exactly since the beginning, and the totals until now.
    pub(crate) fn laws(&mut self) -> (Vec<Invariant>, Vec<f64>) {
        let mut row = Vec::new();
        self.machine.write(&mut row);
        debug_assert_eq!(row.len(), self.layout.columns);
        debug_assert!(row[whole::TIME].is_finite());
        (self.machine.laws(self.layout), row)
    }
}
