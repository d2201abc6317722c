//! The fast path: one stream of customers to one server who takes them as they come.
//!
//! Each customer waits for what the one before him waited and was served, less the gap between both: Lindley (1952),
//! Mathematical Proceedings of the Cambridge Philosophical Society 48:277. The random numbers are those that the event
//! engine would draw, in the same order from the same streams, so the waits are the same.

use crate::SimError;
use crate::engine::{Clockwork, Progress};
use crate::histogram::Histogram;
use crate::outcome::Invariant;
use crate::replication::Histograms;
use crate::stream::Stream;
use crate::system::{Gaps, System};
use crate::totals::whole;

/// Customers between two looks at the limits.
const CHUNK: u64 = 1 << 15;

/// Customers whose gaps and services are drawn together: they stay in the first cache.
const BLOCK: usize = 512;

/// A source that changes its state so often without anybody coming is an error.
const STUCK: u64 = 20_000_000;

/// One replication of a system that [`System::is_lindley`].
pub(crate) struct Lindley<'s> {
    system: &'s System,
    clockwork: Clockwork<'s>,
    arrivals: Stream,
    services: Stream,
    /// When the last customer came.
    arrived: f64,
    /// His time in the system: the work that he left behind.
    backlog: f64,
    pub(crate) left: u64,
    wait: f64,
    waited: u64,
    response: f64,
    work: f64,
    idle: f64,
    waits: Histogram,
    responses: Histogram,
}

impl<'s> Lindley<'s> {
    /// Empty, at time 0.
    pub(crate) fn new(system: &'s System, seed: u64, replication: u64) -> Self {
        Lindley {
            system,
            clockwork: Clockwork::new(&system.sources[0].gaps),
            arrivals: Stream::new(seed, replication, 0),
            services: Stream::new(seed, replication, 1),
            arrived: 0.0,
            backlog: 0.0,
            left: 0,
            wait: 0.0,
            waited: 0,
            response: 0.0,
            work: 0.0,
            idle: 0.0,
            waits: Histogram::new(),
            responses: Histogram::new(),
        }
    }

    /// Simulates until so many customers have left since the beginning, or for a while.
    pub(crate) fn run(&mut self, target: u64) -> Result<Progress, SimError> {
        let mut customers = target.saturating_sub(self.left).min(CHUNK) as usize;
        let (mut gaps, mut services) = ([0.0; BLOCK], [0.0; BLOCK]);
        while customers > 0 {
            let block = customers.min(BLOCK);
            let (gaps, services) = (&mut gaps[..block], &mut services[..block]);
            match &self.system.sources[0].gaps {
                Gaps::Renewal(sampler) => sampler.fill(&mut self.arrivals, gaps),
                _ => gaps.iter_mut().for_each(|g| *g = next_gap(&mut self.clockwork, &mut self.arrivals)),
            }
            self.system.stations[0].services[0].fill(&mut self.services, services);
            self.recur(gaps, services);
            customers -= block;
        }
        if !self.backlog.is_finite() || !self.arrived.is_finite() {
            let part = format!("source {}", self.system.sources[0].name);
            return Err(SimError::Precision { part, time: self.arrived });
        }
        Ok(if self.left >= target { Progress::Reached } else { Progress::Underway })
    }

    fn recur(&mut self, gaps: &[f64], services: &[f64]) {
        let (mut arrived, mut backlog) = (self.arrived, self.backlog);
        let (mut waits, mut responses, mut work, mut idle, mut waited) = (0.0, 0.0, 0.0, 0.0, 0);
        for (gap, service) in gaps.iter().zip(services) {
            arrived += gap;
            let ahead = backlog - gap;
            let wait = if ahead > 0.0 { ahead } else { 0.0 };
            backlog = wait + service;
            idle += wait - ahead;
            waits += wait;
            waited += u64::from(ahead > 0.0);
            responses += backlog;
            work += service;
            self.waits.add(wait);
            self.responses.add(backlog);
        }
        (self.arrived, self.backlog) = (arrived, backlog);
        self.left += gaps.len() as u64;
        self.wait += waits;
        self.waited += waited;
        self.response += responses;
        self.work += work;
        self.idle += idle;
    }

    /// Times of those who left.
    pub(crate) fn histograms(&mut self) -> Histograms<'_> {
        Histograms { waits: &mut self.waits, responses: &mut self.responses, delays: None }
    }

    /// All time until the last customer leaves was idle, or work was done. The other laws hold by how the sums are made.
    pub(crate) fn laws(&self) -> Vec<Invariant> {
        let (now, times) = (self.now(), self.idle + self.work);
        let rounding = 1e-9 * now + f64::EPSILON * now * self.left as f64;
        vec![Invariant::new("conservation of work at the station".into(), now, times, rounding)]
    }

    /// When the last customer leaves.
    pub(crate) fn now(&self) -> f64 {
        self.arrived + self.backlog
    }

    /// All sums at the moment when the last customer leaves, one row.
    pub(crate) fn write(&self, row: &mut Vec<f64>) {
        let now = self.now();
        // Who comes before that is there too; to know them, the source is asked ahead.
        let (mut clockwork, mut arrivals) = (self.clockwork.clone(), self.arrivals.clone());
        let (mut next, mut behind, mut number) = (self.arrived, 0_u64, self.response);
        loop {
            next += next_gap(&mut clockwork, &mut arrivals);
            if next >= now || !next.is_finite() {
                break;
            }
            behind += 1;
            number += now - next;
        }
        let left = self.left as f64;
        row.resize(row.len() + whole::COLUMNS, 0.0);
        let (mean, variance) = self.system.stations[0].moments[0];
        let entered = left + behind as f64;
        let whole = row.len() - whole::COLUMNS;
        row[whole + whole::TIME] = now;
        row[whole + whole::ENTERED] = entered;
        row[whole + whole::LEFT] = left;
        row[whole + whole::WAIT] = self.wait;
        row[whole + whole::WAITED] = self.waited as f64;
        row[whole + whole::RESPONSE] = self.response;
        row[whole + whole::IDLE] = self.idle;
        let waiting = number - self.work;
        row.extend([
            entered,
            0.0,
            left,
            self.wait,
            self.waited as f64,
            left,
            self.response,
            number,
            waiting,
            self.work,
            left,
            self.work,
            left * mean,
            left * variance,
            0.0,
            0.0,
            0.0,
            0.0,
        ]);
    }
}

/// Seconds to the next arrival.
fn next_gap(clockwork: &mut Clockwork<'_>, stream: &mut Stream) -> f64 {
    let mut sum = 0.0;
    for _ in 0..STUCK {
        let (gap, comes) = clockwork.tick(stream);
        sum += gap;
        if comes {
            return sum;
        }
    }
    f64::INFINITY
}
