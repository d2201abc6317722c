//! What is counted and summed while a replication runs, as one row of numbers that only grow. The differences of two rows
//! are what happened in between; every figure is a ratio of such differences.

use crate::customers::Customer;
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
    /// Times of services that began, seconds.
    pub(crate) const WORK: usize = 7;
    pub(crate) const COLUMNS: usize = 8;
    /// Of a class only: customers inside × seconds.
    pub(crate) const NUMBER: usize = 8;
    pub(crate) const CLASS_COLUMNS: usize = 9;
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
        let sources = classes + system.classes.len() * kind::CLASS_COLUMNS;
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
        self.classes + i * kind::CLASS_COLUMNS + column
    }

    /// Only where there are several sources.
    pub(crate) fn source(self, i: usize, column: usize) -> Column {
        self.sources + i * kind::COLUMNS + column
    }
}

/// Sums over all customers.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sums {
    pub(crate) inside: u64,
    pub(crate) entered: u64,
    pub(crate) lost: u64,
    pub(crate) left: u64,
    pub(crate) wait: f64,
    pub(crate) waited: u64,
    pub(crate) response: f64,
    pub(crate) delay: f64,
    idle: f64,
    idle_since: f64,
}

impl Sums {
    /// Somebody comes.
    #[inline(always)]
    pub(crate) fn enter(&mut self, now: f64) {
        if self.inside == 0 {
            self.idle += now - self.idle_since;
        }
        self.inside += 1;
        self.entered += 1;
    }

    /// Somebody leaves as he should.
    #[inline(always)]
    pub(crate) fn leave(&mut self, now: f64, response: f64, waited: f64) {
        self.left += 1;
        self.wait += waited;
        self.waited += u64::from(waited > 0.0);
        self.response += response;
        self.go(now);
    }

    /// Somebody found no place.
    pub(crate) fn lose(&mut self, now: f64) {
        self.lost += 1;
        self.go(now);
    }

    #[inline(always)]
    fn go(&mut self, now: f64) {
        self.inside -= 1;
        if self.inside == 0 {
            self.idle_since = now;
        }
    }

    /// Writes the columns.
    pub(crate) fn write(&self, now: f64, row: &mut Vec<f64>) {
        let idle = self.idle + if self.inside == 0 { now - self.idle_since } else { 0.0 };
        row.extend([
            now,
            self.entered as f64,
            self.lost as f64,
            self.left as f64,
            self.wait,
            self.waited as f64,
            self.response,
            self.delay,
            idle,
        ]);
    }
}

/// Sums of a class or a source: a cache line.
#[derive(Clone, Debug, Default)]
#[repr(align(64))]
pub(crate) struct KindTotals {
    pub(crate) entered: u64,
    pub(crate) lost: u64,
    left: u64,
    wait: f64,
    waited: u64,
    response: f64,
    delay: f64,
    pub(crate) work: f64,
}

impl KindTotals {
    /// A customer of this kind leaves as he should.
    #[inline(always)]
    pub(crate) fn leave(&mut self, customer: &Customer, response: f64) {
        self.left += 1;
        self.wait += customer.waited;
        self.waited += u64::from(customer.waited > 0.0);
        self.response += response;
        self.delay += customer.delayed;
    }

    /// Writes the columns.
    pub(crate) fn write(&self, row: &mut Vec<f64>) {
        row.extend([
            self.entered as f64,
            self.lost as f64,
            self.left as f64,
            self.wait,
            self.waited as f64,
            self.response,
            self.delay,
            self.work,
        ]);
    }
}

/// A number that changes with time, times seconds.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Area {
    number: f64,
    area: f64,
    last: f64,
}

impl Area {
    /// The number changes now by so much.
    pub(crate) fn change(&mut self, now: f64, by: f64) {
        self.area = self.until(now);
        self.last = now;
        self.number += by;
    }

    /// The area until now.
    pub(crate) fn until(&self, now: f64) -> f64 {
        self.area + self.number * (now - self.last)
    }
}
