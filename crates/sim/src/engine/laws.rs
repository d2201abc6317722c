//! Laws that hold exactly at every moment, whatever was simulated: what the areas and sums say is held against everybody
//! who is there.

use super::Engine;
use crate::outcome::Invariant;
use crate::system::Node;
use crate::totals::{Layout, coalescer, station, whole};

/// Rounding of a sum, relative to its size.
const ROUNDING: f64 = 1e-9;

impl Engine<'_> {
    /// The laws of every part since the beginning, warm-up included.
    pub(crate) fn laws(&mut self, layout: Layout) -> Vec<Invariant> {
        let mut row = Vec::with_capacity(layout.columns);
        self.write(&mut row);
        let mut laws = Vec::new();
        let inside = self.sums.inside as f64;
        laws.push(flow("the system", row[whole::ENTERED], row[whole::LEFT] + row[whole::LOST] + inside));
        for i in 0..self.stations.len() {
            let of = |column| row[layout.station(i, column)];
            let name = self.system.name(Node::Station(i as u32));
            let (count, times) = self.present(i);
            let inside = self.stations[i].inside;
            laws.push(flow(&name, of(station::ARRIVED), of(station::LEFT) + f64::from(inside)));
            laws.push(flow(&name, f64::from(inside), count as f64));
            laws.push(self.sums(
                "Little's law",
                &name,
                of(station::NUMBER),
                of(station::RESPONSE) + times,
                of(station::ARRIVED),
            ));
            let done = of(station::BUSY) + self.unfinished(i);
            laws.push(self.sums(
                "conservation of work",
                &name,
                of(station::WORK),
                done,
                2.0 * of(station::ARRIVED),
            ));
        }
        for i in 0..self.coalescers.len() {
            let of = |column| row[layout.coalescer(i, column)];
            let name = self.system.name(Node::Coalescer(i as u32));
            let held = &self.coalescers[i];
            let times = held.held.iter(&self.customers).map(|c| self.now - self.customers[c].arrived);
            let (count, times) = times.fold((0, 0.0), |(count, sum), time| (count + 1, sum + time));
            laws.push(flow(&name, of(coalescer::ARRIVED), of(coalescer::RELEASED) + f64::from(count)));
            laws.push(self.sums(
                "Little's law",
                &name,
                of(coalescer::NUMBER),
                of(coalescer::DELAY) + times,
                of(coalescer::ARRIVED),
            ));
        }
        laws
    }

    /// Two sums of so many times; each time was rounded to what the clock can tell.
    fn sums(&self, law: &str, name: &str, left: f64, right: f64, times: f64) -> Invariant {
        let clock = 2.0 * f64::EPSILON * self.now * times;
        Invariant::new(format!("{law} at {name}"), left, right, ROUNDING * (left.abs() + right.abs()) + clock)
    }
}

fn flow(name: &str, come: f64, gone: f64) -> Invariant {
    Invariant::new(format!("flow balance of {name}"), come, gone, 0.0)
}
