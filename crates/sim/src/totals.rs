//! What is counted and summed while a replication runs, as one row of numbers that only grow. The differences of two rows
//! are what happened in between; every figure is a ratio of such differences.

use crate::system::System;

/// A column of the row.
pub(crate) type Column = usize;

/// Columns of the whole system.
pub(crate) mod whole {
    /// Seconds.
    pub(crate) const TIME: usize = 0;
    /// Customers that came.
    pub(crate) const ENTERED: usize = 1;
    /// … and found a station full.
    pub(crate) const LOST: usize = 2;
    /// … and left as they should.
    pub(crate) const LEFT: usize = 3;
    /// Waits of those who left, seconds.
    pub(crate) const WAIT: usize = 4;
    /// How many of them waited at all.
    pub(crate) const WAITED: usize = 5;
    /// Their times in the system, seconds.
    pub(crate) const RESPONSE: usize = 6;
    /// How long coalescers held them back, seconds.
    pub(crate) const DELAY: usize = 7;
    /// Seconds without anybody inside.
    pub(crate) const IDLE: usize = 8;
    pub(crate) const COLUMNS: usize = 9;
}

/// Columns of a station.
pub(crate) mod station {
    pub(crate) const ARRIVED: usize = 0;
    pub(crate) const LOST: usize = 1;
    /// Customers whose service began.
    pub(crate) const BEGUN: usize = 2;
    pub(crate) const WAIT: usize = 3;
    pub(crate) const WAITED: usize = 4;
    pub(crate) const LEFT: usize = 5;
    pub(crate) const RESPONSE: usize = 6;
    /// Customers inside × seconds.
    pub(crate) const NUMBER: usize = 7;
    /// Customers waiting × seconds.
    pub(crate) const QUEUE: usize = 8;
    /// Servers busy × seconds.
    pub(crate) const BUSY: usize = 9;
    /// Services that began.
    pub(crate) const SERVICES: usize = 10;
    /// Their times, seconds.
    pub(crate) const WORK: usize = 11;
    /// The times that they have on average, seconds.
    pub(crate) const EXPECTED: usize = 12;
    /// The variance of their sum, seconds squared.
    pub(crate) const VARIANCE: usize = 13;
    /// How often the server was woken.
    pub(crate) const WAKES: usize = 14;
    /// How often it looked by itself.
    pub(crate) const POLLS: usize = 15;
    pub(crate) const SETUPS: usize = 16;
    /// Seconds of looking without pause.
    pub(crate) const SPINNING: usize = 17;
    pub(crate) const COLUMNS: usize = 18;
}

/// Columns of a coalescer.
pub(crate) mod coalescer {
    pub(crate) const ARRIVED: usize = 0;
    /// Customers let go.
    pub(crate) const RELEASED: usize = 1;
    /// Releases.
    pub(crate) const RELEASES: usize = 2;
    /// How long those let go were held, seconds.
    pub(crate) const DELAY: usize = 3;
    /// Customers held × seconds.
    pub(crate) const NUMBER: usize = 4;
    pub(crate) const COLUMNS: usize = 5;
}

/// Columns of a class, and of a source.
pub(crate) mod kind {
    pub(crate) const ENTERED: usize = 0;
    pub(crate) const LOST: usize = 1;
    pub(crate) const LEFT: usize = 2;
    pub(crate) const WAIT: usize = 3;
    pub(crate) const WAITED: usize = 4;
    pub(crate) const RESPONSE: usize = 5;
    pub(crate) const DELAY: usize = 6;
    /// Customers inside × seconds.
    pub(crate) const NUMBER: usize = 7;
    /// Times of services that began, seconds.
    pub(crate) const WORK: usize = 8;
    pub(crate) const COLUMNS: usize = 9;
}

/// Where the columns of each part are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Layout {
    coalescers: usize,
    classes: usize,
    sources: usize,
    /// Length of a row.
    pub(crate) columns: usize,
}

impl Layout {
    pub(crate) fn new(system: &System) -> Self {
        let coalescers = whole::COLUMNS + system.stations.len() * station::COLUMNS;
        let classes = coalescers + system.coalescers.len() * coalescer::COLUMNS;
        let sources = classes + system.classes.len() * kind::COLUMNS;
        let several = if system.sources.len() > 1 { system.sources.len() } else { 0 };
        Layout { coalescers, classes, sources, columns: sources + several * kind::COLUMNS }
    }

    pub(crate) fn station(self, i: usize, column: usize) -> Column {
        whole::COLUMNS + i * station::COLUMNS + column
    }

    pub(crate) fn coalescer(self, i: usize, column: usize) -> Column {
        self.coalescers + i * coalescer::COLUMNS + column
    }

    pub(crate) fn class(self, i: usize, column: usize) -> Column {
        self.classes + i * kind::COLUMNS + column
    }

    /// Only where there are several sources.
    pub(crate) fn source(self, i: usize, column: usize) -> Column {
        self.sources + i * kind::COLUMNS + column
    }
}

/// Sums of a class or a source.
#[derive(Clone, Debug, Default)]
pub(crate) struct KindTotals {
    pub(crate) entered: u64,
    pub(crate) lost: u64,
    pub(crate) left: u64,
    pub(crate) wait: f64,
    pub(crate) waited: u64,
    pub(crate) response: f64,
    pub(crate) delay: f64,
    pub(crate) work: f64,
    area: f64,
    last: f64,
}

impl KindTotals {
    /// Customers inside.
    fn inside(&self) -> u64 {
        self.entered - self.lost - self.left
    }

    /// Brings the area up to now: before anybody enters or leaves.
    pub(crate) fn pass(&mut self, now: f64) {
        self.area += self.inside() as f64 * (now - self.last);
        self.last = now;
    }

    /// Writes the columns.
    pub(crate) fn write(&self, now: f64, row: &mut Vec<f64>) {
        let area = self.area + self.inside() as f64 * (now - self.last);
        row.extend([
            self.entered as f64,
            self.lost as f64,
            self.left as f64,
            self.wait,
            self.waited as f64,
            self.response,
            self.delay,
            area,
            self.work,
        ]);
    }
}
